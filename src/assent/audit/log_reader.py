"""Reads the log's entries from a store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from assent.ports import RawLogRow, Store

CHUNK = 4096
"""Page size for readers that want all entries and block no call."""
Progress = Callable[[int], None]


class StoredEntries:
    """Entries of a log in a store, up to the first gap."""

    def __init__(self, store: Store, progress: Progress = lambda done: None) -> None:
        self._store, self._progress = store, progress
        self._page: list[RawLogRow] = []

    async def count(self) -> int:
        return await self._store.length()

    async def leaves(self, start: int, stop: int) -> Sequence[bytes]:
        rows = await self.rows(start, stop)
        self._progress(stop)
        await asyncio.sleep(0)  # a store may answer at once; let other tasks of this loop run
        return [row.leaf for row in rows]

    async def values(self, start: int, stop: int) -> Sequence[bytes | None]:
        return [row.vals for row in await self.rows(start, stop)]

    async def rows(self, start: int, stop: int) -> list[RawLogRow]:
        """Read in pages, because a reader of leaves usually wants the values and the next entries too."""
        if start < 0 or stop <= start:
            return []
        if not self._page or not self._page[0].index <= start <= stop <= self._page[-1].index + 1:
            page = await self._store.sealed(after=start - 1, limit=max(CHUNK, stop - start))
            whole = page and page[-1].index - start == len(page) - 1
            self._page = page if whole else [row for place, row in enumerate(page, start) if row.index == place]
        first = self._page[0].index if self._page else start
        return self._page[start - first : stop - first]


class StoredLeaves(StoredEntries):
    """Entries for signing and proofs: reads only what is asked for, because calls may wait."""

    async def leaves(self, start: int, stop: int) -> Sequence[bytes]:
        found = await self._store.leaves(start, stop) if start >= 0 else []
        await asyncio.sleep(0)
        return found if len(found) == stop - start else await super().leaves(start, stop)
