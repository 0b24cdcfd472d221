"""Checks whether a store can be written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from assent.core.quotas import Quotas, RateSlot
from assent.errors import StoreError
from assent.ports import Store

CACHED = 1.0
TIMEOUT = 5.0
_PROBE = Quotas(rates=(RateSlot("readiness probe", 1_000_000, 1.0),))


class StoreProbe:
    """Writes one small row, at most once a second, however many callers ask.

    The row is a rate limit of its own, so that the probe takes the path of every other write. `prune` removes it.
    """

    def __init__(self, store: Store, now: Callable[[], float]) -> None:
        self._store, self._now = store, now
        self._probe: asyncio.Task[bool] | None = None
        self._good_until = 0.0

    async def is_writable(self) -> bool:
        """Whether a write reaches the disk now; the answer is cached for a second."""
        loop = asyncio.get_running_loop()
        if self._probe is None or (self._probe.done() and loop.time() >= self._good_until):
            self._probe = loop.create_task(self._write())
        return await asyncio.shield(self._probe)

    async def _write(self) -> bool:
        try:
            async with asyncio.timeout(TIMEOUT):
                self._store.check()
                await self._store.admit(_PROBE, self._now())
        except (StoreError, TimeoutError):
            return False
        finally:
            self._good_until = asyncio.get_running_loop().time() + CACHED
        return True
