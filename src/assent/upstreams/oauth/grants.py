"""OAuth grants: code with PKCE, refresh, token exchange (RFC 8693), ID-JAG (RFC 7523), and revocation (RFC 7009).

See ADR 0110.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple
from urllib.parse import quote, urlencode

import httpx2
from mcp.client.auth.utils import (
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
    union_scopes,
)

from assent.core.principal import Principal
from assent.upstreams.credentials import CredentialOwner
from assent.upstreams.errors import OAuthProblem
from assent.upstreams.oauth.discovery import (
    AuthorizationServer,
    OAuthClient,
    check_address,
    discover,
    error_in,
    error_text,
    new_http,
    object_in,
    register,
    send,
)
from assent.upstreams.vault import CredentialVault

_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_ASSERTION = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_TYPE = "urn:ietf:params:oauth:token-type:"
_ACCESS_TOKEN, _ID_JAG = f"{_TYPE}access_token", f"{_TYPE}id-jag"
_USABLE = (None, _ACCESS_TOKEN, f"{_TYPE}jwt")
_LONGEST_LIFE = 365 * 86400.0


@dataclass(frozen=True, slots=True)
class Token:
    """An access token with what is needed to renew and to revoke it."""

    access_token: str
    refresh_token: str | None
    expires_at: float | None
    scope: str
    token_endpoint: str
    revocation_endpoint: str | None
    resource: str
    client: OAuthClient

    def is_stale(self, now: float, margin: float = 30.0) -> bool:
        return self.expires_at is not None and self.expires_at - margin <= now

    def has(self, scope: str) -> bool:
        return {*scope.split()} <= {*self.scope.split()}

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Token:
        return cls(**{**fields, "client": OAuthClient(**fields["client"])})


class Subject(NamedTuple):
    """The caller's own token, which is exchanged for another."""

    token: str
    kind: Literal["access_token", "id_token"] = "access_token"

    def form(self) -> dict[str, str]:
        return {"subject_token": self.token, "subject_token_type": _TYPE + self.kind}


@dataclass(frozen=True, slots=True)
class SignIn:
    """A sign-in under way: what was sent to the authorization server, and what its answer must match."""

    server: AuthorizationServer
    client: OAuthClient
    redirect_uri: str
    state: str
    verifier: str
    scope: str | None

    @property
    def url(self) -> str:
        """Where the person's browser goes."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "response_type": "code",
            "client_id": self.client.id,
            "redirect_uri": self.redirect_uri,
            "state": self.state,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "resource": self.server.resource,
            **({"scope": self.scope} if self.scope else {}),
            **({"prompt": "consent"} if self.scope and "offline_access" in self.scope.split() else {}),
        }
        separator = "&" if "?" in self.server.authorization_endpoint else "?"
        return f"{self.server.authorization_endpoint}{separator}{urlencode(query)}"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> SignIn:
        server = {**fields["server"], "methods": tuple(fields["server"]["methods"])}
        known = {"server": AuthorizationServer(**server), "client": OAuthClient(**fields["client"])}
        return cls(**{**fields, **known})

    async def finish(self, http: httpx2.AsyncClient, answer: Mapping[str, str], now: float) -> Token:
        """Exchange the code in the authorization server's answer for a token."""
        if not hmac.compare_digest(answer.get("state", "").encode(), self.state.encode()):
            raise OAuthProblem("the answer belongs to another sign-in")
        if (issuer := answer.get("iss")) is None and self.server.checks_issuer:
            raise OAuthProblem("the answer does not name its authorization server")
        if issuer is not None and issuer != self.server.issuer:
            raise OAuthProblem("the answer comes from another authorization server")
        if error := answer.get("error"):
            raise OAuthProblem(f"the authorization server refused: {error_text(answer)}", code=error[:100])
        if not (code := answer.get("code")):
            raise OAuthProblem("the answer has no code")
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect_uri,
            "code_verifier": self.verifier,
            "resource": self.server.resource,
        }
        given = await _token(http, self.server.token_endpoint, self.client, form)
        return _token_of(given, self.server, self.client, self.scope or "", now)


def begin(server: AuthorizationServer, client: OAuthClient, redirect_uri: str, scope: str | None = None) -> SignIn:
    """Begin a sign-in; `scope` replaces the scope that was discovered."""
    return SignIn(
        server, client, redirect_uri, secrets.token_urlsafe(32), secrets.token_urlsafe(64), scope or server.scope
    )


