"""API keys: creating, hashing, and finding whose they are, configured or in the store."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Iterable

from assent.core.audit import Entry
from assent.core.keys import KeyRecord
from assent.core.limited_dict import LimitedDict
from assent.core.principal import Principal
from assent.ports import Store

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


FRESH = 0.5
"""Seconds for which a key is cached: a revocation by another process takes effect within this time."""
MOST_CACHED = 10_000
MOST_KEY = 256


class StoredApiKeys:
    """Looks up keys in the store. Only valid keys are cached, so unknown keys cannot evict them."""

    def __init__(self, store: Store, now: Callable[[], float], wall: Callable[[], float] = time.time) -> None:
        self._store, self._now, self._wall = store, now, wall
        self._known = LimitedDict[str, tuple[float, Principal]](MOST_CACHED)

    async def find(self, key: str) -> Principal | None:
        """The principal of a key that is kept and still good; anything that cannot be one costs no look."""
        if not key.startswith(PREFIX) or len(key) > MOST_KEY:
            return None
        digest, now = digest_secret(key), self._now()
        known = self._known.get(digest)
        if known is not None and now < known[0]:
            return known[1]
        record = await self._store.key_by_digest(digest)
        if record is None or not record.is_good(self._wall()):
            self._known.pop(digest, None)
            return None
        self._known[digest] = now + FRESH, record.caller
        return record.caller

    async def revoke(self, digest: str, at: float, entry: Entry) -> KeyRecord | None:
        """Revokes a key; this process stops accepting it at once."""
        try:
            return await self._store.revoke_key(digest, at, entry)
        finally:
            self._known.pop(digest, None)
