"""Do anchors keep every checkpoint, give it back, and fail without stopping anything?"""

import asyncio
import subprocess

import pytest

from assent.audit import checkpoints, verifier
from assent.audit.anchors import (
    AnchorFailed,
    DirectoryAnchor,
    GitAnchor,
    WebhookAnchor,
    file_name,
    publish_all,
)
from support.audit.logs import Scene, make_scene


@pytest.fixture
async def signed():
    scene = await Scene().open()
    made = []
    for _ in range(3):
        await scene.grow(7)
        made.append((await scene.sign()).note)
    return made


def git(path, *arguments):
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.com"]
    done = subprocess.run(["git", "-C", str(path), *identity, *arguments], capture_output=True, check=True)
    return done.stdout.decode()


@pytest.fixture
def repository(tmp_path):
    git(tmp_path, "init", "--quiet", "repository")
    return tmp_path / "repository"


async def test_a_directory_keeps_each_checkpoint_once_and_read_only(tmp_path, signed):
    anchor = DirectoryAnchor(tmp_path / "anchor")
    for note in (*signed, signed[0]):
        await anchor.publish(note)
    assert await anchor.read() == signed
    files = sorted((tmp_path / "anchor").iterdir())
    assert [file.name for file in files] == [file_name(note) for note in signed]
    assert {file.stat().st_mode & 0o222 for file in files} == {0}


async def test_a_directory_in_which_somebody_changed_a_checkpoint_says_so(tmp_path, signed):
    anchor = DirectoryAnchor(tmp_path)
    path = tmp_path / file_name(signed[0])
    path.write_bytes(b"something else")
    with pytest.raises(AnchorFailed, match="Someone changed it"):
        await anchor.publish(signed[0])
    assert path.read_bytes() == b"something else"


async def test_a_checkpoint_that_a_crash_cut_short_gets_a_whole_one_beside_it(tmp_path, signed):
    anchor = DirectoryAnchor(tmp_path)
    for number, cut in ((0, 0), (1, 40), (2, len(signed[2]) - 1)):
        (tmp_path / file_name(signed[number])).write_bytes(signed[number][:cut])
        await anchor.publish(signed[number])
    assert await anchor.read() == signed
    await anchor.publish(signed[1])
    assert len(list(tmp_path.iterdir())) == 6


async def test_a_directory_that_cannot_be_written_fails_with_its_name(tmp_path, signed):
    (tmp_path / "file").write_text("")
    with pytest.raises(AnchorFailed, match="could not be written"):
        await DirectoryAnchor(tmp_path / "file" / "below").publish(signed[0])


async def test_two_views_of_one_size_are_both_kept(tmp_path, signed):
    other = await make_scene(7, seed=99)
    fork = other.anchored[-1]
    anchor = DirectoryAnchor(tmp_path)
    await anchor.publish(signed[0])
    await anchor.publish(fork)
    assert set(await anchor.read()) == {signed[0], fork}


async def test_a_repository_keeps_each_checkpoint_in_a_commit_of_its_own(repository, signed):
    anchor = GitAnchor(repository)
    assert await anchor.read() == []
    for note in (*signed, signed[1]):
        await anchor.publish(note)
    assert await anchor.read() == signed
    assert git(repository, "log", "--format=%s").splitlines()[::-1] == [
        f"Checkpoint of audit.example/acme at {size}" for size in (7, 14, 21)
    ]


async def test_a_checkpoint_deleted_from_a_repository_is_still_read(repository, signed):
    anchor = GitAnchor(repository)
    for note in signed:
        await anchor.publish(note)
    git(repository, "rm", "--quiet", f"checkpoints/{file_name(signed[1])}")
    git(repository, "commit", "--quiet", "-m", "oops")
    assert await anchor.read() == signed


async def test_a_repository_is_pushed_where_a_remote_is_named(tmp_path, repository, signed):
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "--quiet", "--bare", "remote.git")
    await GitAnchor(repository, remote=str(remote)).publish(signed[0])
    assert await GitAnchor(remote).read() == [signed[0]]


async def test_a_directory_that_is_no_repository_fails_with_what_git_says(tmp_path, signed, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    with pytest.raises(AnchorFailed, match="not a git repository"):
        await GitAnchor(tmp_path).publish(signed[0])
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AnchorFailed, match="git could not be run"):
        await GitAnchor(tmp_path).publish(signed[0])


class Receiver:
    def __init__(self, status=204):
        self.status, self.got = status, []

    async def send(self, url, body, headers):
        if self.status is None:
            raise ConnectionError("refused, and here is a secret")
        self.got.append((url, body, headers["Idempotency-Key"]))
        return self.status

    async def fetch(self, url):
        return checkpoints.join([body for _, body, _ in self.got])


async def test_a_webhook_gets_the_checkpoint_and_gives_it_back(signed):
    receiver = Receiver()
    anchor = WebhookAnchor("https://anchor.example/x", receiver.send, receiver.fetch)
    for note in signed:
        await anchor.publish(note)
    assert receiver.got[0] == ("https://anchor.example/x", signed[0], f'"{file_name(signed[0])}"')
    assert await anchor.read() == signed
    assert await WebhookAnchor("https://anchor.example/x", receiver.send).read() == []


