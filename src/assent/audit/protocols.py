"""What must a place that keeps the log's entries, tiles and checkpoints be able to do?

Whoever can change the entries can be found out by anybody who kept a checkpoint. Whoever can change the tiles
can only cause noise, because tiles are made again from the entries. Whoever can change the latest checkpoint
together with the entries can roll the log back as far as the newest checkpoint kept elsewhere.
"""

from collections.abc import Sequence
from typing import Protocol

from assent.audit.tiles import Tile


class StaleCheckpoint(RuntimeError):
    """Somebody else signed in the meantime."""


class EntrySource(Protocol):
    async def count(self) -> int:
        """How many entries there are; they are numbered from 0 without gaps."""

    async def leaves(self, start: int, stop: int) -> Sequence[bytes]:
        """The leaves of entries start to stop; fewer only if there are fewer."""

    async def values(self, start: int, stop: int) -> Sequence[bytes | None]:
        """The packed values beside those leaves; None where there are none or all are erased."""


class TileStore(Protocol):
    async def read(self, tile: Tile) -> bytes | None:
        """The tile's bytes as they were written, or None."""

    async def write(self, tiles: Sequence[tuple[Tile, bytes]]) -> None:
        """Each tile is there whole afterwards, or not at all."""


class CheckpointStore(Protocol):
    async def latest(self) -> bytes | None:
        """The newest signed checkpoint."""

    async def kept(self) -> Sequence[bytes]:
        """The checkpoints kept for good, oldest first, the newest one included."""

    async def last_kept(self) -> bytes | None:
        """The last one that was kept for good."""

    async def save(self, note: bytes, previous: bytes | None, *, keep: bool) -> None:
        """Durably replaces the newest checkpoint; raises StaleCheckpoint unless it still is `previous`."""


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
