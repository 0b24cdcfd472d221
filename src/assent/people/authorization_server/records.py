"""Codes and tokens of the embedded authorization server in the store. Only digests are kept."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import orjson

from assent.core.document import Document
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
        await self._store.delete_document(_FAMILY, family.id, self._now())
        await self._store.delete_document(_ACCESS, family.access, self._now())

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
        if await self._store.put_document(draft, self._now(), expected=family.version) is None:
            raise LookupError("another request was faster")
        fields = {"grant": asdict(family.grant), "family": family.id}
        await self._put(_ACCESS, kept.access, family.grant.tenant, fields, self.access_lasts)
        return access, refresh

    async def _family(self, id: str) -> Family | None:
        document = await self._store.document(_FAMILY, id[:64], self._now()) if id else None
        return None if document is None else _family_of(document)

    async def _put(self, kind: str, id: str, tenant: str, body: dict[str, Any], lasts: float) -> None:
        draft = Document(kind, id, orjson.dumps(body), tenant, expires_at=self._now() + lasts)
        await self._store.put_document(draft, self._now())


class Lifetimes(Protocol):
    """How long tokens last, in seconds."""

    @property
    def access_lasts(self) -> int: ...
    @property
    def refresh_lasts(self) -> int: ...


def grant_store(store: Store, lifetimes: Lifetimes) -> GrantStore:
    return GrantStore(store, time.time, float(lifetimes.access_lasts), float(lifetimes.refresh_lasts))


def _grant(fields: dict[str, Any]) -> Grant:
    return Grant(**{**fields, "scopes": tuple(fields["scopes"])})


def _family_of(document: Document) -> Family:
    body = orjson.loads(document.body)
    return Family(document.id, _grant(body["grant"]), body["current"], body["access"], document.version)
