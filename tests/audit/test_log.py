"""Does the log grow, resume, rotate and prove, and refuse to sign what is not so?"""

import random

import pytest

from assent.audit.checkpoints import Checkpoint, Inconsistent, parse
from assent.audit.leaf import seal
from assent.audit.log_tree import HEARTBEAT, RolledBack, open_log
from assent.audit.merkle import hash_leaf, verify_consistency
from assent.audit.notes import find_keys
from assent.audit.notes import parse as parse_note
from assent.audit.protocols import StaleCheckpoint
from assent.audit.tiles import Tile
from assent.audit.verifier import verify_proof
from support.audit.log_parts import tiles_of
from support.audit.logs import ORIGIN, START, Scene, call_entry, keys_of, make_scene, secret_key
from support.audit.memory import MemoryCheckpoints, MemoryTiles, root_of

NOW = START // 1000


async def reopened(scene):
    return await open_log(ORIGIN, keys_of(*scene.secrets), scene.entries, scene.tiles, scene.checkpoints)


def proves(proof, leaf):
    return verify_proof(proof.encode(), leaf, [secret_key().public.text]).ok


async def test_a_checkpoint_signs_the_entries_so_far():
    scene = await Scene().open()
    await scene.grow(300)
    signed = await scene.sign()
    assert signed.size == 300
    assert signed.root == root_of([hash_leaf(leaf) for leaf, _ in scene.entries.rows])


async def test_a_log_resumes_where_it_was_signed_and_takes_in_what_came_after():
    scene = await Scene().open()
    await scene.grow(300)
    await scene.sign()
    await scene.grow(50)
    log = await reopened(scene)
    assert (log.size, log.root) == (350, scene.log.root)
    assert (await log.checkpoint(NOW + 9000)).size == 350


async def test_resuming_needs_no_partial_tiles_and_repairs_what_is_missing_or_torn():
    scene = await Scene().open()
    await scene.grow(1500)
    await scene.sign()
    del scene.tiles.tiles[Tile(0, 2)]
    scene.tiles.tiles[Tile(0, 3)] = scene.tiles.tiles[Tile(0, 3)][:-5]
    log = await reopened(scene)
    assert log.root == scene.log.root
    assert {"tile/0/002", "tile/0/003"} <= set(log.repaired)
    assert scene.tiles.tiles[Tile(0, 3)] == b"".join(hash_leaf(leaf) for leaf, _ in scene.entries.rows[768:1024])


async def test_a_swapped_tile_is_noticed_named_and_made_again():
    scene = await Scene().open()
    await scene.grow(1500)
    await scene.sign()
    await scene.log.flush()
    tiles = scene.tiles.tiles
    right = dict(tiles)
    tiles[Tile(1, 0, 5)] = bytes(160)
    assert (await reopened(scene)).repaired == ["tile/1/000.p/5"]
    assert tiles == right
    tiles[Tile(0, 1)], tiles[Tile(0, 2)] = tiles[Tile(0, 2)], tiles[Tile(0, 1)]
    proof = await scene.log.prove_inclusion(300)
    assert proves(proof, scene.entries.rows[300][0])
    assert list(scene.log.repaired) == ["tile/0/001", "tile/0/002"]
    assert tiles == right


async def test_flushing_leaves_every_tile_of_the_size_behind():
    scene = await Scene().open()
    await scene.grow(777)
    await scene.log.flush()
    assert scene.tiles.tiles.keys() >= set(tiles_of(777))


async def test_all_tiles_lost_are_all_made_again():
    scene = await Scene().open()
    await scene.grow(700)
    await scene.sign()
    scene.tiles = MemoryTiles()
    assert (await reopened(scene)).root == scene.log.root


async def test_fewer_entries_than_signed_are_a_rollback():
    scene = await Scene().open()
    await scene.grow(30)
    await scene.sign()
    del scene.entries.rows[25:]
    with pytest.raises(RolledBack, match="30 entries were signed, and 25 are here"):
        await reopened(scene)


async def test_other_entries_than_signed_are_refused():
    scene = await Scene().open()
    await scene.grow(300)
    await scene.sign()
    scene.entries.rows[280] = scene.entries.rows[281]
    scene.tiles = MemoryTiles()
    with pytest.raises(RolledBack, match="not those that were signed"):
        await reopened(scene)


async def test_two_processes_cannot_both_sign():
    scene = await Scene().open()
    await scene.grow(5)
    await scene.sign()
    other = await reopened(scene)
    await other.checkpoint(NOW + 2000)
    await scene.grow(1)
    with pytest.raises(StaleCheckpoint, match="open the log again"):
        await scene.sign()


async def test_a_log_whose_memory_went_wrong_does_not_sign():
    scene = await Scene().open()
    await scene.grow(13)
    await scene.sign()
    await scene.grow(7)
    scene.log._edge._rows[0][15] = bytes(32)
    with pytest.raises(Inconsistent, match="not signed"):
        await scene.sign()


async def test_an_idle_log_beats_and_a_busy_one_does_not():
    scene = await Scene().open()
    await scene.grow(3)
    first = await scene.log.beat(NOW)
    assert await scene.log.beat(NOW + HEARTBEAT - 1) is None
    second = await scene.log.beat(NOW + HEARTBEAT)
    assert (second.size, second.root) == (first.size, first.root)
    assert second.note != first.note
    assert parse_note(second.note).stamped_by(secret_key().public) == NOW + HEARTBEAT


async def test_a_clock_that_jumps_back_does_not_silence_the_heartbeat():
    scene = await Scene().open()
    await scene.log.beat(NOW)
    assert await scene.log.beat(NOW - 5000) is not None


