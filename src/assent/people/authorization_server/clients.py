"""The clients of the embedded authorization server, registered or named by their metadata document, and their requests.

A request is read before a person sees it.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import ipaddress
import socket
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from secrets import token_hex
from urllib.parse import urlencode, urlsplit

import orjson
from mcp.server.auth.provider import RegistrationError
from mcp.shared.auth import InvalidRedirectUriError, OAuthClientInformationFull
from pydantic import AnyUrl, ValidationError

from assent.core.document import Document
from assent.core.limited_dict import LimitedDict
from assent.gateway.auth.authenticator import digest_secret
from assent.pipeline.authorize import grants
from assent.ports import Store
from assent.upstreams.http.fetch import fetch

_KIND = "oauth_client"
UNUSED_LASTS = 86400.0
USED_LASTS = 90 * 86400.0
PREFIX = "assent_client_"
MOST_ID = 4000
_KEPT = {"redirect_uris", "client_name", "client_uri", "scope", "token_endpoint_auth_method", "grant_types"}
MOST_METADATA = 32 * 1024
_CACHED_FOR = 600.0
_MOST_CACHED = 100


class OAuthClients:
    """Finds and registers clients.

    Anyone can register one, so nothing is kept of a registration: the id that a client gets holds its metadata and our
    seal. It can be used for a day. What a person has allowed is kept, for 90 days.
    """

    def __init__(self, store: Store, now: Callable[[], float], keyed_hash: Callable[[str], str]) -> None:
        self._store, self._now, self._keyed_hash = store, now, keyed_hash
        self._documents = LimitedDict[str, tuple[float, OAuthClientInformationFull]](_MOST_CACHED)

    async def find(self, client_id: str) -> OAuthClientInformationFull | None:
        if client_id.startswith("https://"):
            return await self._load_described(client_id)
        if client_id.startswith(PREFIX):
            return await self._open_sealed(client_id)
        document = await self._store.document(_KIND, client_id[:64], self._now())
        return None if document is None else OAuthClientInformationFull.model_validate_json(document.body)

    def register(self, client: OAuthClientInformationFull) -> None:
        """Give a client its id, and its secret if it wants one."""
        for uri in client.redirect_uris or ():
            check_redirect(str(uri))
        body = client.model_dump(mode="json", include=_KEPT, exclude_none=True)
        packed = zlib.compress(orjson.dumps({**body, "nonce": token_hex(8), "at": int(self._now())}), 9)
        text = base64.urlsafe_b64encode(packed).decode().rstrip("=")
        client.client_id = f"{PREFIX}{text}.{self._seal('id', text)}"
        if len(client.client_id) > MOST_ID:
            raise RegistrationError("invalid_client_metadata", "the metadata is too long")
        if client.client_secret is not None:
            client.client_secret = self._seal("secret", text)

    async def _open_sealed(self, client_id: str) -> OAuthClientInformationFull | None:
        text, _, seal = client_id.removeprefix(PREFIX).partition(".")
        if len(client_id) > MOST_ID or not hmac.compare_digest(seal.encode(), self._seal("id", text).encode()):
            return None
        body = orjson.loads(zlib.decompress(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))))
        if body["at"] + UNUSED_LASTS <= self._now() and not await self._is_allowed(client_id):
            return None
        secret = None if body.get("token_endpoint_auth_method") == "none" else self._seal("secret", text)
        return OAuthClientInformationFull.model_validate({**body, "client_id": client_id, "client_secret": secret})

    def _seal(self, what: str, text: str) -> str:
        return self._keyed_hash(f"oauth client {what} v1\n{text}")

    async def _is_allowed(self, client_id: str) -> bool:
        return await self._store.document(_KIND, digest_secret(client_id), self._now()) is not None

    async def keep_used(self, client: OAuthClientInformationFull) -> None:
        """A person has allowed this client: keep it."""
        client_id, until = str(client.client_id), self._now() + USED_LASTS
        if client_id.startswith(PREFIX):
            await self._store.put_document(
                Document(_KIND, digest_secret(client_id), b"{}", expires_at=until), self._now()
            )
        elif not client_id.startswith("https://"):
            body = client.model_dump_json(exclude_none=True).encode()
            await self._store.put_document(Document(_KIND, client_id, body, expires_at=until), self._now())

    async def _load_described(self, url: str) -> OAuthClientInformationFull | None:
        """The client that the document at this URL describes; None if it cannot be read or describes another."""
        cached = self._documents.get(url)
        if cached is not None and self._now() < cached[0]:
            return cached[1]
        try:
            await _check_public(url)
            fields = orjson.loads(await fetch(url, MOST_METADATA, "client metadata"))
            if fields.get("client_id") != url:
                return None
            client = OAuthClientInformationFull.model_validate({**fields, "token_endpoint_auth_method": "none"})
            for uri in client.redirect_uris or ():
                check_redirect(str(uri))
        except (ValidationError, RegistrationError, ValueError, AttributeError, OSError, TimeoutError):
            return None
        except Exception:  # What an unknown server does must not become an error of this one.
            return None
        self._documents[url] = self._now() + _CACHED_FOR, client
        return client


def check_redirect(uri: str) -> None:
    """Refuse a redirect address that is neither HTTPS, nor on the user's machine, nor an app's own scheme.

    A user name in front of the host would make one host look like another on the page that asks the person.
    """
    parts = urlsplit(uri)
    local = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost")
    app = "." in parts.scheme or parts.scheme in ("cursor", "vscode", "vscode-insiders", "claude", "windsurf", "zed")
    if parts.fragment or "@" in parts.netloc or not (parts.scheme == "https" or local or app):
        raise RegistrationError("invalid_redirect_uri", "use https, http on the user's machine, or an app's own scheme")


async def _check_public(url: str) -> None:
    """Refuse a metadata address inside a private network: the request would come from this server."""
    parts = urlsplit(url)
    if not parts.hostname or parts.username or parts.port not in (None, 443) or parts.fragment:
        raise ValueError("not a client metadata address")
    found = await asyncio.get_running_loop().getaddrinfo(parts.hostname, 443, type=socket.SOCK_STREAM)
    if not all(ipaddress.ip_address(address[4][0]).is_global for address in found):
        raise ValueError("the address is not public")


MOST_SCOPES = 100


class BadRequest(Exception):
    """A request that cannot be sent back to the client, because client or redirect address are not known."""


@dataclass(frozen=True, slots=True)
class Refused(Exception):
    """A request that is answered to the client with an OAuth error."""

    error: str
    description: str
    redirect_uri: str
    state: str | None


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """What a client asks a person for."""

    client: OAuthClientInformationFull
    redirect_uri: str
    redirect_given: bool
    state: str | None
    scopes: tuple[str, ...]
    challenge: str
    resource: str
    max_age: int | None
    acr: tuple[str, ...]

    @property
    def client_name(self) -> str:
        return (self.client.client_name or str(self.client.client_id))[:100]

    def answer(self, issuer: str, **fields: str) -> str:
        """Where the person's browser goes with the answer."""
        return answer_url(self.redirect_uri, self.state, iss=issuer, **fields)


