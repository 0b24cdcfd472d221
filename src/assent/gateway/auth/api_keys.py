"""Whose API key is this?"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable

from assent.core.keys import KeyRecord
from assent.core.principal import Principal

PREFIX = "assent_"
_VISIBLE = len(PREFIX) + 8


def make_key() -> str:
    """A new key: shown once, 256 bits of it secret."""
    return f"{PREFIX}{secrets.token_hex(4)}_{secrets.token_urlsafe(32)}"


def digest_key(key: str) -> str:
    """Keys are random, so one hash is enough and costs nothing on the path of a call."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def record_key(key: str, principal: Principal, created_at: float = 0.0, expires_at: float | None = None) -> KeyRecord:
    """What is kept of a key. A key people chose themselves shows nothing of it."""
    start = key[:_VISIBLE] if key.startswith(PREFIX) else ""
    return KeyRecord(digest_key(key), start, principal, created_at, expires_at=expires_at)


class ConfiguredApiKeys:
    """The keys there are, by digest."""

    def __init__(self, records: Iterable[KeyRecord] = ()) -> None:
        self._records = {record.digest: record for record in records}

    def find(self, key: str) -> Principal | None:
        """The principal of a key that is known and not revoked."""
        digest = digest_key(key)
        record = self._records.get(digest)
        if record is None or record.revoked or not hmac.compare_digest(record.digest, digest):
            return None
        return record.principal