async def test_not_every_checkpoint_is_kept_for_good():
    scene = await Scene().open()
    for number in range(100):
        await scene.grow(1)
        await scene.log.checkpoint(NOW + number * 30)
    kept = await scene.checkpoints.kept()
    assert [parse(note)[0].size for note in kept] == [1, 21, 41, 61, 81, 100]


async def test_a_rotation_is_an_entry_signed_by_both_keys_then_by_the_new_one():
    scene = await Scene().open()
    await scene.grow(5)
    await scene.sign()
    await scene.rotate(1)
    both = [secret_key(0).public, secret_key(1).public]
    assert find_keys(parse_note((await scene.sign(1)).note), both) == both
    assert find_keys(parse_note((await scene.sign(1)).note), both) == both[1:]
    kept = await scene.checkpoints.kept()
    assert [parse(note)[0].size for note in kept] == [5, 6, 6]


async def test_a_crash_between_rotation_and_checkpoint_is_made_good():
    scene = await Scene().open()
    await scene.grow(5)
    await scene.sign()
    await scene.rotate(1)
    log = await reopened(scene)
    signed = await log.checkpoint(NOW + 9000)
    both = [secret_key(0).public, secret_key(1).public]
    assert find_keys(parse_note(signed.note), both) == both
    assert (await reopened(scene)).in_force == secret_key(1).public


async def test_a_new_key_signs_nothing_before_an_entry_names_it():
    scene = await Scene().open()
    await scene.grow(5)
    scene.secrets.append(secret_key(1))
    log = await reopened(scene)
    assert log.in_force == secret_key(0).public


async def test_a_rotation_without_the_old_secret_is_not_signed():
    scene = await Scene().open()
    await scene.grow(5)
    await scene.sign()
    await scene.rotate(1)
    scene.log.keys = type(scene.log.keys)(scene.log.keys.public, (secret_key(1),))
    with pytest.raises(Inconsistent, match="secret key of"):
        await scene.sign()


async def test_an_entry_that_brings_in_a_stranger_is_refused():
    scene = await Scene().open()
    for facts in (
        {"key": secret_key(9).public.text, "previous": secret_key(0).public.text},
        {"key": secret_key(0).public.text, "previous": secret_key(9).public.text},
        {"key": secret_key(9).public.text},
    ):
        leaf = seal("key", START, facts, {}, random.Random(1).randbytes).leaf
        with pytest.raises(Inconsistent, match="does not follow"):
            await scene.log.extend([leaf])


async def test_the_first_key_may_name_itself():
    scene = await Scene().open()
    await scene.append(seal("key", START, {"key": secret_key().public.text}, {}, random.Random(1).randbytes))
    assert (await scene.sign()).size == 1


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 600])
async def test_every_signed_entry_can_be_proved_under_every_kept_checkpoint(size):
    scene = await make_scene(size)
    for note in await scene.checkpoints.kept():
        checkpoint, _ = parse(note)
        for index in {0, checkpoint.size // 2, checkpoint.size - 1}:
            proof = await scene.log.prove_inclusion(index, checkpoint)
            assert proves(proof, scene.entries.rows[index][0])
        path = await scene.log.prove_consistency(checkpoint)
        latest = scene.log.latest
        verify_consistency(checkpoint.size, latest.size, checkpoint.root, latest.root, path)


async def test_what_is_not_signed_is_not_proved():
    scene = await Scene().open()
    await scene.grow(5)
    with pytest.raises(Inconsistent, match="sign one first"):
        await scene.log.prove_inclusion(0)
    await scene.sign()
    with pytest.raises(Inconsistent, match="sign one first"):
        await scene.log.prove_consistency(scene.log.latest, Checkpoint(ORIGIN, 9, bytes(32)))


class FullDisk(MemoryTiles):
    full = True

    async def write(self, tiles):
        if self.full:
            raise OSError(28, "No space left on device")
        await super().write(tiles)


async def test_tiles_that_cannot_be_written_wait_and_stop_nothing():
    scene = Scene(tiles=FullDisk())
    await scene.open()
    await scene.grow(600)
    await scene.sign()
    proof = await scene.log.prove_inclusion(100)
    assert proves(proof, scene.entries.rows[100][0])
    assert scene.tiles.tiles == {}
    scene.tiles.full = False
    await scene.grow(1)
    assert scene.tiles.tiles.keys() == {Tile(0, 0), Tile(0, 1)}


async def test_an_append_hashes_about_two_nodes_however_long_the_log_is():
    """Flat cost, counted instead of timed: what is kept hot does not grow with the log."""
    scene = await Scene().open()
    leaves = [call_entry(0, random.Random(1)).leaf] * 2048
    for _ in range(40):
        await scene.log.extend(leaves)
    hot = sum(len(data) for _, data in scene.log._edge.partial())
    assert scene.log.size == 81_920
    assert hot <= 3 * 256 * 32
    assert len(scene.log._edge.peaks) == bin(81_920).count("1")


async def test_a_store_of_checkpoints_refuses_to_replace_what_it_does_not_have():
    store = MemoryCheckpoints()
    with pytest.raises(StaleCheckpoint):
        await store.save(b"new", b"old", keep=True)
    assert await store.kept() == []


async def test_a_torn_tile_is_made_again_before_anything_is_proved_with_it():
    scene = await Scene().open()
    await scene.grow(600)
    await scene.sign()
    for size in (0, 100, 31 * 256):
        scene.tiles.tiles[Tile(0, 0)] = scene.tiles.tiles[Tile(0, 0)][:size]
        log = await reopened(scene)
        proof = await log.prove_inclusion(5)
        assert proves(proof, scene.entries.rows[5][0])
        assert log.repaired == ["tile/0/000"]
        assert len(scene.tiles.tiles[Tile(0, 0)]) == 32 * 256
