"""Finds whose a key in the store is, without a look into the store for every call."""

from __future__ import annotations

import time
from collections.abc import Callable

from assent.core.audit import Entry
from assent.core.keys import KeyRecord
from assent.core.limited_dict import LimitedDict
from assent.core.principal import Principal
from assent.gateway.auth.api_keys import PREFIX, digest_secret
from assent.ports import Store

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
