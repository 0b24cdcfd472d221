"""Checks the log of a store with the stand-alone verifier, while the log may grow."""

from collections.abc import Sequence

from assent.audit.bundle import LogMetadata
from assent.audit.leaf_reader import erased_by
from assent.audit.protocols import EntrySource, TileStore
from assent.audit.tiles import HASH, WIDTH, Tile
from assent.audit.verifier import (
    Evidence,
    LogReport,
    LogWalk,
    SignedCheckpoint,
    bundle_path,
    bundles,
    check_upper,
    conclude,
)


async def verify_store(
    metadata: LogMetadata,
    entries: EntrySource,
    tiles: TileStore | None = None,
    kept: Sequence[tuple[str, bytes]] = (),
    trusted: Sequence[str] = (),
) -> LogReport:
    """Return every fault of a log in its store; `kept` are named checkpoints from elsewhere."""
    report, evidence = LogReport(), _evidence_of(metadata)
    checkpoints = evidence.parse(kept, report)
    walk = LogWalk(await entries.count(), True, [one.size for one in checkpoints], report)
    await _walk_entries(walk, entries, StoredTiles(tiles, checkpoints, report))
    later = erased_by(await entries.leaves(walk.size, await entries.count()))
    return conclude(walk, evidence, checkpoints, trusted, later)


def _evidence_of(metadata: LogMetadata) -> Evidence:
    notes = [("checkpoint", metadata.kept[-1])] if metadata.kept else []
    for name, found in {"checkpoints": metadata.kept, **_anchors(metadata)}.items():
        notes += [(f"{name} #{at}", note) for at, note in enumerate(found)]
    return Evidence(metadata.origin, [key.text for key in metadata.keys], notes, growing=True)


def _anchors(metadata: LogMetadata) -> dict[str, Sequence[bytes]]:
    return {f"anchors/{name}": found for name, found in metadata.anchors.items()}


async def _walk_entries(walk: LogWalk, entries: EntrySource, tiles: "StoredTiles") -> None:
    for number, width in bundles(walk.size):
        first = number * WIDTH
        leaves = await entries.leaves(first, first + width)
        if len(leaves) != width:
            lost = f"{width - len(leaves)} entries are missing from the store"
            walk.report.wrong("entries.torn", bundle_path("tile/entries", number, width), lost)
            walk.broken = True
            return
        blobs = [blob or b"" for blob in await entries.values(first, first + width)]
        walk.add(leaves, blobs, await tiles.read(Tile(0, number, width)))
    for level, number, width, data in walk.upper_tiles():
        tile = Tile(level, number, width)
        stored = await tiles.read(tile)
        if stored is not None:
            check_upper(tile.path, data, stored, walk.report)


class StoredTiles:
    """The tiles beside a store's log. A tile that is not stored is no fault, because tiles can be rebuilt."""

    def __init__(self, tiles: TileStore | None, checkpoints: Sequence[SignedCheckpoint], report: LogReport) -> None:
        self._tiles, self._report = tiles, report
        self._signed = next((one.size for one in checkpoints if one.place == "checkpoint"), 0)

    async def read(self, tile: Tile) -> bytes | None:
        """Return the tile, or its start as last signed; None if it is not stored or torn."""
        if self._tiles is None:
            return None
        wanted, data = tile.width * HASH, await self._tiles.read(tile)
        if data is None and (signed := self._as_signed(tile)) is not None:
            tile, data = signed, await self._tiles.read(signed)
        if data is not None and len(data) != tile.width * HASH:
            detail = f"it has {len(data)} bytes where {tile.width * HASH} belong"
            self._report.wrong("tile.torn", tile.path, detail)
            return None
        return None if data is None else data[:wanted]

    def _as_signed(self, tile: Tile) -> Tile | None:
        """Return the same tile at its width in the last signed log."""
        row = self._signed >> (8 * tile.level)
        return Tile(tile.level, tile.number, row % WIDTH) if row // WIDTH == tile.number and row % WIDTH else None
