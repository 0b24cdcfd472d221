"""Interfaces of the places that keep entries, tiles and checkpoints.

Someone who changes entries is found out by anyone who kept a checkpoint. Changed tiles are harmless, because tiles
are rebuilt from the entries. Someone who changes both the latest checkpoint and the entries can roll the log back to
the newest checkpoint that is kept elsewhere.
"""

from collections.abc import Sequence
from typing import Protocol

from assent.audit.tiles import Tile


class StaleCheckpoint(RuntimeError):
    """Another process signed in the meantime."""


class EntrySource(Protocol):
    async def count(self) -> int:
        """Return the number of entries; they are numbered from 0 without gaps."""

    async def leaves(self, start: int, stop: int) -> Sequence[bytes]:
        """Return the leaves of entries start to stop; fewer only at the end."""

    async def values(self, start: int, stop: int) -> Sequence[bytes | None]:
        """Return the packed values of those entries; None if there are none or all are erased."""


class TileStore(Protocol):
    async def read(self, tile: Tile) -> bytes | None:
        """Return the tile's bytes as written, or None."""

    async def write(self, tiles: Sequence[tuple[Tile, bytes]]) -> None:
        """Write each tile completely or not at all."""


class CheckpointStore(Protocol):
    async def latest(self) -> bytes | None:
        """Return the newest signed checkpoint."""

    async def kept(self) -> Sequence[bytes]:
        """Return the kept checkpoints, oldest first, including the newest."""

    async def last_kept(self) -> bytes | None:
        """Return the last kept checkpoint."""

    async def save(self, note: bytes, previous: bytes | None, *, keep: bool) -> None:
        """Durably replace the newest checkpoint; raise StaleCheckpoint unless it still is `previous`."""


class MemoryEntries:
    def __init__(self) -> None:
        self.rows: list[tuple[bytes, bytes | None]] = []

    async def count(self) -> int:
        return len(self.rows)

    async def leaves(self, start: int, stop: int) -> Sequence[bytes]:
        return [leaf for leaf, _ in self.rows[start:stop]]

    async def values(self, start: int, stop: int) -> Sequence[bytes | None]:
        return [values for _, values in self.rows[start:stop]]

    async def append(self, rows: Sequence[tuple[bytes, bytes | None]]) -> None:
        self.rows += rows

    async def replace_values(self, index: int, values: bytes | None) -> None:
        self.rows[index] = (self.rows[index][0], values)


class MemoryTiles:
    def __init__(self) -> None:
        self.tiles: dict[Tile, bytes] = {}

    async def read(self, tile: Tile) -> bytes | None:
        return self.tiles.get(tile)

    async def write(self, tiles: Sequence[tuple[Tile, bytes]]) -> None:
        self.tiles.update(tiles)


class MemoryCheckpoints:
    def __init__(self) -> None:
        self._latest: bytes | None = None
        self._kept: list[bytes] = []

    async def latest(self) -> bytes | None:
        return self._latest

    async def kept(self) -> Sequence[bytes]:
        newest = [] if self._latest is None or self._latest in self._kept[-1:] else [self._latest]
        return [*self._kept, *newest]

    async def last_kept(self) -> bytes | None:
        return self._kept[-1] if self._kept else None

    async def save(self, note: bytes, previous: bytes | None, *, keep: bool) -> None:
        if self._latest != previous:
            raise StaleCheckpoint("another process signed a checkpoint of this log; open the log again")
        self._latest = note
        if keep:
            self._kept.append(note)
