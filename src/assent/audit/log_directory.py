"""Tiles and checkpoints of a log in a plain directory.

`tile/` and `checkpoint` follow C2SP tlog-tiles; `checkpoints` holds the kept ones.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assent.audit import checkpoints
from assent.audit.notes import NOTE_LIMIT, BadKey, BadNote, PublicKey, SecretKey
from assent.audit.protocols import StaleCheckpoint
from assent.audit.tiles import Tile
from assent.audit.verifier import split_checkpoints
from assent.files import Disk


@dataclass(frozen=True, slots=True)
class SigningKeys:
    public: tuple[PublicKey, ...]
    secret: tuple[SecretKey, ...]

    @property
    def newest(self) -> PublicKey:
        return self.public[-1]

    def signer(self, key: PublicKey) -> SecretKey | None:
        return next((secret for secret in self.secret if secret.public == key), None)


class KeyFile:
    def __init__(self, path: Path, disk: Disk | None = None) -> None:
        self.path, self._disk = path, disk or Disk()

    def create(self, name: str, randomness: Callable[[int], bytes]) -> SigningKeys:
        """Create the first key of a log; an existing file is never overwritten."""
        key = SecretKey.generate(name, randomness)
        self._disk.create(self.path, (key.text + "\n").encode(), mode=0o600)
        return self.load()

    def load(self) -> SigningKeys:
        lines = self.path.read_text("utf-8").splitlines()
        secret = [SecretKey.parse(line) for line in lines if line.startswith("PRIVATE+KEY+")]
        retired = [PublicKey.parse(line) for line in lines if not line.startswith("PRIVATE+KEY+")]
        names = {key.name for key in secret} | {key.name for key in retired}
        if not secret or len(names) != 1:
            raise BadKey(f"{self.path} must hold keys of one log, one of them secret")
        if os.name == "posix" and self.path.stat().st_mode & 0o077:
            raise BadKey(f"{self.path} can be read by others: chmod 600 {self.path}")
        return SigningKeys((*retired, *(key.public for key in secret)), tuple(secret))

    def add(self, randomness: Callable[[int], bytes]) -> SigningKeys:
        """Start a rotation. The new key signs nothing until an entry of the log names it."""
        keys = self.load()
        if len(keys.secret) > 1:
            raise BadKey("a rotation is under way; it ends with the next checkpoint")
        return self._write(keys.public[:-1], [*keys.secret, SecretKey.generate(keys.newest.name, randomness)])

    def retire(self, in_force: PublicKey) -> SigningKeys:
        """End a rotation: delete secrets older than the key in force, and keep their public keys."""
        keys = self.load()
        secret = keys.secret[[key.public for key in keys.secret].index(in_force) :]
        return self._write(keys.public[: len(keys.public) - len(secret)], secret)

    def _write(self, retired: Sequence[PublicKey], secret: Sequence[SecretKey]) -> SigningKeys:
        lines = [key.text for key in retired] + [key.text for key in secret]
        self._disk.replace(self.path, ("\n".join(lines) + "\n").encode(), mode=0o600)
        return self.load()


class DirectoryTiles:
    def __init__(self, root: Path, disk: Disk | None = None) -> None:
        self._root, self._disk = root, disk or Disk()

    async def read(self, tile: Tile) -> bytes | None:
        return self._disk.read(self._root / tile.path)  # reading 8 KiB is cheaper than handing it to a thread

    async def write(self, tiles: Sequence[tuple[Tile, bytes]]) -> None:
        await asyncio.to_thread(self._write, tiles)

    def _write(self, tiles: Sequence[tuple[Tile, bytes]]) -> None:
        for tile, data in tiles:
            # No sync: a tile lost in a crash is rebuilt from the entries, and a torn one is noticed.
            self._disk.replace(self._root / tile.path, data, durable=False)


class DirectoryCheckpoints:
    def __init__(self, root: Path, disk: Disk | None = None) -> None:
        self._latest_path, self._kept_path = root / "checkpoint", root / "checkpoints"
        self._disk = disk or Disk()

    async def latest(self) -> bytes | None:
        """Return the newest checkpoint. After a crash the last kept one can be newer than `checkpoint`."""
        newest, kept = self._disk.read(self._latest_path), _last_of(self._kept_path)
        return kept if kept is not None and _covers_more(kept, newest) else newest

    async def kept(self) -> Sequence[bytes]:
        kept = split_checkpoints(self._disk.read(self._kept_path) or b"")
        newest = await self.latest()
        return [*kept, newest] if newest is not None and newest not in kept[-1:] else kept

    async def last_kept(self) -> bytes | None:
        return _last_of(self._kept_path)

    async def save(self, note: bytes, previous: bytes | None, *, keep: bool) -> None:
        if await self.latest() != previous:
            raise StaleCheckpoint("another process signed a checkpoint of this log; open the log again")
        if keep:  # first, because a crash in between could otherwise lose the endorsement of a new key
            kept = split_checkpoints(self._disk.read(self._kept_path) or b"")
            await asyncio.to_thread(self._disk.replace, self._kept_path, checkpoints.join([*kept, note]))
        await asyncio.to_thread(self._disk.replace, self._latest_path, note)


def _last_of(path: Path) -> bytes | None:
    """Return the last checkpoint of a file without reading all of it."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 2 * NOTE_LIMIT))
            pieces = file.read().split(b"\n\n")
    except FileNotFoundError:
        return None
    return b"\n\n".join(pieces[-2:]) or None


def _covers_more(kept: bytes, newest: bytes | None) -> bool:
    try:
        return newest is None or checkpoints.parse(kept)[0].size > checkpoints.parse(newest)[0].size
    except BadNote:
        return False
