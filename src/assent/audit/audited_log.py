"""Logs that can be checked: a bundle, or a log in its store."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from assent.audit import checkpoints
from assent.audit.bundle import LogMetadata, parse_head, unpack_values
from assent.audit.notes import BadNote
from assent.audit.protocols import EntrySource, TileStore
from assent.audit.tiles import (
    ENTRIES,
    HASH,
    VALUES,
    WIDTH,
    Tile,
    TornTile,
    bundle_path,
    bundles_of,
    check_width,
    tiles_of,
    unpack_entries,
)


class AuditedLog(Protocol):
    """A log to check. A missing item raises KeyError, an unreadable one TornTile."""

    origin: str
    size: int
    with_values: bool
    growing: bool  # whether new entries may still wait for their checkpoint

    @property
    def keys(self) -> Sequence[str]: ...

    @property
    def newest(self) -> bytes | None: ...

    @property
    def claims(self) -> Sequence[tuple[str, bytes]]: ...

    async def leaves(self, number: int, width: int) -> Sequence[bytes]: ...

    async def values(self, number: int, width: int) -> Sequence[bytes | None]: ...

    async def tile(self, tile: Tile) -> bytes | None:
        """Return the tile or its start; None if it is not stored, because tiles can be rebuilt."""

    async def later(self) -> Sequence[bytes]:
        """Return the leaves that arrived after the log was measured."""

    def surplus(self) -> Sequence[str]:
        """Return the names of files that a log of this size does not have."""


class AuditedBundle:
    growing = False

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files
        self.size, self.origin, self.with_values = parse_head(files.get("bundle.json"))
        *self.keys, rest = files.get("keys", b"").decode("utf-8", "replace").split("\n")
        self.keys += [f"{rest} (cut)"] if rest else []
        self.newest = files.get("checkpoint")
        self.claims = [("checkpoint", self.newest)] if self.newest is not None else []
        for name in sorted(files):
            if name == "checkpoints" or name.startswith("anchors/"):
                found = checkpoints.split(files[name])
                self.claims += [(f"{name} #{at}", note) for at, note in enumerate(found)]

    async def leaves(self, number: int, width: int) -> Sequence[bytes]:
        path = bundle_path(ENTRIES, number, width)
        return unpack_entries(self._files[path], width, path)

    async def values(self, number: int, width: int) -> Sequence[bytes | None]:
        path = bundle_path(VALUES, number, width)
        return unpack_values(self._files[path], width, path)

    async def tile(self, tile: Tile) -> bytes | None:
        return check_width(tile, self._files[tile.path])

    async def later(self) -> Sequence[bytes]:
        return []

    def surplus(self) -> Sequence[str]:
        expected = {tile.path for tile in tiles_of(self.size)}
        expected |= {bundle_path(ENTRIES, *pair) for pair in bundles_of(self.size)}
        if self.with_values:
            expected |= {bundle_path(VALUES, *pair) for pair in bundles_of(self.size)}
        return sorted(name for name in self._files if name.startswith(("tile/", "values/")) and name not in expected)


class AuditedStore:
    """A log in its store; call `await measure()` first."""

    growing = True

    def __init__(self, evidence: LogMetadata, entries: EntrySource, tiles: TileStore | None = None) -> None:
        self.origin, self.keys = evidence.origin, [key.text for key in evidence.keys]
        self.size, self.with_values = 0, True
        self.newest = evidence.kept[-1] if evidence.kept else None
        self.claims = [("checkpoint", self.newest)] if self.newest is not None else []
        self.claims += [(f"checkpoints #{at}", note) for at, note in enumerate(evidence.kept)]
        for name, found in evidence.anchors.items():
            self.claims += [(f"anchors/{name} #{at}", note) for at, note in enumerate(found)]
        self._entries, self._tiles = entries, tiles

    async def measure(self) -> "AuditedStore":
        self.size = await self._entries.count()
        return self

    async def leaves(self, number: int, width: int) -> Sequence[bytes]:
        return await self._require_all(await self._entries.leaves(number * WIDTH, number * WIDTH + width), width)

    async def values(self, number: int, width: int) -> Sequence[bytes | None]:
        return await self._entries.values(number * WIDTH, number * WIDTH + width)

    async def _require_all(self, rows: Sequence[bytes], width: int) -> Sequence[bytes]:
        if len(rows) != width:
            raise TornTile(f"{width - len(rows)} entries are missing from the store")
        return rows

    async def tile(self, tile: Tile) -> bytes | None:
        if self._tiles is None:
            return None
        wanted, data = tile.width * HASH, await self._tiles.read(tile)
        if data is None and (signed := self._as_signed(tile)) is not None:
            tile, data = signed, await self._tiles.read(signed)
        if data is not None and len(data) != tile.width * HASH:
            raise TornTile(f"{tile.path} has {len(data)} bytes where {tile.width * HASH} belong")
        return None if data is None else data[:wanted]

    def _as_signed(self, tile: Tile) -> Tile | None:
        """Return the same tile at its width in the last signed log."""
        try:
            size = checkpoints.parse(self.newest or b"")[0].size
        except BadNote:
            return None
        row = size >> (8 * tile.level)
        return Tile(tile.level, tile.number, row % WIDTH) if row // WIDTH == tile.number and row % WIDTH else None

    async def later(self) -> Sequence[bytes]:
        return await self._entries.leaves(self.size, await self._entries.count())

    def surplus(self) -> Sequence[str]:
        return []
