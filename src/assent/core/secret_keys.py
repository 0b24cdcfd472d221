"""Secret keys of the gateway, kept in private files (ADR 0031)."""

from __future__ import annotations

import errno
import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path

from assent.errors import Fault, SettingsError
from assent.files import Disk

_PURPOSES = ("sealing", "derivation", "blinding")


class Keyring:
    """Random 32-byte keys, one per purpose, in files that only their owner can read. Created when first needed.

    Without a directory the keys exist only in memory.
    """

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._keys: dict[str, bytes] = {}
        self._blinding: hashlib.blake2b | None = None

    def key(self, purpose: str) -> bytes:
        if purpose not in self._keys:
            self._keys[purpose] = secrets.token_bytes(32) if self._directory is None else self._from_file(purpose)
        return self._keys[purpose]

    def make_all(self) -> None:
        """Make every key that does not exist yet, so that the directory can be copied to other replicas."""
        for purpose in _PURPOSES:
            self.key(purpose)

    def check(self) -> None:
        """Raises the error that reading or creating the keys would raise, without creating anything."""
        if self._directory is None:
            return
        place = next(place for place in (self._directory, *self._directory.parents) if place.exists())
        try:
            if not place.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            if not os.access(place, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            for path in (self._directory / f"{purpose}.key" for purpose in _PURPOSES):
                if path.exists():
                    self._read_key(path)
        except OSError as error:
            raise _unusable(self._directory, error) from None

    def derive(self, claim: str) -> str:
        """The idempotency key sent to an upstream for a claim: the same for every retry, unique per claim."""
        return hmac.new(self.key("derivation"), claim.encode(), hashlib.sha256).hexdigest()

    def keyed_hash(self, text: str | bytes) -> str:
        """A keyed digest: equal inputs give equal digests, and the input cannot be guessed without the key."""
        if self._blinding is None:
            self._blinding = hashlib.blake2b(key=self.key("blinding"), digest_size=32)
        keyed = self._blinding.copy()  # Copying is faster than hashing the key again.
        keyed.update(text.encode() if isinstance(text, str) else text)
        return keyed.hexdigest()

    def _from_file(self, purpose: str) -> bytes:
        assert self._directory is not None
        path = self._directory / f"{purpose}.key"
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not path.exists():
                self._make(path)
            return self._read_key(path)
        except OSError as error:
            raise _unusable(path, error) from None

    def _make(self, path: Path) -> None:
        """Writes a key to a file that appears complete. If several processes race, one wins and all read its key."""
        with suppress(FileExistsError):
            Disk().create(path, secrets.token_bytes(32), mode=0o600)

    def _read_key(self, path: Path) -> bytes:
        if path.stat().st_mode & 0o077:
            fault = Fault(f"other users can read {path}", f"Run chmod 600 {path}", "secrets.directory")
            raise SettingsError(fault)
        key = path.read_bytes()
        if len(key) != 32:
            fault = Fault(f"{path} is not a 32-byte key", "Restore the file from a backup", "secrets.directory")
            raise SettingsError(fault)
        return key


def _unusable(path: Path, error: OSError) -> SettingsError:
    reason = f"{path} cannot be used: {error.strerror}"
    return SettingsError(Fault(reason, "Choose a directory that Assent can write to", "secrets.directory"))
