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
