"""File with the signing keys of a log.

One file, mode 0600, one key per line, oldest first. Retired keys are public keys, the others are secret keys. A
rotation adds the next key, an entry in the log names it, both keys sign a checkpoint, and the old secret is deleted.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assent.audit.notes import BadKey, PublicKey, SecretKey
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
