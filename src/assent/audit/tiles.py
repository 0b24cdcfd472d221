"""Tiles of the log in the C2SP tlog-tiles layout.

A tile holds up to 256 hashes of one level; level n + 1 holds the roots of full tiles of level n. Tiles can always be
rebuilt from the entries.
"""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from assent.audit.merkle import (
    EMPTY_ROOT,
    Node,
    Range,
    complete_root,
    fold,
    hash_leaves,
    hash_ranges,
    nodes_needed,
    peaks,
)
from assent.audit.verifier import bundle_path

if TYPE_CHECKING:
    from assent.audit.protocols import EntrySource, TileStore

WIDTH = 256
HASH = 32
LEAF_LIMIT = 0xFFFF
ENTRIES, VALUES = "tile/entries", "values"


class TornTile(ValueError):
    """The bytes of a tile or bundle do not match its name."""


@dataclass(frozen=True, slots=True, order=True)
class Tile:
    level: int
    number: int
    width: int = WIDTH

    @property
    def path(self) -> str:
        return bundle_path(f"tile/{self.level}", self.number, self.width)


def tile_of(node: Node, size: int) -> tuple[Tile, int, int]:
    """Return the tile of a node in a log of this size, and the position of the node's hashes in it."""
    height, position = node
    level, inside = divmod(height, 8)
    start = position << inside
    row = size >> (8 * level)
    number = start // WIDTH
    width = min(WIDTH, row - number * WIDTH)
    return Tile(level, number, width), start % WIDTH, start % WIDTH + (1 << inside)


def node_in(data: bytes, start: int, stop: int) -> bytes:
    return complete_root(split(data[start * HASH : stop * HASH]))


def split(data: bytes) -> list[bytes]:
    return [data[at : at + HASH] for at in range(0, len(data), HASH)]


def check_width(tile: Tile, data: bytes) -> bytes:
    if len(data) == tile.width * HASH:
        return data
    raise TornTile(f"{tile.path} has {len(data)} bytes where {tile.width * HASH} belong")


async def stored_tile(tiles: TileStore, tile: Tile) -> tuple[bytes, int] | None:
    """A tile and its stored width: it may have been filled since, with the same beginning. None if missing or torn."""
    for width in dict.fromkeys((tile.width, WIDTH)):
        data = await tiles.read(Tile(tile.level, tile.number, width))
        if data is not None and len(data) == width * HASH:
            return data[: tile.width * HASH], width
    return None


async def hash_from_tiles(ranges: Sequence[Range], size: int, fetch: Callable[[Tile], Awaitable[bytes]]) -> list[bytes]:
    """The hashes of ranges of a log of this size, from its tiles."""
    data = {tile: await fetch(tile) for tile in {tile_of(node, size)[0] for node in nodes_needed(ranges)}}

    def read_node(node: Node) -> bytes:
        tile, start, stop = tile_of(node, size)
        return node_in(data[tile], start, stop)

    return hash_ranges(ranges, read_node)


def pack_entries(leaves: Iterable[bytes]) -> bytes:
    """Return an entry bundle: each leaf after its length as a big-endian uint16."""
    return b"".join(struct.pack(">H", len(leaf)) + leaf for leaf in leaves)


