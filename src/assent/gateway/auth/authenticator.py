"""Authentication at a gateway: who is let in, from where, and how OAuth clients learn to get in."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable
from typing import Any

from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.core.reach import is_operator
from assent.edges.admission import Admission, credential_of, is_forwarded, is_loopback
from assent.edges.api_keys import ApiKeys, record_key
from assent.edges.challenges import challenge
from assent.edges.cors import Cors
from assent.edges.doors import Doors
from assent.edges.gateway import Challenge
from assent.edges.http import Headers, Scope
from assent.edges.inbound import read_head
from assent.edges.kept_keys import KeptKeys
from assent.edges.strangers import Strangers
from assent.edges.tokens import Issuer, Tokens
from assent.errors import Fault, SettingsError, StoreError
from assent.fetching import fetch_json
from assent.ports import Store
from assent.settings import Caller, Settings
from assent.stores.address import open_store
from assent.stores.inspect import schema_of


class Reception:
    """Asks callers who they are, by the configuration that holds now, and keeps count of those turned away."""

    def __init__(self, settings: Settings, store: Store, scopes: Callable[[], list[str]] = list) -> None:
        self._scopes = scopes
        self.keys = KeptKeys(store, time.monotonic)
        self.strangers = Strangers(store.note, time.time)
        self.admission = Admission()
        self.adopt(settings)

    def adopt(self, settings: Settings) -> None:
        """Let in whom these settings let in, from now on."""
        self._settings = settings
        self.admission = Admission(
            keys=ApiKeys(record_key(key.key, principal_of(key)) for key in settings.auth.api_keys),
            kept_key=self.keys.find,
            tokens=self._tokens(),
            anonymous=principal_of(settings.auth.anonymous, "anonymous") if settings.auth.anonymous else None,
        )

    async def authenticate(self, headers: Headers, scope: Scope) -> Principal:
        try:
            return await self.admission.admit(headers, scope)
        except StoreError:
            unavailable = Refusal("record.unavailable")
            raise Challenge(unavailable.status, unavailable.problem(), []) from None
        except Refusal as refusal:
            self.strangers.turned_away(refusal.code, scope)
            asked_for = challenge(refusal, None, self.metadata_url(), self._first_scopes())
            assert asked_for is not None
            raise Challenge(asked_for[0], refusal.problem(), [(b"www-authenticate", asked_for[1].encode())]) from None

    async def is_operator(self, headers: Headers, scope: Scope) -> bool:
        """Whether this is an operator, or somebody on this machine who says nothing of themselves."""
        head = read_head(headers)
        if self.doors().refuse(head.host, head.origin) is not None:
            return False
        try:
            local = credential_of(headers) is None and is_loopback(scope) and not is_forwarded(headers)
            return local or is_operator(await self.admission.admit(headers, scope))
        except Refusal:
            return False

    def doors(self) -> Doors:
        return Doors([self._settings.public_url], origins=self._settings.origins)

    def cors(self) -> Cors:
        return Cors(self._settings.origins)

    def _first_scopes(self) -> list[str]:
        """The scopes that a client should ask for first: the configured ones, or all that are public."""
        jwt = self._settings.auth.jwt
        if jwt is None:
            return []
        return list(jwt.scopes) if jwt.scopes is not None else self._scopes()

    def metadata_url(self) -> str | None:
        if self._settings.auth.jwt is None:
            return None
        return f"{self._settings.public_url.rstrip('/')}/.well-known/oauth-protected-resource"

    def metadata(self) -> dict[str, Any] | None:
        """RFC 9728: where tokens for this resource come from. Providers refuse a registration for an empty list."""
        jwt, scopes = self._settings.auth.jwt, self._scopes()
        if jwt is None:
            return None
        said: dict[str, Any] = {
            "resource": f"{self._settings.public_url.rstrip('/')}/mcp",
            "authorization_servers": [jwt.issuer],
            "bearer_methods_supported": ["header"],
        }
        return {**said, "scopes_supported": scopes} if scopes else said

    def _tokens(self) -> Tokens | None:
        jwt = self._settings.auth.jwt
        if jwt is None:
            return None
        issuer = Issuer(jwt.issuer, jwt.audience, jwt.algorithms, jwt.jwks_url, jwt.kind, jwt.tenant)
        tokens = Tokens(issuer, fetch_json, time.time)
        if self.admission.tokens is not None:
            tokens.inherit(self.admission.tokens)
        return tokens


def principal_of(caller: Caller, name: str | None = None) -> Principal:
    """A configured caller as a principal."""
    return Principal(
        id=caller.name or name or "local",
        kind=caller.kind,
        tenant=caller.tenant,
        scopes=frozenset(caller.scopes),
        roles=frozenset(caller.roles),
        mode=caller.mode,
    )


async def has_kept_keys(settings: Settings) -> bool:
    """Whether the store knows a key that lets somebody in; one that is not there yet is not made for the question."""
    if (await schema_of(settings.store))[0] == 0:
        return False
    store = await open_store(settings.store)
    try:
        return await _keeps_keys(store)
    finally:
        await store.close()


async def lets_nobody_in(settings: Settings, store: Store) -> bool:
    """Whether every call would be refused for want of somebody who is known."""
    auth = settings.auth
    known = auth.api_keys or auth.jwt is not None or auth.anonymous is not None
    return not known and not await _keeps_keys(store)


async def _keeps_keys(store: Store) -> bool:
    return any(not record.revoked for record in await store.keys())


def check_bind(settings: Settings, host: str, kept: Callable[[], bool] = lambda: False) -> None:
    """A socket that others can reach needs callers to be known; anonymous ones are for this machine alone.

    `kept` says whether there are keys in the store; it is asked only where that matters.
    """
    if is_loopback_host(host):
        return
    if settings.auth.anonymous is not None:
        raise SettingsError(
            Fault(f"anonymous callers are not accepted on {host}", "Remove it, or bind to 127.0.0.1", "auth.anonymous")
        )
    if not settings.auth.api_keys and settings.auth.jwt is None and not kept():
        raise SettingsError(
            Fault(
                f"{host} can be reached by others and nobody need authenticate",
                "Add auth.api_keys or auth.jwt, or make a key: assent keys create",
                "auth",
            )
        )


def is_loopback_host(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
