"""Which effects are under way, and how do they outlive a caller who leaves?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from assent.errors import StoreError
from assent.ports import Store

T = TypeVar("T")


class Work:
    """The tasks that run effects, and the leases they hold."""

    def __init__(self, store: Store, now: Callable[[], float], lease: float = 15.0) -> None:
        self._store, self._now, self._lease = store, now, lease
        self._tasks: set[asyncio.Task[Any]] = set()
        self._held: dict[tuple[str, int], None] = {}
        self._heart: asyncio.Task[None] | None = None

    async def shield(self, effect: Coroutine[Any, Any, T]) -> T:
        """Run an effect in a task of ours: who waits for it may leave, the effect goes on."""
        task = asyncio.get_running_loop().create_task(effect)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return await asyncio.shield(task)

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()

    @contextmanager
    def holding(self, claim_id: str | None, epoch: int) -> Iterator[None]:
        """Keep a claim's lease alive while its effect runs."""
        if claim_id is None:
            yield
            return
        self._held[claim_id, epoch] = None
        if self._heart is None or self._heart.done():
            self._heart = asyncio.get_running_loop().create_task(self._beat())
        try:
            yield
        finally:
            self._held.pop((claim_id, epoch), None)

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
        """Wait for what is under way, at most `deadline` seconds; how many effects were left behind."""
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=deadline)
        left = [task for task in self._tasks if not task.done()]
        for task in left:
            task.cancel()
        if left:
            await asyncio.gather(*left, return_exceptions=True)
        if self._heart is not None:
            self._heart.cancel()
            await asyncio.gather(self._heart, return_exceptions=True)
            self._heart = None
        return len(left)
