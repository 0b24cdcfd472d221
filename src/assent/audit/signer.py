"""How does the store's log come to be signed, and how is it looked at?

Entries are in the store; keys, tiles and checkpoints are in the directory of our secrets. Nothing is held between two
signatures but files, so any number of processes may look while one of them, whoever has the lock, signs.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

from assent.audit import notes
from assent.audit.anchors import Anchor, AnchorFailed, publish_all
from assent.audit.audited_log import AuditedStore
from assent.audit.bundle import LogMetadata
from assent.audit.checkpoints import Checkpoint, Inconsistent, Proof, encode_growth, open_checkpoint
from assent.audit.files import DirectoryCheckpoints, DirectoryTiles
from assent.audit.findings import LogReport
from assent.audit.inspection import inspect
from assent.audit.key_file import KeyFile, SigningKeys
from assent.audit.leaf_values import BadEntry
from assent.audit.log import Log, RolledBack, open_log
from assent.audit.log_reader import Progress, StoredEntries, StoredLeaves
from assent.audit.merkle import BadProof
from assent.audit.notes import BadKey, BadNote, PublicKey
from assent.audit.protocols import StaleCheckpoint
from assent.audit.tiles import WIDTH, Tile
from assent.core.audit import Entry
from assent.errors import AssentError
from assent.ports import Store

EVERY, HEARTBEAT = 60.0, 3600.0
PATIENCE = 10.0


class AuditLogError(AssentError):
    """The log cannot be signed or read; what it says stays true."""


class AuditLogSigner:
    """The log of one store, signed with the keys of one directory."""

    def __init__(
        self,
        store: Store,
        directory: Path,
        host: str = "localhost",
        anchors: Sequence[Anchor] = (),
        now: Callable[[], float] = time.time,
    ) -> None:
        self.store, self.anchors, self._host, self._now = store, list(anchors), host, now
        self._root = directory / "log"
        self._keys = KeyFile(directory / "log.key")
        self.tiles, self._checkpoints = DirectoryTiles(self._root), DirectoryCheckpoints(self._root)

    def keys(self) -> SigningKeys:
        """Made when first needed."""
        try:
            if not self._keys.path.exists():
                self._keys.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                name = f"{self._host}/assent/{secrets.token_hex(4)}"
                return self._keys.create(name, secrets.token_bytes)
            return self._keys.load()
        except FileExistsError:
            return self._keys.load()
        except (OSError, BadKey) as error:
            raise AuditLogError(f"The log's key cannot be used: {error}.") from error

    async def sign(self, *, always: bool = False, idle: float | None = None) -> Checkpoint | None:
        """Sign what is new; with `always` an idle log too, and with `idle` one that was not signed for so many seconds.

        The checkpoint, or None if there was nothing to sign.
        """
        async with self._opened() as log:
            return await self._signed(log, always=always, idle=idle)

    async def _signed(self, log: Log, *, always: bool = False, idle: float | None = None) -> Checkpoint | None:
        before, seconds = log.latest, int(self._now())
        signed: Checkpoint | None = None
        if always or before is None or before.size != log.size:
            signed = await log.checkpoint(seconds)
        elif idle is not None:
            signed = await log.beat(seconds, idle)
        if signed is not None:
            await log.flush()
        if before is not None and signed is not None:
            await asyncio.to_thread(self._drop_partial, before.size, log.size)
        return signed

    async def rotate(self, values: Mapping[str, object]) -> Checkpoint:
        """Bring in a new key: an entry names it, the old key and the new one sign that, the old secret is forgotten.

        After a crash the next signature ends what was begun. `values` say who did it, and why.
        """
        async with self._opened() as log:
            await self._signed(log)
            if self.keys().newest == log.in_force:
                self._keys.add(secrets.token_bytes)
            log.keys = self.keys()
            facts = {"action": "rotate", "key": log.keys.newest.text, "previous": log.in_force.text}
            self.store.note(Entry("key", self._now(), facts, dict(values)))
            await self.store.flush()
            await log.catch_up()
            signed = await self._signed(log, always=True)
            assert signed is not None
            return signed

    async def latest(self) -> bytes | None:
        return await self._checkpoints.latest()

    async def publish(self, note: bytes) -> dict[str, str]:
        """Hand a checkpoint to every anchor; those that failed, and why."""
        return await publish_all(self.anchors, note)

    async def prove(self, index: int) -> tuple[Proof, bytes]:
        """The proof that an entry is in the log as signed last, and its leaf; signs first what is not signed yet."""
        async with self._opened() as log:
            await self._signed(log)
            if not 0 <= index < log.size:
                raise AuditLogError(f"There is no entry {index}; the log has {log.size}.")
            [leaf] = await StoredLeaves(self.store).leaves(index, index + 1)
            return await log.prove_inclusion(index), leaf

    async def prove_growth(self, note: bytes) -> bytes:
        """The proof that the log as it was signed in this checkpoint is the beginning of the log as signed last."""
        async with self._opened() as log:
            await self._signed(log)
            try:
                old = open_checkpoint(note, log.origin, log.keys.public)
                path = await log.prove_consistency(old)
            except (BadProof, BadNote) as error:
                raise AuditLogError(f"From this checkpoint nothing can be proved: {error}.") from error
            assert log.latest is not None
            return encode_growth(old, path, log.latest)

    async def evidence(self) -> LogMetadata:
        """What is known of the log beside its entries: keys, checkpoints, and what the anchors kept."""
        kept = await self._checkpoints.kept()
        keys = self.keys()  # afterwards: whatever key signed one of them is there by now
        public = _named(keys.public, kept[-1]) if kept else keys.public
        found: dict[str, Sequence[bytes]] = {}
        for anchor in self.anchors:
            try:
                found[anchor.name] = await anchor.read()
            except AnchorFailed as error:
                raise AuditLogError(f"The anchor {anchor.name} cannot be read: {error}.") from error
        return LogMetadata(keys.newest.name, public, kept, found)

    async def inspect(
        self,
        progress: Progress = lambda done: None,
        kept: Sequence[tuple[str, bytes]] = (),
        trusted: Sequence[str] = (),
    ) -> LogReport:
        """Everything that is wrong with the log; a log that nobody has signed yet is signed first."""
        await self.store.flush()
        if await self.latest() is None:
            await self.sign(always=True)
        entries = StoredEntries(self.store, progress)
        return await inspect(await AuditedStore(await self.evidence(), entries, self.tiles).measure(), kept, trusted)

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Log]:
        await self.store.flush()
        async with self._lock():
            keys = self.keys()
            try:
                entries = StoredLeaves(self.store)
                log = await open_log(keys.newest.name, keys, entries, self.tiles, self._checkpoints)
                yield log
                self._forget_secrets(log)
            except RolledBack as error:
                lost = f"If they are lost, move {self._root} away and keep it as evidence; the log begins anew."
                another = "If this is another store, give it a `secrets: {directory: ...}` of its own."
                raise AuditLogError(f"The log is not signed: {error}. Restore the entries. {lost} {another}") from error
            except (Inconsistent, StaleCheckpoint, BadNote, BadKey, BadEntry) as error:
                raise AuditLogError(f"The log is not signed: {error}.") from error
            except OSError as error:
                raise AuditLogError(f"The log's directory {self._root} cannot be used: {error.strerror}.") from error

    def _forget_secrets(self, log: Log) -> None:
        """The secrets of keys that sign no more, once a checkpoint by both says so."""
        keys = self.keys()
        if log.latest is not None and log.latest.size == log.size and keys.secret[0].public != log.in_force:
            self._keys.retire(log.in_force)

    @asynccontextmanager
    async def _lock(self) -> AsyncIterator[None]:
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self._root / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            deadline = time.monotonic() + PATIENCE
            while not _lock_file(descriptor):
                if time.monotonic() > deadline:
                    raise AuditLogError(f"Another process is signing the log in {self._root}. Try again.")
                await asyncio.sleep(0.02)
            yield
        finally:
            os.close(descriptor)

    def _drop_partial(self, before: int, size: int) -> None:
        """Partial tiles of the last signature that this one has replaced."""
        for tile in set(_partial(before)) - set(_partial(size)):
            (self._root / tile.path).unlink(missing_ok=True)


def _named(public: Sequence[PublicKey], newest: bytes) -> Sequence[PublicKey]:
    """The keys up to the one that signed last: one that waits for its entry is not a key of the log yet."""
    try:
        note = notes.parse(newest)
        last = max(at for at, key in enumerate(public) if note.signed_by(key))
    except (BadNote, ValueError):
        return public
    return public[: last + 1]


def _partial(size: int) -> list[Tile]:
    rows = [(level, size >> (8 * level)) for level in range(8)]
    return [Tile(level, row // WIDTH, row % WIDTH) for level, row in rows if row % WIDTH]


def _lock_file(descriptor: int) -> bool:
    """Where files cannot be locked so, a checkpoint that somebody else has replaced is noticed all the same."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def host_of(url: str) -> str:
    return urlsplit(url).hostname or "localhost"
