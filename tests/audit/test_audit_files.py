"""Does a log in a directory survive a failure of every single write, sync and rename?"""

import contextlib
import itertools
import os
import random

import pytest

from assent.audit.checkpoints import parse
from assent.audit.log_directory import DirectoryCheckpoints, DirectoryTiles, KeyFile
from assent.audit.log_tree import open_log
from assent.audit.merkle import hash_leaf
from assent.audit.notes import BadKey, PublicKey
from assent.audit.protocols import StaleCheckpoint
from assent.files import Disk
from support.audit.logs import ORIGIN, START, call_entry, keys_of, secret_key
from support.audit.memory import MemoryEntries, root_of

NOW = START // 1000


class Crash(BaseException):
    """The process dies: nobody catches it, nothing is tidied up."""


class FailingDisk(Disk):
    """Fails at its n-th step: a write after half of the bytes, everything else before it happens."""

    def __init__(self, steps, failure):
        self.steps, self._failure = steps, failure

    def _step(self):
        self.steps -= 1
        if self.steps == 0:
            raise self._failure

    def write(self, descriptor, data):
        try:
            self._step()
        except BaseException:
            super().write(descriptor, data[: len(data) // 2])
            raise
        super().write(descriptor, data)

    def sync(self, descriptor):
        self._step()

    def rename(self, source, target):
        self._step()
        super().rename(source, target)

    def link(self, source, target):
        self._step()
        super().link(source, target)

    def sync_directory(self, path):
        self._step()


class ForgetfulDisk(Disk):
    """Forgets at a power cut what was written and not synced, and what was renamed in a directory not synced since."""

    def __init__(self):
        self._sizes, self._undone = {}, []

    def write(self, descriptor, data):
        about = os.fstat(descriptor)
        self._sizes.setdefault(about.st_ino, about.st_size)
        super().write(descriptor, data)

    def sync(self, descriptor):
        self._sizes.pop(os.fstat(descriptor).st_ino, None)

    def rename(self, source, target):
        before = self.read(target)
        super().rename(source, target)
        self._undone.append((target, before))

    def link(self, source, target):
        super().link(source, target)
        self._undone.append((target, None))

    def sync_directory(self, path):
        self._undone = [(target, before) for target, before in self._undone if target.parent != path]

    def cut_power(self, root):
        for path in [path for path in root.rglob("*") if path.is_file() and path.stat().st_ino in self._sizes]:
            os.truncate(path, self._sizes[path.stat().st_ino])
        for target, before in reversed(self._undone):
            target.unlink() if before is None else target.write_bytes(before)


def test_what_is_done_is_done_after_a_power_cut(tmp_path):
    for number, act in enumerate((Disk.replace, Disk.create, Disk.create_in_place)):
        disk, path = ForgetfulDisk(), tmp_path / str(number) / "file"
        act(disk, path, b"what was promised")
        disk.cut_power(tmp_path)
        assert path.read_bytes() == b"what was promised", act.__name__
    disk = ForgetfulDisk()
    disk.replace(path, b"more", durable=False)
    disk.cut_power(tmp_path)
    assert path.read_bytes() == b"what was promised"


async def open_in(root, entries, disk):
    tiles, checkpoints = DirectoryTiles(root, disk), DirectoryCheckpoints(root, disk)
    return await open_log(ORIGIN, keys_of(secret_key()), entries, tiles, checkpoints)


async def work(root, entries, disk, signed):
    """A life of a log; what is in `signed` was promised to somebody."""
    chance = random.Random(5)
    log = await open_in(root, entries, disk)
    for batch in range(6):
        rows = [call_entry(batch * 60 + number, chance) for number in range(60)]
        await entries.append([(row.leaf, row.values) for row in rows])
        await log.extend([row.leaf for row in rows])
        signed.append((await log.checkpoint(NOW + batch * 700)).note)
        await log.flush()


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), Crash()], ids=["error", "crash"])
async def test_after_the_nth_failure_no_signed_checkpoint_is_lost_for_any_n(tmp_path, failure):
    for step in itertools.count(1):
        root, entries, signed = tmp_path / str(step), MemoryEntries(), []
        root.mkdir()
        disk = FailingDisk(step, failure)
        with contextlib.suppress(OSError, Crash):
            await work(root, entries, disk, signed)
        log = await open_in(root, entries, Disk())
        leaves = await entries.leaves(0, await entries.count())
        assert log.root == root_of([hash_leaf(leaf) for leaf in leaves]), step
        latest = await DirectoryCheckpoints(root).latest()
        assert not signed or latest is not None, step
        assert parse(latest)[0].size >= parse(signed[-1])[0].size if signed else True, step
        assert (await log.checkpoint(NOW + 90_000)).size == len(leaves)
        if disk.steps > 0:
            break
    assert step > 40
    assert len(signed) == 6


async def test_a_checkpoint_signed_elsewhere_is_not_replaced(tmp_path):
    store = DirectoryCheckpoints(tmp_path)
    await store.save(b"one\n\nsig\n", None, keep=True)
    await store.save(b"two\n\nsig\n", b"one\n\nsig\n", keep=False)
    assert await store.kept() == [b"one\n\nsig\n", b"two\n\nsig\n"]
    with pytest.raises(StaleCheckpoint):
        await store.save(b"x", b"one\n\nsig\n", keep=False)


def test_a_key_file_is_private_made_once_and_rotates(tmp_path):
    file, chance = KeyFile(tmp_path / "audit.keys"), random.Random(1)
    first = file.create(ORIGIN, chance.randbytes)
    assert (tmp_path / "audit.keys").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        file.create(ORIGIN, chance.randbytes)
    both = file.add(chance.randbytes)
    assert both.public[0] == first.newest
    assert len(both.secret) == 2
    with pytest.raises(BadKey, match="under way"):
        file.add(chance.randbytes)
    after = file.retire(both.newest)
    assert after.public == both.public
    assert [key.public for key in after.secret] == [both.newest]
    assert after.signer(first.newest) is None
    assert isinstance(after.public[0], PublicKey)


def test_a_key_file_that_others_can_read_is_refused(tmp_path):
    file = KeyFile(tmp_path / "audit.keys")
    file.create(ORIGIN, random.Random(1).randbytes)
    (tmp_path / "audit.keys").chmod(0o644)
    with pytest.raises(BadKey, match="chmod 600"):
        file.load()


def test_a_key_file_of_two_logs_or_of_none_is_refused(tmp_path):
    path = tmp_path / "audit.keys"
    for lines in ([secret_key().text, secret_key(name="other").text], [secret_key().public.text], []):
        path.write_text("".join(f"{line}\n" for line in lines))
        path.chmod(0o600)
        with pytest.raises(BadKey, match="keys of one log"):
            KeyFile(path).load()