@pytest.mark.parametrize(("status", "words"), [(500, "answered 500"), (302, "answered 302"), (None, "ConnectionError")])
async def test_a_webhook_that_does_not_take_it_fails(signed, status, words):
    anchor = WebhookAnchor("https://anchor.example/x", Receiver(status).send)
    with pytest.raises(AnchorFailed, match=words) as raised:
        await anchor.publish(signed[0])
    assert "secret" not in str(raised.value)


async def test_a_webhook_that_cannot_be_read_back_fails(signed):
    async def fetch(url):
        raise TimeoutError

    with pytest.raises(AnchorFailed, match="could not be read: TimeoutError"):
        await WebhookAnchor("https://anchor.example/x", Receiver().send, fetch).read()


async def test_one_anchor_that_fails_does_not_keep_the_others_from_it(tmp_path, signed):
    good, bad = DirectoryAnchor(tmp_path), WebhookAnchor("https://anchor.example/x", Receiver(503).send)
    failed = await publish_all([bad, good], signed[0])
    assert failed == {"webhook": "https://anchor.example answered 503"}
    assert await good.read() == [signed[0]]


async def test_an_anchor_that_breaks_in_an_unknown_way_is_not_hushed_up(signed):
    class Broken:
        name = "broken"

        async def publish(self, note):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await publish_all([Broken()], signed[0])


async def test_what_anchors_kept_is_held_against_the_log(tmp_path):
    scene = await make_scene(30)
    anchor = DirectoryAnchor(tmp_path)
    for note in scene.anchored:
        await anchor.publish(note)
    fork = await make_scene(30, seed=99)
    fork.anchored = list(await anchor.read())
    found = {(fault.code, fault.place) for fault in verifier.verify(await fork.bundle()).faults}
    assert found == {("checkpoint.inconsistent", f"anchors/directory #{number}") for number in range(3)}


@pytest.mark.parametrize("cut", [0, 5, 20, 60, -1])
async def test_a_checkpoint_that_a_crash_cut_short_and_nobody_wrote_again_is_not_held_against_the_log(
    tmp_path, signed, cut
):
    anchor = DirectoryAnchor(tmp_path)
    for note in signed:
        await anchor.publish(note)
    path = tmp_path / file_name(signed[1])
    path.unlink()
    path.write_bytes(signed[1][:cut])
    assert await anchor.read() == [signed[0], signed[2]]


async def test_a_directory_that_cannot_be_read_fails_with_its_name(tmp_path):
    (tmp_path / "a.checkpoint").mkdir()
    with pytest.raises(AnchorFailed, match="could not be read"):
        await DirectoryAnchor(tmp_path).read()


async def test_a_repository_of_many_checkpoints_costs_no_more_programs_than_one_of_few(repository, signed, monkeypatch):
    anchor, started = GitAnchor(repository), []
    plainly = asyncio.create_subprocess_exec

    async def counted(*words, **options):
        started.append(words)
        return await plainly(*words, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", counted)
    counts = []
    for note in signed:
        before = len(started)
        await anchor.publish(note)
        assert note in await anchor.read()
        counts.append(len(started) - before)
    assert len(set(counts)) == 1


async def test_whoever_writes_to_a_repository_runs_nothing_here(tmp_path, repository, signed):
    for name in ("post-commit", "pre-commit", "post-index-change"):
        hook = repository / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        hook.chmod(0o755)
    git(repository, "config", "core.fsmonitor", f"touch {tmp_path}/ran; false")
    git(repository, "config", "core.quotePath", "false")
    odd = repository / "checkpoints" / "a\u2028b\n c.checkpoint"
    odd.parent.mkdir()
    odd.write_bytes(signed[0])
    await GitAnchor(repository).publish(signed[1])
    assert await GitAnchor(repository).read() == [signed[1]]
    assert not (tmp_path / "ran").exists()
    git(repository, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "add", "--all")
    git(repository, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "commit", "--quiet", "-m", "odd")
    assert set(await GitAnchor(repository).read()) == {signed[0], signed[1]}


async def test_what_a_webhook_is_addressed_by_is_not_repeated(signed):
    async def refuse(url, body, headers):
        return 403

    async def fail(url, body=b"", headers=None):
        raise OSError(url)

    url = "https://hooks.example:8443/services/canary-path?token=canary-query"
    for anchor in (WebhookAnchor(url, refuse), WebhookAnchor(url, fail, fail)):
        with pytest.raises(AnchorFailed, match=r"https://hooks\.example:8443 ") as failed:
            await anchor.publish(signed[0])
        assert "canary" not in str(failed.value)
    with pytest.raises(AnchorFailed) as failed:
        await WebhookAnchor(url, fail, fail).read()
    assert "canary" not in str(failed.value)
