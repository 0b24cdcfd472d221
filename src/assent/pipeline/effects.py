"""The effects under way, which outlive a caller who leaves, and the leases they hold."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, TypeVar

from assent.core.audit import Entry
from assent.core.call import Presence
from assent.core.claims import Settlement, State
from assent.core.outcome import Refusal
from assent.errors import StoreError
from assent.ports import Store
from assent.stores.cleanup import EVERY, sweep

T = TypeVar("T")
RETENTION = 30 * 86400.0


class _LeaseGuard:
    """A lease while it is held."""

    __slots__ = ("_lease", "_work")

    def __init__(self, work: EffectRunner, lease: tuple[str, int]) -> None:
        self._work, self._lease = work, lease

    def __enter__(self) -> None:
        self._work.hold(self._lease)

    def __exit__(self, *_: object) -> None:
        self._work.let_go(self._lease)


_NOTHING_HELD = nullcontext()


async def _carry(effect: Coroutine[Any, Any, T], end: asyncio.Future[T]) -> None:
    """Tell how an effect ended to whoever still waits for it."""
    try:
        result = await effect
    except asyncio.CancelledError:
        end.cancel()
        raise
    except BaseException as error:
        if not end.done():
            end.set_exception(error)
        if not isinstance(error, Exception):
            raise
    else:
        if not end.done():
            end.set_result(result)


class EffectRunner:
    """The tasks that run effects, and the leases they hold."""

    def __init__(
        self,
        store: Store,
        now: Callable[[], float],
        lease: float = 15.0,
        retention: float = RETENTION,
        keyed_hash: Callable[[str], str] = str,
    ) -> None:
        self._store, self._now, self._lease, self._retention, self._keyed_hash = (
            store,
            now,
            lease,
            retention,
            keyed_hash,
        )
        self._tasks: set[asyncio.Task[Any]] = set()
        self._held: dict[tuple[str, int], None] = {}
        self._heart: asyncio.Task[None] | None = None
        self._sweeping: asyncio.Task[Any] | None = None
        self._swept = now()
        self._draining = self._ending = False
        self._cut_off = 0
        self._turns = asyncio.Lock()

    async def shield(self, effect: Coroutine[Any, Any, T], presence: Presence | None = None) -> T:
        """Run an effect so that it goes on when its caller leaves: in this task, where nothing but that could end it,
        and otherwise in one of ours."""
        if self._draining:
            effect.close()
            raise Refusal("claim.unavailable", "The server is shutting down, so the call was not made.")
        self._sweep_sometimes()
        if presence is not None:
            presence.release()
            return await self._here(effect)
        loop = asyncio.get_running_loop()
        end: asyncio.Future[T] = loop.create_future()
        task = loop.create_task(_carry(effect, end))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await end

    async def _here(self, effect: Coroutine[Any, Any, T]) -> T:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            return await effect
        except asyncio.CancelledError:
            self._cut_off += not self._ending  # a server of ours does not wait for its requests for ever
            raise
        finally:
            self._tasks.discard(task)

    async def turn(self) -> None:
        """Wait for one's turn to check something large.

        A check holds the event loop (and the interpreter) while it runs. Between two large ones the loop turns, so that
        leases are extended and other callers are answered however many large calls arrive at once.
        """
        async with self._turns:
            await asyncio.sleep(0)

    def _sweep_sometimes(self) -> None:
        """Whoever has work also tidies up, now and then; a clock that was set back does not stop it."""
        now = self._now()
        if 0 <= now - self._swept < EVERY:
            return
        self._swept = now
        self._sweeping = asyncio.get_running_loop().create_task(sweep(self._store, self._swept, self._retention))

    def holding(self, claim_id: str | None, epoch: int) -> AbstractContextManager[None]:
        """Keep a claim's lease alive while its effect runs."""
        return _NOTHING_HELD if claim_id is None else _LeaseGuard(self, (claim_id, epoch))

    def hold(self, lease: tuple[str, int]) -> None:
        self._held[lease] = None
        if self._heart is None or self._heart.done():
            self._heart = asyncio.get_running_loop().create_task(self._beat())

    def let_go(self, lease: tuple[str, int]) -> None:
        self._held.pop(lease, None)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._lease / 3)
            if not self._held:
                return
            try:
                await self._store.extend(list(self._held), self._now() + self._lease)
            except StoreError:
                continue  # the lease runs out on its own, and then the claim is in doubt, as it should be

    async def drain(self, deadline: float) -> int:
        """Take nothing new, wait for what is under way, at most `deadline` seconds, and say of the rest that it is in
        doubt; how many effects were left behind."""
        self._draining = True
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=deadline)
        left, held = [task for task in self._tasks if not task.done()], list(self._held)
        self._ending = True
        for task in (*left, self._heart, self._sweeping):
            if task is not None:
                task.cancel()
        ending = [task for task in (*left, self._heart, self._sweeping) if task is not None]
        await asyncio.gather(*ending, return_exceptions=True)
        self._heart = self._sweeping = None
        for claim_id, epoch in held:
            with suppress(StoreError):  # then the lease says so a little later
                await self._abandon(claim_id, epoch)
        return len(left) + self._cut_off

    async def _abandon(self, claim_id: str, epoch: int) -> None:
        record = await self._store.recall(claim_id)
        if record is None or record.epoch != epoch or record.state is not State.STARTED:
            return
        now = self._now()
        facts = {
            "claim": self._keyed_hash(claim_id),
            "tool": record.tool,
            "contract": record.contract,
            "state": State.IN_DOUBT.value,
        }
        entry = Entry("outcome", now, {**facts, "code": "execute.in_doubt"})
        await self._store.settle(claim_id, epoch, Settlement(State.IN_DOUBT, now), [entry])