async def refresh(http: httpx2.AsyncClient, token: Token, now: float) -> Token:
    """A renewed token. The refresh token may have been replaced, so the result must be kept."""
    if token.refresh_token is None:
        raise OAuthProblem("the token has expired and cannot be renewed", code="invalid_grant")
    form = {"grant_type": "refresh_token", "refresh_token": token.refresh_token, "resource": token.resource}
    given = await _token(http, token.token_endpoint, token.client, form)
    return replace(
        token,
        access_token=given["access_token"],
        refresh_token=_text(given.get("refresh_token")) or token.refresh_token,
        expires_at=_expiry(given, now),
        scope=_text(given.get("scope")) or token.scope,
    )


async def exchange(
    http: httpx2.AsyncClient,
    server: AuthorizationServer,
    client: OAuthClient,
    subject: Subject,
    scope: str | None,
    now: float,
) -> Token:
    """A token for the upstream in exchange for the caller's own (RFC 8693). It is not renewed, but exchanged anew."""
    form = {
        "grant_type": _EXCHANGE,
        **subject.form(),
        "requested_token_type": _ACCESS_TOKEN,
        "resource": server.resource,
        **({"scope": scope} if scope else {}),
    }
    given = await _token(http, server.token_endpoint, client, form)
    if given.get("issued_token_type") not in _USABLE:
        raise OAuthProblem("the authorization server issued no access token in exchange")
    return replace(_token_of(given, server, client, scope or "", now), refresh_token=None)


async def identity_assertion(
    http: httpx2.AsyncClient,
    token_endpoint: str,
    client: OAuthClient,
    subject: Subject,
    server: AuthorizationServer,
    scope: str | None,
) -> str:
    """An identity assertion (ID-JAG) of the identity provider about the caller, for this authorization server only."""
    form = {
        "grant_type": _EXCHANGE,
        "requested_token_type": _ID_JAG,
        "audience": server.issuer,
        "resource": server.resource,
        **subject.form(),
        **({"scope": scope} if scope else {}),
    }
    given = await _token(http, token_endpoint, client, form)
    if given.get("issued_token_type") != _ID_JAG:
        raise OAuthProblem("the identity provider issued no identity assertion (ID-JAG)")
    return str(given["access_token"])


async def redeem_assertion(
    http: httpx2.AsyncClient,
    server: AuthorizationServer,
    client: OAuthClient,
    assertion: str,
    scope: str | None,
    now: float,
) -> Token:
    """A token for the upstream in return for an identity assertion (RFC 7523)."""
    form = {
        "grant_type": _ASSERTION,
        "assertion": assertion,
        "resource": server.resource,
        **({"scope": scope} if scope else {}),
    }
    given = await _token(http, server.token_endpoint, client, form)
    return replace(_token_of(given, server, client, scope or "", now), refresh_token=None)


async def revoke(http: httpx2.AsyncClient, token: Token) -> bool:
    """End a token at the authorization server; False if it cannot be told, so that the token lasts until it expires."""
    if token.revocation_endpoint is None:
        return False
    # Servers made with the official SDK require the member; RFC 6749 treats an empty secret like a missing one.
    form = {"token": token.refresh_token or token.access_token, "client_secret": ""}
    answer = await send(http, "POST", token.revocation_endpoint, **_authenticated_form(token.client, form))
    return answer.status_code == 200


async def _token(http: httpx2.AsyncClient, endpoint: str, client: OAuthClient, form: dict[str, str]) -> dict[str, Any]:
    answer = await send(http, "POST", endpoint, **_authenticated_form(client, form))
    given = object_in(answer)
    if answer.status_code != 200:
        code = given.get("error") if isinstance(given.get("error"), str) else ""
        temporary = answer.status_code >= 500 or answer.status_code == 429
        raise OAuthProblem(f"the token endpoint answered: {error_in(answer)}", temporary=temporary, code=str(code))
    kind = given.get("token_type", "Bearer")
    if not _text(given.get("access_token")) or not isinstance(kind, str) or kind.lower() not in ("bearer", "n_a"):
        raise OAuthProblem("the token endpoint's answer has no bearer token")
    if not str(given["access_token"]).isascii() or not str(given["access_token"]).isprintable():
        raise OAuthProblem("the token cannot be sent in a header")
    return given


