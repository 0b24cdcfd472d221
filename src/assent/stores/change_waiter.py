"""Waits until a claim ends or an approval is decided, here or in another process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

T = TypeVar("T")
Read = Callable[[str], Awaitable[T]]
FIRST_POLL = 0.01
LONGEST_POLL = 0.25


class ChangeWaiter:
    """Wakes waiters at once on changes in this process, and polls with growing intervals for changes in others.

    Any number of waiters for one name share one read at a time.
    """

    def __init__(self) -> None:
        self.waiting: dict[str, _Wakeup] = {}
        self._reads: dict[tuple[Read[Any], str], _SharedReads] = {}

    def wake(self, names: Iterable[str]) -> None:
        for name in names:
            if (wakeup := self.waiting.get(name)) is not None:
                wakeup.fire()

    async def until(self, name: str, read: Read[T], enough: Callable[[T], bool], timeout: float) -> T:
        """Return what `read` finds once `enough` accepts it, or its last value after `timeout` seconds."""
        loop = asyncio.get_running_loop()
        deadline, wakeup = loop.time() + timeout, self.waiting.setdefault(name, _Wakeup())
        wakeup.waiters += 1
        wakeup.reset_interval()
        try:
            while True:
                fired = wakeup.next()  # Before the read, so that a change during the read is not missed.
                found: T = await self._read_next(name, read)
                left = deadline - loop.time()
                if left <= 0 or enough(found):
                    return found
                wakeup.schedule_poll()
                await asyncio.wait([fired], timeout=left)
        finally:
            self._remove_waiter(name, wakeup)

    def _remove_waiter(self, name: str, wakeup: _Wakeup) -> None:
        wakeup.waiters -= 1
        if not wakeup.waiters:
            wakeup.cancel_timer()
            self.waiting.pop(name, None)

    async def _read_next(self, name: str, read: Read[T]) -> T:
        """Wait for a read that has not started yet: one that is running may have started before the change."""
        reads = self._reads.setdefault((read, name), _SharedReads())
        reads.waiters += 1
        try:
            found: T = await reads.next(lambda: read(name))
            return found
        finally:
            reads.waiters -= 1
            if not reads.waiters:
                self._reads.pop((read, name), None)


class _Wakeup:
    """Wakes all waiters for one name: on a change, or when it is time to poll again."""

    def __init__(self) -> None:
        self.waiters = 0
        self._fired: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._pause = FIRST_POLL

    def next(self) -> asyncio.Future[None]:
        if self._fired is None:
            self._fired = asyncio.get_running_loop().create_future()
        return self._fired

    @property
    def is_scheduled(self) -> bool:
        return self._timer is not None

    def schedule_poll(self) -> None:
        if self._timer is None and self._fired is not None:
            self._timer = asyncio.get_running_loop().call_later(self._pause, self.fire)
            self._pause = min(self._pause * 1.5, LONGEST_POLL)

    def reset_interval(self) -> None:
        """A new waiter resets the poll interval without delaying existing waiters."""
        self._pause = FIRST_POLL
        if self._timer is not None and self._timer.when() > asyncio.get_running_loop().time() + FIRST_POLL:
            self._timer.cancel()
            self._timer = None
            self.schedule_poll()

    def fire(self) -> None:
        self.cancel_timer()
        if self._fired is not None and not self._fired.done():
            self._fired.set_result(None)
        self._fired = None

    def cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _SharedReads:
    """One running read, and one that starts after it for all waiters that came since."""

    def __init__(self) -> None:
        self.waiters = 0
        self._running: asyncio.Task[Any] | None = None
        self._next: asyncio.Task[Any] | None = None

    def next(self, read: Callable[[], Awaitable[Any]]) -> Awaitable[Any]:
        if self._next is None:
            self._next = asyncio.get_running_loop().create_task(self._after(self._running, read))
            # There may be no waiter left that gets the exception, and asyncio would log it.
            self._next.add_done_callback(lambda task: task.cancelled() or task.exception())
        return asyncio.shield(self._next)

    async def _after(self, before: asyncio.Task[Any] | None, read: Callable[[], Awaitable[Any]]) -> Any:
        if before is not None and not before.done():
            await asyncio.wait([before])
        self._running, self._next = self._next, None
        return await read()