class RightEdge:
    """Right edge of a growing log: everything that an append needs."""

    def __init__(self) -> None:
        self.size = 0
        self._rows: list[list[bytes]] = [[]]
        self._peaks: list[bytes] = []

    @property
    def root(self) -> bytes:
        return fold(self._peaks) if self._peaks else EMPTY_ROOT

    @property
    def peaks(self) -> tuple[bytes, ...]:
        return tuple(self._peaks)

    def extend(self, leaf_hashes: Sequence[bytes]) -> list[tuple[Tile, bytes]]:
        """Append leaf hashes; return the tiles that became full."""
        full: list[tuple[Tile, bytes]] = []
        at, count = 0, len(leaf_hashes)
        if self.size % WIDTH:
            at = min(count, WIDTH - self.size % WIDTH)
            self._grow(leaf_hashes[:at], full)
        while at + WIDTH <= count:
            row = leaf_hashes[at : at + WIDTH]
            self._rows[0] += row
            self.size += WIDTH
            full.append(self._lift(1, (self.size >> 8) - 1, root := complete_root(row)))
            self._raise(root, 8, full)
            at += WIDTH
        if at < count:
            self._grow(leaf_hashes[at:], full)
        return full

    def _grow(self, leaf_hashes: Sequence[bytes], full: list[tuple[Tile, bytes]]) -> None:
        """Append hashes one by one, when they do not fill a tile."""
        bottom = self._rows[0]
        for node in leaf_hashes:
            bottom.append(node)
            self.size += 1
            self._raise(node, 0, full)

    def _raise(self, node: bytes, height: int, full: list[tuple[Tile, bytes]]) -> None:
        """Merge a complete subtree into those before it."""
        stack, position = self._peaks, (self.size >> height) - 1
        while position & 1:
            node = sha256(b"\x01" + stack.pop() + node).digest()
            position >>= 1
            height += 1
            if not height & 7:
                full.append(self._lift(height >> 3, position, node))
        stack.append(node)

    def _lift(self, level: int, position: int, root: bytes) -> tuple[Tile, bytes]:
        data = b"".join(self._rows[level - 1])
        self._rows[level - 1].clear()
        if level == len(self._rows):
            self._rows.append([])
        self._rows[level].append(root)
        return Tile(level - 1, position), data

    def partial(self) -> list[tuple[Tile, bytes]]:
        """Return the partial tiles that a checkpoint of this size needs besides the full ones."""
        return [
            (Tile(level, self.size >> (8 * (level + 1)), len(row)), b"".join(row))
            for level, row in enumerate(self._rows)
            if row
        ]

    @classmethod
    def at(cls, size: int, read_tile: Callable[[Tile], bytes]) -> RightEdge:
        """Return the edge of a log of this size, read from its rightmost tiles."""
        edge = cls()
        edge.size = size
        edge._rows = []
        row = size
        while row or not edge._rows:
            level = len(edge._rows)
            tile = Tile(level, row // WIDTH, row % WIDTH)
            edge._rows.append(split(check_width(tile, read_tile(tile))) if tile.width else [])
            row //= WIDTH
        for node in peaks(0, size):
            tile, start, stop = tile_of(node, size)
            edge._peaks.append(complete_root(edge._rows[tile.level][start:stop]))
        return edge


CHUNK = 2 * WIDTH
"""Entries hashed at once. Calls of a running gateway wait that long before they get their turn."""


class TileBuilder:
    """Reads tiles, and rebuilds missing or torn ones; `repaired` names them."""

    def __init__(self, entries: EntrySource, tiles: TileStore) -> None:
        self.entries, self.tiles = entries, tiles
        self.repaired: list[str] = []
        self.derived: set[Tile] = set()
        """Partial tiles that are not stored at their own width."""

    async def fetch(self, tile: Tile) -> bytes:
        data, width = await stored_tile(self.tiles, tile) or (await self.derive(tile), 0)
        if width != tile.width == WIDTH:
            self.repaired.append(tile.path)
            await self.tiles.write([(tile, data)])
        elif width != tile.width:  # Partial tiles change with every batch.
            self.derived.add(tile)
        return data

    async def derive(self, tile: Tile) -> bytes:
        """Compute the tile from the level below; the lowest level from the entries."""
        first = tile.number * WIDTH
        if tile.level:
            below = [Tile(tile.level - 1, first + at) for at in range(tile.width)]
            return b"".join([complete_root(split(await self.fetch(item))) for item in below])
        leaves = await self.entries.leaves(first, first + tile.width)
        return b"".join(hash_leaves(leaves))

    async def edge(self, size: int) -> RightEdge:
        """Return the right edge of a log of this size, from its rightmost tiles."""
        rows: dict[Tile, bytes] = {}
        level, row = 0, size
        while row:
            tile = Tile(level, row // WIDTH, row % WIDTH)
            rows[tile] = await self.fetch(tile) if tile.width else b""
            level, row = level + 1, row // WIDTH
        return RightEdge.at(size, lambda tile: rows.get(tile, b""))

    async def rebuild(self, size: int) -> RightEdge:
        """Rebuild every tile from the entries; write and name those that differ."""
        edge = RightEdge()
        for start in range(0, size, CHUNK):
            leaves = await self.entries.leaves(start, min(size, start + CHUNK))
            await self._rewrite_if_different(edge.extend(hash_leaves(leaves)))
        await self._rewrite_if_different(edge.partial())
        return edge

    async def _rewrite_if_different(self, tiles: list[tuple[Tile, bytes]]) -> None:
        for tile, data in tiles:
            if await self.tiles.read(tile) != data:
                self.repaired.append(tile.path)
                await self.tiles.write([(tile, data)])
