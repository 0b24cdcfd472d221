"""The signed log of a store: signs it, proves that entries are in it, and checks it.

Entries are in the store; keys, tiles and checkpoints are in the secrets directory. Nothing is kept in memory between
two signatures, so many processes may read while the one with the lock signs. See ADR 0073.
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
from assent.audit.bundle import LogMetadata
from assent.audit.checkpoints import Checkpoint, Inconsistent, Proof, encode_growth, open_checkpoint
from assent.audit.leaf import BadEntry
from assent.audit.leaf_reader import erased_by
from assent.audit.log_directory import DirectoryCheckpoints, DirectoryTiles, KeyFile, SigningKeys
from assent.audit.log_reader import Progress, StoredEntries, StoredLeaves
from assent.audit.log_tree import Log, RolledBack, open_log
from assent.audit.merkle import BadProof
from assent.audit.notes import BadKey, BadNote, PublicKey
from assent.audit.protocols import EntrySource, StaleCheckpoint, TileStore
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
from assent.core.audit import Entry
from assent.errors import AssentError
from assent.ports import Store

EVERY, HEARTBEAT = 60.0, 3600.0
PATIENCE = 10.0


class AuditLogError(AssentError):
    """The log cannot be signed or read. Its existing content stays valid."""


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
        """Return the signing keys, created at first use."""
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
        """Sign new entries; with `always` sign an idle log too, and with `idle` one not signed for that many seconds.

        Return the checkpoint, or None if there was nothing to sign.
        """
        async with self._open_locked() as log:
            return await self._sign_new_entries(log, always=always, idle=idle)

    async def _sign_new_entries(
        self, log: Log, *, always: bool = False, idle: float | None = None
    ) -> Checkpoint | None:
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
        """Rotate the key: an entry names the new key, both keys sign it, and the old secret is deleted.

        After a crash the next signature completes the rotation. `values` say who did it and why.
        """
        async with self._open_locked() as log:
            await self._sign_new_entries(log)
            if self.keys().newest == log.in_force:
                self._keys.add(secrets.token_bytes)
            log.keys = self.keys()
            facts = {"action": "rotate", "key": log.keys.newest.text, "previous": log.in_force.text}
            self.store.append(Entry("key", self._now(), facts, dict(values)))
            await self.store.flush()
            await log.catch_up()
            signed = await self._sign_new_entries(log, always=True)
            assert signed is not None
            return signed

    async def latest(self) -> bytes | None:
        return await self._checkpoints.latest()

    async def publish(self, note: bytes) -> dict[str, str]:
        """Publish a checkpoint to every anchor; return the failed anchors and the reasons."""
        return await publish_all(self.anchors, note)

    async def prove(self, index: int) -> tuple[Proof, bytes]:
        """Prove that an entry is in the last signed log, and return its leaf; sign first if needed."""
        async with self._open_locked() as log:
            await self._sign_new_entries(log)
            if not 0 <= index < log.size:
                raise AuditLogError(f"There is no entry {index}; the log has {log.size}.")
            [leaf] = await StoredLeaves(self.store).leaves(index, index + 1)
            return await log.prove_inclusion(index), leaf

    async def prove_growth(self, note: bytes) -> bytes:
        """Prove that the log of this checkpoint is a prefix of the last signed log."""
        async with self._open_locked() as log:
            await self._sign_new_entries(log)
            try:
                old = open_checkpoint(note, log.origin, log.keys.public)
                path = await log.prove_consistency(old)
            except (BadProof, BadNote) as error:
                raise AuditLogError(f"This checkpoint cannot be used for a proof: {error}.") from error
            assert log.latest is not None
            return encode_growth(old, path, log.latest)

    async def evidence(self) -> LogMetadata:
        """Return keys, checkpoints and the content of the anchors."""
        kept = await self._checkpoints.kept()
        keys = self.keys()  # read last, so that the key of each checkpoint is included
        public = _keys_in_use(keys.public, kept[-1]) if kept else keys.public
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
        """Return every fault of the log; sign it first if it was never signed."""
        await self.store.flush()
        if await self.latest() is None:
            await self.sign(always=True)
        entries = StoredEntries(self.store, progress)
        return await verify_store(await self.evidence(), entries, self.tiles, kept, trusted)

    @asynccontextmanager
    async def _open_locked(self) -> AsyncIterator[Log]:
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
        """Delete the secrets of retired keys once a checkpoint by both keys exists."""
        keys = self.keys()
        if log.latest is not None and log.latest.size == log.size and keys.secret[0].public != log.in_force:
            self._keys.retire(log.in_force)

    @asynccontextmanager
    async def _lock(self) -> AsyncIterator[None]:
        for directory in (self._root.parent, self._root):  # The mode is for the last folder alone, not for its parents.
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
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
        """Remove partial tiles that the new signature replaced."""
        for tile in set(_partial_tiles(before)) - set(_partial_tiles(size)):
            (self._root / tile.path).unlink(missing_ok=True)


def _keys_in_use(public: Sequence[PublicKey], newest: bytes) -> Sequence[PublicKey]:
    """Return the keys up to the one that signed last; a key that waits for its entry is not in use yet."""
    try:
        note = notes.parse(newest)
        last = max(at for at, key in enumerate(public) if note.signed_by(key))
    except (BadNote, ValueError):
        return public
    return public[: last + 1]


def _partial_tiles(size: int) -> list[Tile]:
    rows = [(level, size >> (8 * level)) for level in range(8)]
    return [Tile(level, row // WIDTH, row % WIDTH) for level, row in rows if row % WIDTH]


def _lock_file(descriptor: int) -> bool:
    """Lock the file. Without file locks, a checkpoint replaced by another process is still noticed."""
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
    anchors = {f"anchors/{name}": found for name, found in metadata.anchors.items()}
    for name, found in {"checkpoints": metadata.kept, **anchors}.items():
        notes += [(f"{name} #{at}", note) for at, note in enumerate(found)]
    return Evidence(metadata.origin, [key.text for key in metadata.keys], notes, growing=True)


async def _walk_entries(walk: LogWalk, entries: EntrySource, tiles: StoredTiles) -> None:
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
