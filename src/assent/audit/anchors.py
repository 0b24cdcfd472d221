"""Anchors: places outside the store that keep signed checkpoints.

An anchor only gains checkpoints. It has no key, so it cannot forge one. If one anchor loses a checkpoint, the others
still have it.
"""

import asyncio
import itertools
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from assent.audit import checkpoints
from assent.audit.notes import BadNote
from assent.audit.verifier import split_checkpoints
from assent.files import Disk

GIT_TIMEOUT = 60.0
GIT_SETTINGS = (
    "user.name=assent",
    "user.email=assent@localhost",
    "commit.gpgsign=false",
    "core.quotePath=true",
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",  # a writer of the repository must not run hooks here
)
_ELSEWHERE = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"})
Send = Callable[[str, bytes, Mapping[str, str]], Awaitable[int]]
Fetch = Callable[[str], Awaitable[bytes]]


class AnchorFailed(RuntimeError):
    """The checkpoint was not stored at the anchor. The log continues, and the next checkpoint is tried again."""


class Anchor(Protocol):
    name: str

    async def publish(self, note: bytes) -> None:
        """Store the checkpoint durably; storing it twice changes nothing."""

    async def read(self) -> Sequence[bytes]:
        """Return every stored checkpoint, smallest first, if the anchor can be read back."""


def file_name(note: bytes) -> str:
    """Return a file name that sorts by size; the hash separates two checkpoints of the same size."""
    checkpoint, _ = checkpoints.parse(note)
    return f"{checkpoint.size:020d}-{sha256(note).hexdigest()[:16]}.checkpoint"


class DirectoryAnchor:
    """A directory on another machine or an append-only mount; its files are never replaced."""

    def __init__(self, root: Path, name: str = "directory", disk: Disk | None = None) -> None:
        self.name, self._root, self._disk = name, root, disk or Disk()

    async def publish(self, note: bytes) -> None:
        await asyncio.to_thread(self._publish, note)

    def _publish(self, note: bytes) -> None:
        name = file_name(note)
        for number in itertools.count():
            path = self._root / (f"{name}.{number}" if number else name)
            try:
                found = self._disk.read(path)
                if found is None:
                    self._disk.create_in_place(path, note, mode=0o444)
            except OSError as error:
                raise AnchorFailed(f"{path} could not be written: {error}") from error
            if found in (None, note):
                return
            if not note.startswith(found):
                raise AnchorFailed(f"{path} exists with other content. Someone changed it; compare it with the log")
            # A crash truncated the file, and it cannot be replaced here. Write the whole checkpoint under the next
            # name.

    async def read(self) -> Sequence[bytes]:
        try:
            found = [(path.name, path.read_bytes()) for path in sorted(self._root.glob("*.checkpoint*"))]
        except OSError as error:
            raise AnchorFailed(f"{self._root} could not be read: {error}") from error
        return list(dict.fromkeys(note for name, note in found if not _is_truncated(name, note)))


def _is_truncated(name: str, note: bytes) -> bool:
    """Whether a crash left only the start of the checkpoint that the file name describes."""
    with suppress(BadNote):
        checkpoints.parse(note)
        return False
    _, _, rest = note.partition(b"\n")
    size, ended, _ = rest.partition(b"\n")
    whole = name[:20].lstrip("0").encode() or b"0"
    return size == whole if ended else whole.startswith(size)


