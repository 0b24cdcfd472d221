"""Finds the principal of an access token of the embedded authorization server (ADR 0097)."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import orjson

from assent.core.document import Document
from assent.core.limited_dict import LimitedDict
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.gateway.auth.authenticator import digest_secret
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


_KIND = "oauth_step_up"
_LASTS = 600.0


class NeededSignIn(NamedTuple):
    """The age and the classes of the sign-in that a call needs."""

    max_age: int | None
    acr: tuple[str, ...]


async def note_step_up(store: Store, caller: Principal, refusal: Refusal, now: float) -> None:
    """Remember for ten minutes what a call of this caller needs."""
    body = {"max_age": refusal.facts.get("max_age"), "acr": refusal.facts.get("acr_values", [])}
    draft = Document(_KIND, _id(caller), orjson.dumps(body), caller.tenant, expires_at=now + _LASTS)
    await store.put_document(draft, now)


async def pending_step_up(store: Store, person: Principal, now: float) -> NeededSignIn | None:
    """What the last refused call of this person's agents needs, if that is not long ago."""
    document = await store.document(_KIND, _id(person), now)
    if document is None:
        return None
    body = orjson.loads(document.body)
    return NeededSignIn(body["max_age"], tuple(body["acr"]))


def _id(person: Principal) -> str:
    return hashlib.sha256(orjson.dumps([person.tenant, person.id])).hexdigest()
