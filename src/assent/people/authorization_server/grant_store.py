"""Codes and tokens of the embedded authorization server in the store, and who a token is (ADR 0097).

Only digests are kept.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import orjson

from assent.config.callers import EmbeddedServer
from assent.core.document import Document
from assent.core.limited_dict import LimitedDict
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.gateway.auth.authenticator import digest_secret
from assent.ports import Store

ACCESS_PREFIX = "assentat_"
_CODE, _ACCESS, _FAMILY = "oauth_code", "oauth_access", "oauth_family"
CODE_LASTS = 60.0
EMBEDDED_PATHS = frozenset({"/authorize", "/token", "/register", "/revoke", "/.well-known/oauth-authorization-server"})


@dataclass(frozen=True, slots=True)
class Grant:
    """What a person gave to a client: who, which client, and what it may do."""

    person: str
    tenant: str
    client_id: str
    client_name: str
    scopes: tuple[str, ...]
    auth_time: float | None
    acr: str | None
    redirect_uri: str
    redirect_given: bool
    challenge: str
    resource: str

    def principal(self) -> Principal:
        """The agent that acts for the person, under the person's name. It has none of the person's roles."""
        scopes = frozenset(self.scopes)
        return Principal(
            self.person,
            "agent",
            self.tenant,
            scopes,
            acr=self.acr,
            auth_time=self.auth_time,
            bearer=True,
            method="token",
        )


@dataclass(frozen=True, slots=True)
class Family:
    """A refresh token and those that it replaced. Using a replaced one ends the family."""

    id: str
    grant: Grant
    current: str
    access: str
    version: int = 0


class GrantStore:
    """Keeps codes for a minute, access tokens until they expire, and one family per sign-in."""

    def __init__(
        self, store: Store, now: Callable[[], float], access_lasts: float = 3600.0, refresh_lasts: float = 30 * 86400.0
    ) -> None:
        self._store, self._now = store, now
        self.access_lasts, self._refresh_lasts = access_lasts, refresh_lasts

    async def add_code(self, grant: Grant) -> str:
        code = secrets.token_urlsafe(32)
        await self._put(_CODE, digest_secret(code), grant.tenant, {"grant": asdict(grant)}, CODE_LASTS)
        return code

    async def grant_of_code(self, code: str) -> Grant | None:
        document = await self._store.document(_CODE, digest_secret(code), self._now())
        return None if document is None else _grant(orjson.loads(document.body)["grant"])

    async def use_code(self, code: str) -> Grant | None:
        """The grant of a code, once: of two requests with one code, one gets it."""
        document = await self._store.delete_document(_CODE, digest_secret(code), self._now())
        return None if document is None else _grant(orjson.loads(document.body)["grant"])

    async def begin_family(self, grant: Grant) -> tuple[str, str]:
        """A new access token and refresh token for a grant."""
        return await self._issue(Family(secrets.token_hex(16), grant, "", ""))

    async def family_of(self, refresh_token: str) -> Family | None:
        """The family of a current refresh token. A replaced token ends its family: somebody may have copied it."""
        id, _, _ = refresh_token.partition(".")
        family = await self._family(id)
        if family is None:
            return None
        if not secrets.compare_digest(family.current, digest_secret(refresh_token)):
            await self.end(family)
            return None
        return family

    async def renew(self, family: Family, scopes: tuple[str, ...]) -> tuple[str, str] | None:
        """Replace a family's tokens; None if another request was faster."""
        await self._store.delete_document(_ACCESS, family.access, self._now())
        return await self._issue(replace(family, grant=replace(family.grant, scopes=scopes)))

    async def end(self, family: Family) -> None:
        gone = await self._store.delete_document(_FAMILY, family.id, self._now())
        access = family.access if gone is None else _family_of(gone).access  # It may have been renewed meanwhile.
        await self._store.delete_document(_ACCESS, access, self._now())

    async def family_of_access(self, token: str) -> Family | None:
        document = await self._store.document(_ACCESS, digest_secret(token), self._now())
        return None if document is None else await self._family(orjson.loads(document.body)["family"])

    async def grant_of_access(self, token: str) -> Grant | None:
        """The grant of an access token that has not expired and was not revoked."""
        document = await self._store.document(_ACCESS, digest_secret(token), self._now())
        return None if document is None else _grant(orjson.loads(document.body)["grant"])

    async def families_of(self, person: str, tenant: str) -> list[Family]:
        """What a person has given, by client."""
        found = await self._store.documents(_FAMILY, self._now(), tenant=tenant, limit=10_000)
        families = [_family_of(one) for one in found]
        mine = [one for one in families if one.grant.person == person]
        return sorted(mine, key=lambda one: one.grant.client_name)

    async def end_all(self, person: str, tenant: str) -> None:
        """End everything that a person has given, and codes that are not used yet."""
        for code in await self._store.documents(_CODE, self._now(), tenant=tenant, limit=10_000):
            if orjson.loads(code.body)["grant"]["person"] == person:
                await self._store.delete_document(_CODE, code.id, self._now())
        for family in await self.families_of(person, tenant):
            await self.end(family)

    async def _issue(self, family: Family) -> tuple[str, str]:
        access, refresh = ACCESS_PREFIX + secrets.token_urlsafe(32), f"{family.id}.{secrets.token_urlsafe(32)}"
        kept = replace(family, current=digest_secret(refresh), access=digest_secret(access))
        body = {"grant": asdict(family.grant), "current": kept.current, "access": kept.access}
        expires = self._now() + self._refresh_lasts
        draft = Document(_FAMILY, family.id, orjson.dumps(body), family.grant.tenant, expires_at=expires)
        fields = {"grant": asdict(family.grant), "family": family.id}
        await self._put(_ACCESS, kept.access, family.grant.tenant, fields, self.access_lasts)  # `end` must find it.
        if await self._store.put_document(draft, self._now(), expected=family.version) is None:
            await self._store.delete_document(_ACCESS, kept.access, self._now())
            raise LookupError("another request was faster")
        return access, refresh

    async def _family(self, id: str) -> Family | None:
        document = await self._store.document(_FAMILY, id[:64], self._now()) if id else None
        return None if document is None else _family_of(document)

    async def _put(self, kind: str, id: str, tenant: str, body: dict[str, Any], lasts: float) -> None:
        draft = Document(kind, id, orjson.dumps(body), tenant, expires_at=self._now() + lasts)
        await self._store.put_document(draft, self._now())


