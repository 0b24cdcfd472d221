"""Finds the principal of an access token of the embedded authorization server."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from assent.core.limited_dict import LimitedDict
from assent.core.principal import Principal
from assent.gateway.auth.api_keys import digest_secret
from assent.people.authorization_server.records import ACCESS_PREFIX, GrantStore, grant_store
from assent.ports import Store

FRESH = 0.5
"""Seconds for which a token is cached: a revocation takes effect within this time."""
_MOST_CACHED = 10_000
_MOST_TOKEN = 256


class EmbeddedTokens:
    """Looks up access tokens in the store; valid ones are cached for a moment."""

    def __init__(self, grants: GrantStore, now: Callable[[], float]) -> None:
        self._grants, self._now = grants, now
        self._known = LimitedDict[str, tuple[float, Principal]](_MOST_CACHED)

    async def find(self, token: str) -> Principal | None:
        if not token.startswith(ACCESS_PREFIX) or len(token) > _MOST_TOKEN:
            return None
        key, now = digest_secret(token), self._now()
        known = self._known.get(key)
        if known is not None and now < known[0]:
            return known[1]
        grant = await self._grants.grant_of_access(token)
        if grant is None:
            self._known.pop(key, None)
            return None
        principal = grant.principal()
        self._known[key] = now + FRESH, principal
        return principal


def embedded_tokens(store: Store, settings: Any) -> EmbeddedTokens:
    """The tokens of the configured authorization server."""
    return EmbeddedTokens(grant_store(store, settings), time.monotonic)
