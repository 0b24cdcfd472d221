"""Reads tiles and rebuilds missing or wrong ones from the entries."""

from collections.abc import AsyncIterator

from assent.audit.merkle import complete_root, hash_leaves
from assent.audit.protocols import EntrySource, TileStore
from assent.audit.tiles import HASH, WIDTH, RightEdge, Tile, split

CHUNK = 2 * WIDTH
"""Entries hashed at once. Calls of a running gateway wait that long before they get their turn."""


class TileBuilder:
    """Reads tiles, and rebuilds missing or torn ones; `repaired` names them."""

    def __init__(self, entries: EntrySource, tiles: TileStore) -> None:
        self.entries, self.tiles = entries, tiles
        self.repaired: list[str] = []

    async def fetch(self, tile: Tile) -> bytes:
        data = await self._stored(tile)
        if data is None:
            data = await self.derive(tile)
            if tile.width == WIDTH:  # partial tiles change with every batch
                self.repaired.append(tile.path)
                await self.tiles.write([(tile, data)])
        return data

    async def _stored(self, tile: Tile) -> bytes | None:
        """Return the stored tile, or the start of a wider stored one."""
        for width in (tile.width, WIDTH) if tile.width < WIDTH else (WIDTH,):
            data = await self.tiles.read(Tile(tile.level, tile.number, width))
            if data is not None and len(data) == width * HASH:
                return data[: tile.width * HASH]
        return None

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
        async for leaves in self._chunks(size):
            await self._rewrite_if_different(edge.extend(hash_leaves(leaves)))
        await self._rewrite_if_different(edge.partial())
        return edge

    async def _rewrite_if_different(self, tiles: list[tuple[Tile, bytes]]) -> None:
        for tile, data in tiles:
            if await self.tiles.read(tile) != data:
                self.repaired.append(tile.path)
                await self.tiles.write([(tile, data)])

    async def _chunks(self, size: int) -> AsyncIterator[list[bytes]]:
        for start in range(0, size, CHUNK):
            yield list(await self.entries.leaves(start, min(size, start + CHUNK)))
