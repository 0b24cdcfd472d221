"""Tiles and checkpoints of a log in a plain directory.

`tile/` and `checkpoint` follow C2SP tlog-tiles; `checkpoints` holds the kept ones.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from assent.audit import checkpoints
from assent.audit.notes import NOTE_LIMIT, BadNote
from assent.audit.protocols import StaleCheckpoint
from assent.audit.tiles import Tile
from assent.files import Disk


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


def _slice(path: Path, start: int, stop: int) -> bytes:
    with path.open("rb") as file:
        file.seek(start)
        return file.read(stop - start)
