"""How does somebody wait for an end or an answer that another call, perhaps in another process, is about to give?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

T = TypeVar("T")
Look = Callable[[str], Awaitable[T]]
FIRST_LOOK = 0.01
SLOWEST = 0.25


class ChangeWaiter:
    """Those who wait here are woken at once by what happens here; what happens elsewhere is seen by looking, ever
    less often, or by being told. However many wait for one thing, one look at a time serves them all."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Bell] = {}
        self._looks: dict[tuple[Look[Any], str], _Looks] = {}

    def wake(self, names: Iterable[str]) -> None:
        for name in names:
            if (bell := self._waiting.get(name)) is not None:
                bell.ring()

    async def until(self, name: str, look: Look[T], enough: Callable[[T], bool], timeout: float) -> T:
        """What `look` finds once it is enough, or as it stands after `timeout` seconds."""
        loop = asyncio.get_running_loop()
        deadline, bell = loop.time() + timeout, self._waiting.setdefault(name, _Bell())
        bell.people += 1
        bell.hurry()
        try:
            while True:
                rung = bell.next()  # before the look, so that nothing that happens meanwhile is missed
                found: T = await self._look(name, look)
                left = deadline - loop.time()
                if left <= 0 or enough(found):
                    return found
                bell.arm()
                await asyncio.wait([rung], timeout=left)
        finally:
            self._leave(name, bell)

    def _leave(self, name: str, bell: _Bell) -> None:
        bell.people -= 1
        if not bell.people:
            bell.silence()
            self._waiting.pop(name, None)

    async def _look(self, name: str, look: Look[T]) -> T:
        """What a look finds that has not begun yet: one under way may have begun before what is waited for."""
        looks = self._looks.setdefault((look, name), _Looks())
        looks.people += 1
        try:
            found: T = await looks.next(lambda: look(name))
            return found
        finally:
            looks.people -= 1
            if not looks.people:
                self._looks.pop((look, name), None)


class _Bell:
    """What wakes all who wait for one name: news of it, or the time to look again."""

    def __init__(self) -> None:
        self.people = 0
        self._rung: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._pause = FIRST_LOOK

    def next(self) -> asyncio.Future[None]:
        if self._rung is None:
            self._rung = asyncio.get_running_loop().create_future()
        return self._rung

    @property
    def armed(self) -> bool:
        return self._timer is not None

    def arm(self) -> None:
        """Ring when it is time to look again."""
        if self._timer is None and self._rung is not None:
            self._timer = asyncio.get_running_loop().call_later(self._pause, self.ring)
            self._pause = min(self._pause * 1.5, SLOWEST)

    def hurry(self) -> None:
        """Somebody new is served as soon as if they were alone; and nobody later for it."""
        self._pause = FIRST_LOOK
        if self._timer is not None and self._timer.when() > asyncio.get_running_loop().time() + FIRST_LOOK:
            self._timer.cancel()
            self._timer = None
            self.arm()

    def ring(self) -> None:
        self.silence()
        if self._rung is not None and not self._rung.done():
            self._rung.set_result(None)
        self._rung = None

    def silence(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _Looks:
    """One look under way, and one that begins after it for all who have come since."""

    def __init__(self) -> None:
        self.people = 0
        self._under_way: asyncio.Task[Any] | None = None
        self._next: asyncio.Task[Any] | None = None

    def next(self, look: Callable[[], Awaitable[Any]]) -> Awaitable[Any]:
        if self._next is None:
            self._next = asyncio.get_running_loop().create_task(self._after(self._under_way, look))
            self._next.add_done_callback(_heard)
        return asyncio.shield(self._next)

    async def _after(self, before: asyncio.Task[Any] | None, look: Callable[[], Awaitable[Any]]) -> Any:
        if before is not None and not before.done():
            await asyncio.wait([before])
        self._under_way, self._next = self._next, None
        return await look()


def _heard(task: asyncio.Task[Any]) -> None:
    """Nobody may be left to hear that a look has failed."""
    if not task.cancelled():
        task.exception()
