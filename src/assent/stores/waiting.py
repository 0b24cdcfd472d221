"""How does somebody wait for an end or an answer that another call, perhaps in another process, is about to give?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
FIRST_LOOK = 0.01
SLOWEST = 0.25


class Waiters:
    """Those who wait here are woken at once by what happens here; what happens elsewhere is seen by looking, ever
    less often, or by being told."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}

    def wake(self, names: Iterable[str]) -> None:
        for name in names:
            for waiter in self._waiting.pop(name, ()):
                if not waiter.done():
                    waiter.set_result(None)

    async def until(
        self, name: str, look: Callable[[], Awaitable[T]], enough: Callable[[T], bool], timeout: float
    ) -> T:
        """What `look` finds once it is enough, or as it stands after `timeout` seconds."""
        loop = asyncio.get_running_loop()
        deadline, pause = loop.time() + timeout, FIRST_LOOK
        while True:
            found = await look()
            left = deadline - loop.time()
            if left <= 0 or enough(found):
                return found
            await self._wait(name, min(pause, left))
            pause = min(pause * 1.5, SLOWEST)

    async def _wait(self, name: str, seconds: float) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(name, set())
        waiting.add(waiter)
        try:
            await asyncio.wait([waiter], timeout=seconds)
        finally:
            waiting.discard(waiter)
            if not waiting and self._waiting.get(name) is waiting:
                del self._waiting[name]
