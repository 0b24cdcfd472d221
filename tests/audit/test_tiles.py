"""Do tiles lie where C2SP tlog-tiles says, and grow without looking back?"""

import pytest

from assent.audit.merkle import EMPTY_ROOT, hash_leaf
from assent.audit.tiles import RightEdge, Tile, TornTile, check_width, pack_entries, tile_of
from assent.audit.verifier import bundle_path, bundles, unpack
from support.audit.log_parts import tiles_of
from support.audit.memory import root_of

ROW = [hash_leaf(b"%d" % number) for number in range(70_000)]


def test_paths_are_those_of_the_specification():
    assert Tile(0, 1234067).path == "tile/0/x001/x234/067"
    assert Tile(3, 0).path == "tile/3/000"
    assert Tile(1, 17, 112).path == "tile/1/017.p/112"
    assert bundle_path("tile/entries", 273, 112) == "tile/entries/273.p/112"


def test_a_log_of_70000_has_the_tiles_that_the_specification_counts():
    tiles = list(tiles_of(70_000))
    assert [tile for tile in tiles if tile.width < 256] == [Tile(0, 273, 112), Tile(1, 1, 17), Tile(2, 0, 1)]
    assert sum(tile.level == 0 for tile in tiles) == 274
    assert sum(tile.level == 1 for tile in tiles) == 2
    assert list(tiles_of(256)) == [Tile(0, 0), Tile(1, 0, 1)]
    assert list(tiles_of(0)) == []


def test_an_edge_grown_in_steps_gives_the_tiles_and_the_root_of_the_whole():
    edge, tiles, at = RightEdge(), {}, 0
    for step in (1, 2, 254, 255, 256, 257, 3, 60_000, 4000, 4972):
        tiles |= dict(edge.extend(ROW[at : at + step]))
        at += step
        assert edge.size == at
    assert at == 70_000
    tiles |= dict(edge.partial())
    assert sorted(tiles) == sorted(tiles_of(70_000))
    assert tiles[Tile(0, 5)] == b"".join(ROW[5 * 256 : 6 * 256])
    assert tiles[Tile(1, 0)][:32] == root_of(ROW[:256])
    assert tiles[Tile(2, 0, 1)] == root_of(ROW[:65536])
    assert edge.root == root_of(ROW)


@pytest.mark.parametrize("size", [0, 1, 2, 255, 256, 257, 511, 512, 65535, 65536, 65537, 70_000])
def test_an_edge_is_taken_up_again_from_the_rightmost_tiles_alone(size):
    grown = RightEdge()
    tiles = dict(grown.extend(ROW[:size])) | dict(grown.partial())
    edge = RightEdge.at(size, lambda tile: tiles[tile])
    assert (edge.size, edge.root, edge.peaks) == (size, grown.root, grown.peaks)
    assert edge.extend(ROW[size : size + 300]) == grown.extend(ROW[size : size + 300])
    assert edge.root == grown.root
    assert (size > 0) or grown.size == 300


def test_an_empty_edge_has_the_root_of_nothing():
    assert RightEdge().root == EMPTY_ROOT
    assert RightEdge().partial() == []


def test_a_node_is_found_in_the_partial_tile_of_its_size():
    assert tile_of((0, 70_000 - 1), 70_000) == (Tile(0, 273, 112), 111, 112)
    assert tile_of((9, 3), 70_000) == (Tile(1, 0), 6, 8)


def test_a_torn_tile_is_named():
    with pytest.raises(TornTile, match=r"tile/1/017\.p/112 has 40 bytes where 3584 belong"):
        check_width(Tile(1, 17, 112), b"x" * 40)


def test_entry_bundles_are_read_back_and_torn_ones_refused():
    leaves = [b"", b"a", b"b" * 0xFFFF]
    data = pack_entries(leaves)
    assert data[:5] == b"\x00\x00\x00\x01a"
    assert unpack(data, 3, 2) == leaves
    for torn in (data[:1], data[:3], data[:-1], data + b"x"):
        assert unpack(torn, 3, 2) is None


def test_bundles_are_numbered_like_the_lowest_tiles():
    assert list(bundles(600)) == [(0, 256), (1, 256), (2, 88)]
    assert list(bundles(512)) == [(0, 256), (1, 256)]