class GitAnchor:
    """A git repository, pushed if it has a remote. The history is read too, so a deleted checkpoint is still found."""

    def __init__(self, repository: Path, remote: str | None = None, name: str = "git") -> None:
        self.name, self._repository, self._remote = name, repository, remote

    async def publish(self, note: bytes) -> None:
        path = f"checkpoints/{file_name(note)}"
        target = self._repository / path
        if note not in await self._read_from_head(path):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(note)
            checkpoint, _ = checkpoints.parse(note)
            await self._git("add", "--force", "--", path)
            message = f"Checkpoint of {checkpoint.origin} at {checkpoint.size}"
            await self._git("commit", "--quiet", "--no-verify", "--message", message, "--", path)
        if self._remote is not None:
            await self._git("push", "--quiet", self._remote, "HEAD")

    async def read(self) -> Sequence[bytes]:
        if not (await self._git("for-each-ref", "--count=1")).strip():
            return []
        added = ["log", "--all", "--diff-filter=A", "--raw", "--no-abbrev", "--no-renames", "--format="]
        lines = (await self._git(*added, "--", "*.checkpoint")).decode("utf-8", "replace").split("\n")
        found = {line.split("\t")[-1]: line.split()[3] for line in lines if line}
        return await self._objects([found[path] for path in sorted(found)])

    async def _read_from_head(self, path: str) -> list[bytes]:
        """Return the file in the newest commit, without reading the other commits."""
        await self._git("for-each-ref", "--count=1")
        return await self._objects([f"HEAD:{path}"])

    async def _objects(self, names: Sequence[str]) -> list[bytes]:
        """Return the contents of the objects that exist."""
        data = await self._git("cat-file", "--batch", stdin="".join(f"{name}\n" for name in names).encode())
        found, at = [], 0
        while at < len(data):
            end = data.index(b"\n", at)
            if not data.endswith(b" missing", at, end):
                size = int(data[at:end].split()[-1])
                found.append(data[end + 1 : end + 1 + size])
                end += size + 1
            at = end + 1
        return found

    async def _git(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        settings = [word for setting in GIT_SETTINGS for word in ("-c", setting)]
        outside = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
        environment = {**outside, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
        try:
            process = await asyncio.create_subprocess_exec(
                "git",
                "-C",
                str(self._repository),
                *settings,
                *arguments,
                stdin=asyncio.subprocess.DEVNULL if stdin is None else asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment,
            )
        except OSError as error:
            raise AnchorFailed(f"git could not be run: {error}") from error
        output, errors = await _communicate(process, stdin)
        if process.returncode:
            reason = errors.decode("utf-8", "replace").strip()
            raise AnchorFailed(f"git {arguments[0]} in {self._repository} failed: {reason}")
        return output


async def _communicate(process: asyncio.subprocess.Process, stdin: bytes | None) -> tuple[bytes, bytes]:
    try:
        async with asyncio.timeout(GIT_TIMEOUT):
            return await process.communicate(stdin)
    except TimeoutError as error:
        process.kill()
        await process.wait()
        raise AnchorFailed(f"git took longer than {GIT_TIMEOUT:.0f} seconds") from error


class WebhookAnchor:
    """A URL that receives checkpoints, and is read back if it allows that."""

    def __init__(self, url: str, send: Send, fetch: Fetch | None = None, name: str = "webhook") -> None:
        self.name, self._url, self._send, self._fetch = name, url, send, fetch
        parts = urlsplit(url)  # path and query can be secrets, so messages name only the host
        self._where = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"

    async def publish(self, note: bytes) -> None:
        headers = {"Content-Type": "text/plain; charset=utf-8", "Idempotency-Key": f'"{file_name(note)}"'}
        try:
            status = await self._send(self._url, note, headers)
        except Exception as error:
            raise AnchorFailed(f"{self._where} could not be reached: {type(error).__name__}") from error
        if not 200 <= status < 300:
            raise AnchorFailed(f"{self._where} answered {status}")

    async def read(self) -> Sequence[bytes]:
        if self._fetch is None:
            return []
        try:
            return split_checkpoints(await self._fetch(self._url))
        except Exception as error:
            raise AnchorFailed(f"{self._where} could not be read: {type(error).__name__}") from error


async def publish_all(anchors: Sequence[Anchor], note: bytes) -> dict[str, str]:
    """Publish to each anchor; return the failed anchors and the reasons."""
    outcomes = await asyncio.gather(*(anchor.publish(note) for anchor in anchors), return_exceptions=True)
    failed = {}
    for anchor, outcome in zip(anchors, outcomes, strict=True):
        if isinstance(outcome, AnchorFailed):
            failed[anchor.name] = str(outcome)
        elif isinstance(outcome, BaseException):
            raise outcome
    return failed