def grant_store(store: Store, settings: EmbeddedServer) -> GrantStore:
    return GrantStore(store, time.time, float(settings.access_lasts), float(settings.refresh_lasts))


def _grant(fields: dict[str, Any]) -> Grant:
    return Grant(**{**fields, "scopes": tuple(fields["scopes"])})


def _family_of(document: Document) -> Family:
    body = orjson.loads(document.body)
    return Family(document.id, _grant(body["grant"]), body["current"], body["access"], document.version)


FRESH = 0.5
"""Seconds for which a token is cached: a revocation takes effect within this time."""
_MOST_CACHED = 10_000
_MOST_TOKEN = 256


class EmbeddedTokens:
    """Looks up access tokens in the store; valid ones are cached for a moment."""

    def __init__(self, grants: GrantStore, now: Callable[[], float]) -> None:
        self._grants, self._now = grants, now
        self._principals = LimitedDict[str, tuple[float, Principal]](_MOST_CACHED)

    async def find(self, token: str) -> Principal | None:
        if not token.startswith(ACCESS_PREFIX) or len(token) > _MOST_TOKEN:
            return None
        key, now = digest_secret(token), self._now()
        known = self._principals.get(key)
        if known is not None and now < known[0]:
            return known[1]
        grant = await self._grants.grant_of_access(token)
        if grant is None:
            self._principals.pop(key, None)
            return None
        principal = grant.principal()
        self._principals[key] = now + FRESH, principal
        return principal


def embedded_tokens(store: Store, settings: Any) -> EmbeddedTokens:
    """The tokens of the configured authorization server."""
    return EmbeddedTokens(grant_store(store, settings), time.monotonic)


_STEP_UP = "oauth_step_up"
_STEP_UP_LASTS = 600.0


class NeededSignIn(NamedTuple):
    """The age and the classes of the sign-in that a call needs."""

    max_age: int | None
    acr: tuple[str, ...]


async def note_step_up(store: Store, caller: Principal, refusal: Refusal, now: float) -> None:
    """Remember for ten minutes what a call of this caller needs."""
    body = {"max_age": refusal.facts.get("max_age"), "acr": refusal.facts.get("acr_values", [])}
    draft = Document(_STEP_UP, _step_up_id(caller), orjson.dumps(body), caller.tenant, expires_at=now + _STEP_UP_LASTS)
    await store.put_document(draft, now)


async def pending_step_up(store: Store, person: Principal, now: float) -> NeededSignIn | None:
    """What the last refused call of this person's agents needs, if that is not long ago."""
    document = await store.document(_STEP_UP, _step_up_id(person), now)
    if document is None:
        return None
    body = orjson.loads(document.body)
    return NeededSignIn(body["max_age"], tuple(body["acr"]))


def _step_up_id(person: Principal) -> str:
    return hashlib.sha256(orjson.dumps([person.tenant, person.id])).hexdigest()
