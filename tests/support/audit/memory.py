"""Entries, tiles, checkpoints and bundles of a log in memory."""

from collections.abc import Sequence

from assent.audit.merkle import fold, peaks
from assent.audit.protocols import StaleCheckpoint
from assent.audit.tiles import Tile
from support.audit.log_parts import reader_of


def root_of(leaf_hashes: Sequence[bytes]) -> bytes:
    return fold([reader_of(leaf_hashes)(node) for node in peaks(0, len(leaf_hashes))])


class MemorySink(dict[str, bytes]):
    def put(self, path: str, data: bytes) -> None:
        self[path] = data


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
