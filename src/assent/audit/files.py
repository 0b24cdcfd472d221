"""A log in a plain directory.

`entries.log` holds one frame per entry: lengths, leaf, values, checksum. `tile/` and `checkpoint` follow C2SP
tlog-tiles; `checkpoints` holds the kept ones.
"""

import asyncio
import zlib
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

from assent.audit import checkpoints
from assent.audit.file_writer import Disk
from assent.audit.notes import NOTE_LIMIT, BadNote
from assent.audit.protocols import StaleCheckpoint
from assent.audit.tiles import Tile

_HEAD, _TAIL = 9, 4


class TornLog(ValueError):
    """The entries end or break in the middle of a frame."""

    def __init__(self, index: int, offset: int, size: int) -> None:
        super().__init__(f"entry {index} is torn at byte {offset} of {size}")
        self.index, self.offset = index, offset


class DirectoryEntries:
    """Entries in one file of frames; only a redaction rewrites it."""

    def __init__(self, root: Path, disk: Disk | None = None) -> None:
        self.path, self._disk = root / "entries.log", disk or Disk()
        self._offsets: list[int] = []
        self._end = 0
        data = self._disk.read(self.path) or b""
        for _, _, end in _frames(data):
            self._offsets.append(self._end)
            self._end = end

    @classmethod
    def recover(cls, root: Path, signed: int, disk: Disk | None = None) -> tuple["DirectoryEntries", TornLog | None]:
        """Cut off a torn tail and return it; never cut what a checkpoint signed."""
        try:
            return cls(root, disk), None
        except TornLog as torn:
            if torn.index < signed:
                raise
            (disk or Disk()).cut(root / "entries.log", torn.offset)
            return cls(root, disk), torn

    async def count(self) -> int:
        return len(self._offsets)

    async def leaves(self, start: int, stop: int) -> Sequence[bytes]:
        return [leaf for leaf, _ in await self._read(start, stop)]

    async def values(self, start: int, stop: int) -> Sequence[bytes | None]:
        return [values for _, values in await self._read(start, stop)]

    async def append(self, rows: Sequence[tuple[bytes, bytes | None]]) -> None:
        frames = [_frame(leaf, values) for leaf, values in rows]
        try:
            await asyncio.to_thread(self._disk.append, self.path, b"".join(frames))
        except OSError:
            self._disk.cut(self.path, self._end)
            raise
        for frame in frames:
            self._offsets.append(self._end)
            self._end += len(frame)

    async def replace_values(self, index: int, values: bytes | None) -> None:
        rows = await self._read(0, len(self._offsets))
        rows[index] = (rows[index][0], values)
        frames = [_frame(*row) for row in rows]
        await asyncio.to_thread(self._disk.replace, self.path, b"".join(frames))
        *self._offsets, self._end = accumulate(map(len, frames), initial=0)

    async def _read(self, start: int, stop: int) -> list[tuple[bytes, bytes | None]]:
        stop = min(stop, len(self._offsets))
        if start >= stop:
            return []
        first = self._offsets[start]
        end = self._offsets[stop] if stop < len(self._offsets) else self._end
        data = await asyncio.to_thread(_slice, self.path, first, end)
        return [(leaf, values) for leaf, values, _ in _frames(data, start, first)]


class DirectoryTiles:
    def __init__(self, root: Path, disk: Disk | None = None) -> None:
        self._root, self._disk = root, disk or Disk()

    async def read(self, tile: Tile) -> bytes | None:
        return self._disk.read(self._root / tile.path)  # reading 8 KiB is cheaper than handing it to a thread

    async def write(self, tiles: Sequence[tuple[Tile, bytes]]) -> None:
        await asyncio.to_thread(self._write, tiles)

    def _write(self, tiles: Sequence[tuple[Tile, bytes]]) -> None:
        for tile, data in tiles:
            # No sync: a tile lost in a crash is rebuilt from the entries, and a torn one is noticed.
            self._disk.replace(self._root / tile.path, data, durable=False)


class DirectoryCheckpoints:
    def __init__(self, root: Path, disk: Disk | None = None) -> None:
        self._latest, self._kept = root / "checkpoint", root / "checkpoints"
        self._disk = disk or Disk()

    async def latest(self) -> bytes | None:
        """Return the newest checkpoint. After a crash the last kept one can be newer than `checkpoint`."""
        newest, kept = self._disk.read(self._latest), _last_of(self._kept)
        return kept if kept is not None and _covers_more(kept, newest) else newest

    async def kept(self) -> Sequence[bytes]:
        kept = checkpoints.split(self._disk.read(self._kept) or b"")
        newest = await self.latest()
        return [*kept, newest] if newest is not None and newest not in kept[-1:] else kept

    async def last_kept(self) -> bytes | None:
        return _last_of(self._kept)

    async def save(self, note: bytes, previous: bytes | None, *, keep: bool) -> None:
        if await self.latest() != previous:
            raise StaleCheckpoint("another process signed a checkpoint of this log; open the log again")
        if keep:  # first, because a crash in between could otherwise lose the endorsement of a new key
            kept = checkpoints.split(self._disk.read(self._kept) or b"")
            await asyncio.to_thread(self._disk.replace, self._kept, checkpoints.join([*kept, note]))
        await asyncio.to_thread(self._disk.replace, self._latest, note)


def _last_of(path: Path) -> bytes | None:
    """Return the last checkpoint of a file without reading all of it."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return None
    pieces = _slice(path, max(0, size - 2 * NOTE_LIMIT), size).split(b"\n\n")
    return b"\n\n".join(pieces[-2:]) or None


def _covers_more(kept: bytes, newest: bytes | None) -> bool:
    try:
        return newest is None or checkpoints.parse(kept)[0].size > checkpoints.parse(newest)[0].size
    except BadNote:
        return False


def _frame(leaf: bytes, values: bytes | None) -> bytes:
    head = len(leaf).to_bytes(4, "big") + len(values or b"").to_bytes(4, "big") + bytes([values is not None])
    body = head + leaf + (values or b"")
    return body + zlib.crc32(body).to_bytes(4, "big")


def _frames(data: bytes, index: int = 0, base: int = 0) -> list[tuple[bytes, bytes | None, int]]:
    frames: list[tuple[bytes, bytes | None, int]] = []
    at = 0
    while at < len(data):
        middle = at + _HEAD + int.from_bytes(data[at : at + 4], "big")
        end = middle + int.from_bytes(data[at + 4 : at + 8], "big")
        if end + _TAIL > len(data) or zlib.crc32(data[at:end]) != int.from_bytes(data[end : end + _TAIL], "big"):
            raise TornLog(index + len(frames), base + at, base + len(data))
        frames.append((data[at + _HEAD : middle], data[middle:end] if data[at + 8] else None, base + end + _TAIL))
        at = end + _TAIL
    return frames


def _slice(path: Path, start: int, stop: int) -> bytes:
    with path.open("rb") as file:
        file.seek(start)
        return file.read(stop - start)
