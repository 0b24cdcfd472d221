"""What happens when the store fails at any one moment: is anything done unrecorded, or any claim lost?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from assent.core.approval import ApprovalState
from assent.core.call import Request, UserAnswer
from assent.core.claims import State
from assent.core.outcome import Answer, Outcome, Pause, Refusal
from assent.errors import StoreError
from assent.pipeline.authenticate import authenticate
from assent.pipeline.govern import govern
from assent.pipeline.record import CallTrace, record
from assent.stores.memory import MemoryStore
from assent.testing import AGENT, BrokenStore, World, failing_nth

BEFORE_ANYTHING = {"claim.unavailable", "record.unavailable"}
MOST = 40


class Broken:
    """A world whose store fails once, at the n-th operation after `arm`."""

    def __init__(self, contracts: Any, n: int) -> None:
        self.memory, self.n = MemoryStore(), n
        self.store = BrokenStore(self.memory, lambda *_: False)
        self.world = World(contracts, store=self.store.as_store())

    def arm(self) -> None:
        self.store.operations.clear()
        self.store.fails = failing_nth(self.n)

    def heal(self) -> bool:
        """Let it work again; whether it had failed at all."""
        failed = self.n < len(self.store.operations)
        self.store.fails = lambda *_: False
        return failed

    async def check(self, outcome: Outcome) -> None:
        """What holds whatever failed."""
        world, entries = self.world, [one.entry for one in await self.memory.entries()]
        intents = [entry for entry in entries if entry.kind == "intent"]
        assert len(world.upstream.effects) <= len(intents), "something was done that was not written down first"
        claims = await self.memory.claims()
        assert all(any(entry.facts.get("claim") == claim.id for entry in intents) for claim in claims)
        if isinstance(outcome, Answer):
            assert [claim.state for claim in claims] == [State.SUCCEEDED]
            assert [entry.facts["state"] for entry in entries if entry.kind == "outcome"][-1] == "succeeded"
        elif world.upstream.effects:
            assert isinstance(outcome, Refusal)
            assert outcome.code == "execute.in_doubt"
        else:
            assert isinstance(outcome, Refusal)
            assert outcome.code in BEFORE_ANYTHING
            assert claims == []


Scenario = Callable[[int], Awaitable[bool]]


async def write(n: int) -> bool:
    broken = Broken({"note": {"side_effect": "write"}}, n)
    world = broken.world
    broken.arm()
    outcome = await world.call("note", {"a": 1}, key="k")
    failed = broken.heal()
    await broken.check(outcome)
    world.clock.advance(15)
    done = len(world.upstream.effects)
    retry = await world.call("note", {"a": 1}, key="k")
    if isinstance(outcome, Answer) or not done:
        assert isinstance(retry, Answer)
    else:
        assert isinstance(retry, Refusal)
        assert retry.code == "recall.in_doubt"
    assert len(world.upstream.effects) == 1
    return failed


async def keyed(n: int) -> bool:
    """In doubt, then driven again: the second try meets the failure."""
    broken = Broken({"note": {"side_effect": "write", "idempotency": {"recovery": "keyed"}}}, n)
    world = broken.world
    world.upstream.functions["note"] = lambda _: ConnectionError("lost")
    await world.call("note", key="k")
    world.upstream.functions.clear()
    broken.arm()
    outcome = await world.call("note", key="k")
    failed = broken.heal()
    entries = [one.entry for one in await broken.memory.entries()]
    assert len(world.upstream.effects) <= len([entry for entry in entries if entry.kind == "intent"])
    if len(world.upstream.effects) == 2:
        assert isinstance(outcome, Answer) or outcome.code == "execute.in_doubt"
    world.clock.advance(15)
    assert isinstance(await world.call("note", key="k"), Answer)
    assert len({key for _, _, key in world.upstream.effects}) == 1
    return failed


async def approved(n: int) -> bool:
    broken = Broken({"wipe": {"side_effect": "destructive"}}, n)
    world = broken.world
    pause = await world.call("wipe", key="k", can_ask=True)
    assert isinstance(pause, Pause)
    reply = UserAnswer(pause.approval.id, "accept")
    broken.arm()
    outcome = await world.call("wipe", key="k", reply=reply, can_ask=True)
    failed = broken.heal()
    await broken.check(outcome)
    standing = await broken.memory.approval(pause.approval.id)
    assert standing is not None
    used = standing.state_at(world.clock()) is ApprovalState.CONSUMED
    assert used == bool(await broken.memory.claims()), "an approval is used exactly where a claim stands"
    if not used:
        assert isinstance(await world.call("wipe", key="k", reply=reply, can_ask=True), Answer)
    return failed


async def asking(n: int) -> bool:
    """The first question: it is kept and noted, or the caller is told that it could not be."""
    broken = Broken({"wipe": {"side_effect": "destructive"}}, n)
    world = broken.world
    broken.arm()
    outcome = await world.call("wipe", can_ask=True)
    failed = broken.heal()
    if isinstance(outcome, Pause):
        assert await broken.memory.approval(outcome.approval.id) == outcome.approval
    else:
        assert isinstance(outcome, Refusal)
        assert outcome.code == "record.unavailable"
    again = await world.call("wipe", can_ask=True)
    assert isinstance(again, Pause)
    assert len(await broken.memory.approvals()) == 1
    return failed


async def read(n: int) -> bool:
    broken = Broken({"look": {"side_effect": "read"}}, n)
    broken.arm()
    outcome = await broken.world.call("look")
    failed = broken.heal()
    kinds = [one.entry.kind for one in await broken.memory.entries()]
    assert isinstance(outcome, Answer) == (kinds == ["read"]), "a read is answered exactly where it is noted"
    return failed


async def rehearsed(n: int) -> bool:
    broken = Broken({"send": {"side_effect": "write", "dry_run": {"mode": "required", "simulated": "accepted"}}}, n)
    world = broken.world
    broken.arm()
    outcome = await world.call("send", {"dryRun": True})
    failed = broken.heal()
    assert world.upstream.effects == []
    then = await world.call("send", {})
    assert isinstance(then, Answer) == isinstance(outcome, Answer), "a rehearsal counts exactly where it was answered"
    return failed


async def resumed(n: int) -> bool:
    """Both halves of a call whose tool asks a question of its own."""
    broken = Broken({"note": {"side_effect": "write"}}, n)
    world = broken.world
    answers: list[Any] = [{"resultType": "input_required", "inputRequests": {}}, {"done": True}]
    world.upstream.functions["note"] = lambda _: answers[min(len(world.upstream.effects), len(answers)) - 1]
    broken.arm()
    outcome = await world.call("note", key="k")
    if isinstance(outcome, Answer) and outcome.resume is not None:
        outcome = await govern(Request("note", None, AGENT, ("k",), resume=outcome.resume), world.ports)
    failed = broken.heal()
    entries = [one.entry for one in await broken.memory.entries()]
    assert len(world.upstream.effects) <= len([entry for entry in entries if entry.kind == "intent"])
    if not isinstance(outcome, Answer) and len(world.upstream.effects) == 2:
        assert outcome.code == "execute.in_doubt"
    return failed


@pytest.mark.parametrize("scenario", [write, keyed, approved, asking, read, rehearsed, resumed])
async def test_a_failure_at_any_one_operation_does_nothing_unrecorded_and_loses_no_claim(scenario: Scenario) -> None:
    for n in range(MOST):
        if not await scenario(n):
            assert n > 0, "no operation failed at all"
            return
    pytest.fail(f"still failing at the {MOST}th operation")


@pytest.mark.parametrize(("started", "code"), [(False, "record.unavailable"), (True, "execute.in_doubt")])
async def test_whatever_fails_after_the_claim_is_in_doubt(started: bool, code: str) -> None:
    async def failing(request: Request, ports: Any, journal: CallTrace) -> Answer:
        journal.started = started
        raise StoreError

    outcome = await record(Request("note", None, AGENT), World({}).ports, failing)
    assert isinstance(outcome, Refusal)
    assert outcome.code == code


async def test_an_unexpected_failure_is_raised_even_where_it_cannot_be_noted() -> None:
    store = BrokenStore(MemoryStore(), lambda name, _: name == "append")
    world = World({"look": {"side_effect": "read"}}, store=store.as_store())

    async def broken() -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await authenticate(broken(), "look", world.ports)
