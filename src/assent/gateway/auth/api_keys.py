"""API keys: creating, hashing and looking up the configured ones."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable

from assent.core.keys import KeyRecord
from assent.core.principal import Principal

PREFIX = "assent_"
_VISIBLE = len(PREFIX) + 8


def make_key() -> str:
    """Creates a key with 256 secret bits. It is shown once."""
    return f"{PREFIX}{secrets.token_hex(4)}_{secrets.token_urlsafe(32)}"


def digest_secret(secret: str) -> str:
    """The digest under which a key or token is stored. They are random, so one fast hash is enough."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def record_key(key: str, principal: Principal, created_at: float = 0.0, expires_at: float | None = None) -> KeyRecord:
    """The stored record of a key. It shows the start of a generated key, and nothing of a chosen one."""
    start = key[:_VISIBLE] if key.startswith(PREFIX) else ""
    return KeyRecord(digest_secret(key), start, principal, created_at, expires_at=expires_at)


class ConfiguredApiKeys:
    """The keys in the configuration, by digest."""

    def __init__(self, records: Iterable[KeyRecord] = ()) -> None:
        self._principals = {record.digest: record.principal for record in records if not record.revoked}

    def find(self, key: str) -> Principal | None:
        """The principal of a key that is known and not revoked."""
        return self._principals.get(digest_secret(key))
