"""Where do our secret keys come from?"""

from __future__ import annotations

import errno
import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path

from assent.errors import Fault, SettingsError

_PURPOSES = ("sealing", "derivation", "blinding")


class Keyring:
    """Keys of 32 random bytes by purpose, in files of a directory that only we can read; made when first needed.

    Without a directory they live as long as the process.
    """

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._keys: dict[str, bytes] = {}

    def key(self, purpose: str) -> bytes:
        if purpose not in self._keys:
            self._keys[purpose] = secrets.token_bytes(32) if self._directory is None else self._from_file(purpose)
        return self._keys[purpose]

    def check(self) -> None:
        """Raise what making or reading the keys would raise; nothing is made."""
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
                    self._read(path)
        except OSError as error:
            raise _unusable(self._directory, error) from None

    def derive(self, claim: str) -> str:
        """The key an upstream gets for a claim: the same for every try, and nobody else's."""
        return hmac.new(self.key("derivation"), claim.encode(), hashlib.sha256).hexdigest()

    def keyed_hash(self, what: str | bytes) -> str:
        """A digest that nobody without our keys can guess from: it says that two things are the same, and no more."""
        data = what.encode() if isinstance(what, str) else what
        return hashlib.blake2b(data, key=self.key("blinding"), digest_size=32).hexdigest()

    def _from_file(self, purpose: str) -> bytes:
        assert self._directory is not None
        path = self._directory / f"{purpose}.key"
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not path.exists():
                self._make(path)
            return self._read(path)
        except OSError as error:
            raise _unusable(path, error) from None

    def _make(self, path: Path) -> None:
        """A key in a file that appears whole: of several processes that make it at once, one wins and all read it."""
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(32))
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileExistsError):
                os.link(draft, path)
        finally:
            draft.unlink()

    def _read(self, path: Path) -> bytes:
        if path.stat().st_mode & 0o077:
            raise SettingsError(Fault(f"{path} can be read by others", f"Run chmod 600 {path}", "secrets.directory"))
        key = path.read_bytes()
        if len(key) != 32:
            raise SettingsError(Fault(f"{path} is not a key of 32 bytes", "Restore it", "secrets.directory"))
        return key


def _unusable(path: Path, error: OSError) -> SettingsError:
    reason = f"{path} cannot be used: {error.strerror}"
    return SettingsError(Fault(reason, "Name a directory we may write", "secrets.directory"))
