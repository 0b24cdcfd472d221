"""Does a store do what memory does, whatever is done to it?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from assent.core.approval import Decision
from assent.core.audit import Entry
from assent.core.claims import Settlement, State
from assent.core.quotas import BudgetCharge, Quotas, RateSlot
from assent.errors import AssentError, StoreError
from assent.ports import ClaimExists, Store
from assent.stores.memory import MemoryStore
from support.store_suite.drafts import NOW, approval_draft, claim_draft, entry, key_draft

T = TypeVar("T")

names = st.sampled_from(["one", "two", "three"])
bindings = st.sampled_from(["x", "y"])
epochs = st.integers(0, 3)
seconds = st.sampled_from([0.0, 1.0, 2.0, 5.0])
quotas = st.builds(
    Quotas,
    st.lists(st.builds(RateSlot, st.sampled_from(["r1", "r2"]), st.just(2), st.just(4.0)), max_size=1).map(tuple),
    st.lists(
        st.builds(
            BudgetCharge,
            st.sampled_from(["t1", "t2"]),
            st.decimals("0.1", "3", places=1),
            st.sampled_from([Decimal("3"), Decimal("4.5")]),
            st.just(NOW + 8),
        ),
        max_size=2,
        unique_by=lambda charge: charge.tally,
    ).map(tuple),
)
ends = st.sampled_from([state for state in State if state is not State.STARTED])


class StoreModel(RuleBasedStateMachine):
    """Every operation on both stores; they must agree. Give `open_subject`: the store under test, on the same data
    every time within one machine."""

    every = 1
    """How many operations there are between two looks at everything; the last is followed by one in any case."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.now, self.asked, self.logged, self.steps = NOW, 0, -1, 0
        self.memory: Store = MemoryStore()
        self.subject = self.run(self.open_subject())

    async def open_subject(self) -> Store:
        raise NotImplementedError

    def teardown(self) -> None:
        try:
            self.look()
            self.both(_log)
        finally:
            self.run(self.subject.close())
            self.runner.close()

    def run(self, work: Awaitable[T]) -> T:
        """Straight on the loop: the runner's own way sets up signals each time, which takes longer than most work."""
        return self.runner.get_loop().run_until_complete(work)

    def both(self, *operations: Callable[[Store], Awaitable[Any]]) -> None:
        self.run(self._both(operations))

    async def _both(self, operations: Sequence[Callable[[Store], Awaitable[Any]]]) -> None:
        for operation in operations:
            expected = await _outcome(operation, self.memory)
            assert await _outcome(operation, self.subject) == expected

    def written(self, kind: str) -> Entry:
        return Entry("operator", self.now, {"action": kind}, {"who": "agent", "now": self.now})

    @rule(by=seconds)
    def wait(self, by: float) -> None:
        self.now += by

    @rule()
    def open_again(self) -> None:
        self.run(self.subject.close())
        self.subject = self.run(self.open_subject())

    @rule(name=names, approval=st.none() | st.integers(0, 4), owed=quotas)
    def claim(self, name: str, approval: int | None, owed: Quotas) -> None:
        draft = claim_draft(name, created_at=self.now, lease_until=self.now + 3, expires_at=self.now + 6)
        used = None if approval is None else f"approval {approval}"
        self.both(lambda store: store.claim(draft, self.written("intent"), used, self.now, owed))

    @rule(owed=quotas)
    def admit(self, owed: Quotas) -> None:
        self.both(lambda store: store.admit(owed, self.now))

    @rule(name=names, epoch=epochs)
    def doubt(self, name: str, epoch: int) -> None:
        self.both(lambda store: store.mark_in_doubt(name, epoch, self.now, self.written("doubt")))

    @rule(ago=seconds)
    def prune(self, ago: float) -> None:
        self.both(lambda store: store.prune(self.now, self.now - ago))

    @rule(name=names, epoch=epochs)
    def retake(self, name: str, epoch: int) -> None:
        self.both(lambda store: store.retake(name, epoch, self.now + 3, self.now, self.written("again")))

    @rule(name=names, epoch=epochs, state=ends, valid=st.none() | seconds, lease=st.none() | seconds)
    def settle(self, name: str, epoch: int, state: State, valid: float | None, lease: float | None) -> None:
        until = [None if after is None else self.now + after for after in (valid, lease)]
        settlement = Settlement(state, self.now, state.value.encode(), *until)
        self.both(lambda store: store.settle(name, epoch, settlement, [self.written("outcome")]))

    @rule(leases=st.lists(st.tuples(names, epochs), max_size=3))
    def extend(self, leases: list[tuple[str, int]]) -> None:
        self.both(lambda store: store.extend(leases, self.now + 3))

    @rule(
        binding=bindings,
        quorum=st.integers(1, 2),
        lasts=seconds,
        uses=st.integers(1, 2),
        most=st.integers(1, 2),
        cooldown=seconds,
    )
    def ask(self, binding: str, quorum: int, lasts: float, uses: int, most: int, cooldown: float) -> None:
        draft = approval_draft(
            f"approval {self.asked % 6}",
            binding=binding,
            quorum=quorum,
            lasts=lasts,
            uses=uses,
            asked_at=self.now,
            expires_at=self.now + 4,
        )
        self.asked += 1
        self.both(lambda store: store.ask(draft, self.now, most, self.written("approval"), cooldown))

    @rule(number=st.integers(0, 4), person=st.sampled_from(["ann", "bob"]), yes=st.booleans())
    def decide(self, number: int, person: str, yes: bool) -> None:
        decision = Decision(person, "approve" if yes else "decline", self.now)
        self.both(lambda store: store.decide(f"approval {number}", decision, self.now, self.written("decision")))

    @rule(name=names)
    def add_key(self, name: str) -> None:
        record = replace(key_draft(name), created_at=self.now)
        self.both(lambda store: store.add_key(record, self.written("operator")))

    @rule(name=names)
    def revoke_key(self, name: str) -> None:
        self.both(lambda store: store.revoke_key(f"digest {name}", self.now, self.written("operator")))

    @rule()
    def note(self) -> None:
        self.memory.append(entry("read"))
        self.run(_noted(self.subject))

    @rule(states=st.lists(st.sampled_from(list(State)), max_size=3), limit=st.integers(0, 3))
    def list_claims(self, states: list[State], limit: int) -> None:
        self.both(lambda store: store.claims(states=states, limit=limit))

    @rule(name=names)
    def wait_for(self, name: str) -> None:
        self.both(lambda store: store.wait_until_ended(name, 0))

    @invariant()
    def everything_agrees(self) -> None:
        self.steps += 1
        if self.steps % self.every == 0:
            self.look()

    def look(self) -> None:
        self.both(
            lambda store: store.claims(),
            lambda store: store.approvals(),
            lambda store: store.keys(),
            lambda store: store.approvals(pending_at=self.now, limit=2),
            lambda store: store.approval_for("x", self.now),
            lambda store: _log(store, self.logged),
        )
        self.logged = self.run(self.memory.length()) - 1


async def _noted(store: Store) -> None:
    store.append(entry("read"))


async def _log(store: Store, after: int = -1) -> Any:
    """What was added at every step, and all of it at the end."""
    await store.flush()
    return await store.entries(after=after)


async def _outcome(operation: Callable[[Store], Awaitable[Any]], store: Store) -> Any:
    """What came back, or what was raised, in a form that can be compared."""
    try:
        return await operation(store)
    except ClaimExists as taken:
        return ClaimExists, taken.record
    except StoreError:
        return StoreError
    except AssentError as error:
        return type(error), str(error)
