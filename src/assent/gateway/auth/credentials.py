"""Finds the principal of an HTTP request."""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.gateway.auth.api_keys import ConfiguredApiKeys
from assent.gateway.auth.jwt import JwtVerifier
from assent.web.asgi import Headers, Scope

FindKey = Callable[[str], Awaitable[Principal | None]]


@dataclass(slots=True)
class CredentialChecker:
    """The accepted credentials: a configured key, a stored key, a token, or anonymous access from this machine.

    Credentials that are sent must be valid: a bad key never falls back to another method.
    """

    keys: ConfiguredApiKeys = field(default_factory=ConfiguredApiKeys)
    find_stored_key: FindKey | None = None
    tokens: JwtVerifier | None = None
    anonymous: Principal | None = None

    async def authenticate(self, headers: Headers, scope: Scope) -> Principal:
        credential = credential_of(headers)
        if credential is None:
            if self.anonymous is not None and is_loopback(scope) and not is_forwarded(headers):
                return self.anonymous
            raise Refusal("authenticate.missing")
        found = self.keys.find(credential)
        if found is None and self.find_stored_key is not None:
            found = await self.find_stored_key(credential)
        if found is None and self.tokens is not None and credential.count(".") == 2:
            found = await self.tokens.principal(credential)
        if found is None:
            raise Refusal("authenticate.invalid")
        return found


def credential_of(headers: Headers) -> str | None:
    """The credential of a request. Two different credentials, or an unreadable one, are invalid."""
    found: list[str] = []
    for name, value in headers:
        if name == b"authorization":
            scheme, _, rest = value.partition(b" ")
            found.append(rest.strip().decode("latin-1") if scheme.lower() == b"bearer" else "")
        elif name == b"x-api-key":
            found.append(value.strip().decode("latin-1"))
    if not found:
        return None
    if any(one != found[0] for one in found) or not found[0]:
        raise Refusal("authenticate.invalid")
    return found[0]


def is_loopback(scope: Scope) -> bool:
    """Whether the connection comes from this machine; headers are not considered."""
    client = scope.get("client")
    try:
        return client is not None and ipaddress.ip_address(client[0]).is_loopback
    except ValueError:
        return False


_FORWARDED = frozenset({b"forwarded", b"x-forwarded-for", b"x-real-ip"})


def is_forwarded(headers: Headers) -> bool:
    """Whether a proxy or tunnel on this machine forwards the request of another client."""
    return any(name in _FORWARDED for name, _ in headers)