def _authenticated_form(client: OAuthClient, form: dict[str, str]) -> dict[str, Any]:
    """The form with the client's authentication, in the header or in the form."""
    if client.secret is not None and client.method == "client_secret_basic":
        return {"data": form, "auth": (quote(client.id, safe=""), quote(client.secret, safe=""))}
    secret = {"client_secret": client.secret} if client.secret is not None and client.method != "none" else {}
    return {"data": {**form, "client_id": client.id, **secret}}


def _token_of(
    given: Mapping[str, Any], server: AuthorizationServer, client: OAuthClient, scope: str, now: float
) -> Token:
    return Token(
        access_token=str(given["access_token"]),
        refresh_token=_text(given.get("refresh_token")),
        expires_at=_expiry(given, now),
        scope=_text(given.get("scope")) or scope,
        token_endpoint=server.token_endpoint,
        revocation_endpoint=server.revocation_endpoint,
        resource=server.resource,
        client=client,
    )


def _expiry(given: Mapping[str, Any], now: float) -> float | None:
    lasts = given.get("expires_in")
    if isinstance(lasts, str) and lasts.isdecimal():
        lasts = int(lasts[:20])
    plain = isinstance(lasts, int | float) and not isinstance(lasts, bool) and lasts >= 0
    return now + float(min(lasts, _LONGEST_LIFE)) if plain and lasts is not None else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


_HELLO = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}}
"""A request without effect; an upstream that needs a token answers it with a challenge."""


async def begin_sign_in(
    url: str,
    redirect_uri: str,
    *,
    client_id: str | None = None,
    client_secret: str | None = None,
    scopes: tuple[str, ...] = (),
    more: str = "",
    metadata_url: str | None = None,
) -> SignIn:
    """Find the authorization server of the upstream at this URL and begin a sign-in there.

    `more` are scopes beside the usual ones: those that the person has allowed before, and those that a call lacked.
    """
    async with new_http() as http:
        server = await discover(http, url, *await _challenge(http, url))
        # A client that is registered now may ask for no other scope later.
        server = replace(server, scope=union_scopes(" ".join(scopes) or server.scope, more))
        if client_id is None:
            client = await register(http, server, redirect_uri, metadata_url)
        else:
            client = configured_client(server, client_id, client_secret)
    return begin(server, client, redirect_uri)


def configured_client(server: AuthorizationServer, client_id: str, client_secret: str | None) -> OAuthClient:
    """A client that was registered by hand, with the way in which it authenticates at this server."""
    basic = "client_secret_basic" in server.methods
    method = "none" if client_secret is None else "client_secret_basic" if basic else "client_secret_post"
    return OAuthClient(client_id, client_secret, method)


async def _challenge(http: httpx2.AsyncClient, url: str) -> tuple[str | None, str | None]:
    """Where the upstream's metadata is and which scopes to ask for, as its 401 answer says; None where it does not."""
    check_address(url, url)
    answer = await send(http, "POST", url, json=_HELLO)
    if answer.status_code != 401:
        return None, None
    return extract_resource_metadata_from_www_auth(answer), extract_scope_from_www_auth(answer)


async def finish_sign_in(
    started: SignIn,
    answer: Mapping[str, str],
    vault: CredentialVault,
    upstream: str,
    owner: CredentialOwner,
    by: Principal,
    now: Callable[[], float],
) -> Token:
    """Exchange the answer for a token and keep it for its owner."""
    async with new_http() as http:
        token = await started.finish(http, answer, now())
    await vault.put(upstream, owner, token.as_json(), by=by)
    return token


async def disconnect(vault: CredentialVault, upstream: str, owner: CredentialOwner, by: Principal) -> bool:
    """Forget a connection and end its token at the authorization server, if that can be reached."""
    kept = await vault.get(upstream, owner)
    if kept is None or not await vault.remove(upstream, owner, expected=kept.version, by=by):
        return False
    if "access_token" in kept.fields:
        try:
            async with new_http() as http:
                await revoke(http, Token.from_json(kept.fields))
        except OAuthProblem:
            pass  # The connection is gone here; the token ends by itself.
    return True