def read_request(
    query: Mapping[str, str],
    client: OAuthClientInformationFull | None,
    resource: str,
    known_scopes: list[str],
    allowed: frozenset[str],
) -> AuthorizationRequest:
    """Check an authorization request. Raises BadRequest, or Refused with what the client is told."""
    if client is None:
        raise BadRequest("The application is not known here. Add the server to it again.")
    try:
        given = query.get("redirect_uri")
        redirect_uri = str(client.validate_redirect_uri(AnyUrl(given) if given else None))
    except (InvalidRedirectUriError, ValidationError):
        raise BadRequest("The application's address for the answer is not the one it registered.") from None
    state = query.get("state")

    def refused(error: str, description: str) -> Refused:
        return Refused(error, description, redirect_uri, state)

    if query.get("response_type") != "code":
        raise refused("unsupported_response_type", "response_type must be code")
    if query.get("code_challenge_method") != "S256" or not query.get("code_challenge"):
        raise refused("invalid_request", "PKCE with S256 is required")
    asked = query.get("resource", resource).rstrip("/")
    if asked != resource:
        raise refused("invalid_target", f"this server issues tokens for {resource} only")
    wanted = query.get("scope", "").split() or known_scopes
    scopes = tuple(scope for scope in dict.fromkeys(wanted) if grants(allowed, scope))[:MOST_SCOPES]
    max_age = query.get("max_age", "")
    return AuthorizationRequest(
        client,
        redirect_uri,
        given is not None,
        state,
        scopes,
        query["code_challenge"],
        resource,
        int(max_age) if max_age.isdecimal() and len(max_age) < 8 else 0 if query.get("prompt") == "login" else None,
        tuple(query.get("acr_values", "").split()),
    )


def answer_url(redirect_uri: str, state: str | None, **fields: str) -> str:
    """The redirect address with the answer in its query."""
    query = {**fields, **({"state": state} if state is not None else {})}
    separator = "&" if "?" in redirect_uri else "?"
    return f"{redirect_uri}{separator}{urlencode(query)}"
