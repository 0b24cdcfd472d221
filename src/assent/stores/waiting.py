"""How does somebody wait for a claim that another call, perhaps in another process, is about to end?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from assent.core.claims import ClaimRecord, State

FIRST_LOOK = 0.01
SLOWEST = 0.25


class Waiters:
    """Those who wait here are woken at once by an end here; an end elsewhere is seen by looking, ever less often."""

    def __init__(self, recall: Callable[[str], Awaitable[ClaimRecord | None]]) -> None:
        self._recall = recall
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}

    def wake(self, claim_id: str) -> None:
        for waiter in self._waiting.pop(claim_id, ()):
            if not waiter.done():
                waiter.set_result(None)

    async def ended(self, claim_id: str, timeout: float) -> ClaimRecord | None:
        """The claim once it is no longer started, or as it stands after `timeout` seconds."""
        loop = asyncio.get_running_loop()
        deadline, pause = loop.time() + timeout, FIRST_LOOK
        while True:
            record = await self._recall(claim_id)
            left = deadline - loop.time()
            if record is None or record.state is not State.STARTED or left <= 0:
                return record
            await self._wait(claim_id, min(pause, left))
            pause = min(pause * 1.5, SLOWEST)

    async def _wait(self, claim_id: str, seconds: float) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(claim_id, set())
        waiting.add(waiter)
        try:
            await asyncio.wait([waiter], timeout=seconds)
        finally:
            waiting.discard(waiter)
            if not waiting and self._waiting.get(claim_id) is waiting:
                del self._waiting[claim_id]
