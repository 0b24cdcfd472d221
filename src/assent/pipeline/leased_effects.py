"""Runs effects so that they outlive a caller who disconnects, and keeps their leases alive."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import astuple
from typing import Any, TypeVar

from assent.core.audit import Entry
from assent.core.call import Presence
from assent.core.claims import Settlement, State
from assent.core.outcome import Refusal
from assent.errors import StoreError
from assent.ports import Store

T = TypeVar("T")
RETENTION = 30 * 86400.0
EVERY = 3600.0
MOST_SWEPT = 1000
ROUNDS = 10_000


async def sweep(store: Store, now: float, retention: float) -> None:
    """Delete records that are no longer needed, in as many small sweeps as needed, so that others can write in between.

    Everything except claims is kept as long as results are by default.
    """
    with suppress(StoreError):  # The next sweep deletes what this one could not.
        for _ in range(ROUNDS):
            if max(astuple(await store.prune(now, now - retention, MOST_SWEPT))) < MOST_SWEPT:
                return


class _LeaseGuard:
    """Holds a lease as a context manager."""

    __slots__ = ("_lease", "_work")

    def __init__(self, work: EffectRunner, lease: tuple[str, int]) -> None:
        self._work, self._lease = work, lease

    def __enter__(self) -> None:
        self._work.acquire(self._lease)

    def __exit__(self, *_: object) -> None:
        self._work.release(self._lease)


_NO_LEASE = nullcontext()


async def _run_and_report(effect: Coroutine[Any, Any, T], end: asyncio.Future[T]) -> None:
    """Pass the result of an effect to the caller, if it still waits."""
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
    """Runs effects as tasks and extends the leases that they hold."""

    def __init__(
        self,
        store: Store,
        now: Callable[[], float],
        lease: float = 15.0,
        retention: float = RETENTION,
        keyed_hash: Callable[[str], str] = str,
    ) -> None:
        self._store, self._now, self._keyed_hash = store, now, keyed_hash
        self._lease, self._retention = lease, retention
        self._tasks: set[asyncio.Task[Any]] = set()
        self._leases: dict[tuple[str, int], None] = {}
        self._lease_timer: asyncio.Task[None] | None = None
        self._sweeping: asyncio.Task[Any] | None = None
        self._last_sweep = now()
        self._draining = self._ending = False
        self._cancelled_count = 0

    def shield(self, effect: Coroutine[Any, Any, T], presence: Presence | None = None) -> Awaitable[T]:
        """Run an effect so that it continues when its caller disconnects.

        With a presence, only the caller could cancel this task, so the effect runs here. Otherwise it gets a task
        of its own.
        """
        if self._draining:
            effect.close()
            raise Refusal("claim.unavailable", "The server is shutting down, so the call was not made.")
        self._sweep_sometimes()
        if presence is not None:
            presence.release()
            return self._run_here(effect)
        loop = asyncio.get_running_loop()
        end: asyncio.Future[T] = loop.create_future()
        task = loop.create_task(_run_and_report(effect, end))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return end

    async def _run_here(self, effect: Coroutine[Any, Any, T]) -> T:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            return await effect
        except asyncio.CancelledError:
            self._cancelled_count += not self._ending  # The server does not wait for its requests forever.
            raise
        finally:
            self._tasks.discard(task)

    def _sweep_sometimes(self) -> None:
        """Start a cleanup now and then; a clock that was set back does not stop it."""
        now = self._now()
        if 0 <= now - self._last_sweep < EVERY:
            return
        self._last_sweep = now
        self._sweeping = asyncio.get_running_loop().create_task(sweep(self._store, self._last_sweep, self._retention))

    def holding(self, claim_id: str | None, epoch: int) -> AbstractContextManager[None]:
        """Keep a claim's lease alive while its effect runs."""
        return _NO_LEASE if claim_id is None else _LeaseGuard(self, (claim_id, epoch))

    def acquire(self, lease: tuple[str, int]) -> None:
        self._leases[lease] = None
        if self._lease_timer is None or self._lease_timer.done():
            self._lease_timer = asyncio.get_running_loop().create_task(self._extend_leases())

    def release(self, lease: tuple[str, int]) -> None:
        self._leases.pop(lease, None)

    async def _extend_leases(self) -> None:
        while True:
            await asyncio.sleep(self._lease / 3)
            if not self._leases:
                return
            try:
                await self._store.extend(list(self._leases), self._now() + self._lease)
            except StoreError:
                continue  # The lease then expires and the claim is in doubt, as it should be.

    async def drain(self, deadline: float) -> int:
        """Accept no new effects, wait up to `deadline` seconds for running ones, and mark the rest as in doubt.

        Returns the number of effects that were cut off.
        """
        self._draining = True
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=deadline)
        left, held = [task for task in self._tasks if not task.done()], list(self._leases)
        self._ending = True
        for task in (*left, self._lease_timer, self._sweeping):
            if task is not None:
                task.cancel()
        ending = [task for task in (*left, self._lease_timer, self._sweeping) if task is not None]
        await asyncio.gather(*ending, return_exceptions=True)
        self._lease_timer = self._sweeping = None
        for claim_id, epoch in held:
            with suppress(StoreError):  # If this fails, the expiring lease has the same result a little later.
                await self._abandon(claim_id, epoch)
        return len(left) + self._cancelled_count

    async def _abandon(self, claim_id: str, epoch: int) -> None:
        record = await self._store.claim_by_id(claim_id)
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
