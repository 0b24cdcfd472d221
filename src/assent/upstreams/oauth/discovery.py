"""Finds the authorization server of an upstream (RFC 9728, RFC 8414) and Assent's client there (RFC 7591, CIMD)."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import httpx2
from mcp.client.auth.utils import (
    build_oauth_authorization_server_metadata_discovery_urls,
    build_protected_resource_metadata_discovery_urls,
    get_client_metadata_scopes,
    is_valid_client_metadata_url,
    issuers_match,
    should_use_client_metadata_url,
)
from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata
from mcp.shared.auth_utils import check_resource_allowed
from pydantic import ValidationError

from assent.core.question import visible
from assent.upstreams.credentials import client_metadata
from assent.upstreams.errors import OAuthProblem

PATIENCE = 10.0
MOST_BYTES = 256 * 1024
MOST_WORDS = 300
"""Characters of a server's own words about an error."""
_ACCEPT = {"accept": "application/json"}
_FRAMING = frozenset({"content-encoding", "content-length", "transfer-encoding"})


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """Assent as a client of one authorization server."""

    id: str
    secret: str | None = None
    method: str = "none"
    """How it authenticates at the token endpoint: none, client_secret_basic or client_secret_post."""


@dataclass(frozen=True, slots=True)
class AuthorizationServer:
    """The authorization server of an upstream, and what to ask it for."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    registration_endpoint: str | None
    revocation_endpoint: str | None
    resource: str
    scope: str | None
    takes_metadata_url: bool
    checks_issuer: bool
    """Whether it names itself in its answer (RFC 9207), so that an answer without that is refused."""
    methods: tuple[str, ...] = ("client_secret_basic",)


async def discover(
    http: httpx2.AsyncClient,
    url: str,
    metadata_url: str | None = None,
    scope: str | None = None,
    issuer: str | None = None,
) -> AuthorizationServer:
    """Find the authorization server of the upstream at this URL.

    `metadata_url` and `scope` are what the upstream's 401 or 403 answer named. With `issuer`, no other server is used.
    """
    resource = await _resource_metadata(http, url, metadata_url)
    if resource is not None:
        issuer = _named_issuer(resource, url, issuer)
    return _server(await _metadata(http, issuer, url), resource, url, scope)


async def discover_token_endpoint(http: httpx2.AsyncClient, issuer: str) -> str:
    """The token endpoint of a configured issuer."""
    endpoint = str((await _metadata(http, issuer, issuer)).token_endpoint)
    check_address(endpoint, issuer)
    return endpoint


def _named_issuer(resource: ProtectedResourceMetadata, url: str, wanted: str | None) -> str:
    """The authorization server that the upstream names: the first, or the wanted one."""
    named = [str(one) for one in resource.authorization_servers]
    if wanted is None:
        return named[0]
    found = next((one for one in named if issuers_match(one, wanted)), None)
    if found is None:
        raise OAuthProblem(f"{url} does not name {wanted} as its authorization server, but {', '.join(named)[:200]}")
    return found


async def _metadata(http: httpx2.AsyncClient, issuer: str | None, url: str) -> OAuthMetadata:
    for candidate in build_oauth_authorization_server_metadata_discovery_urls(issuer, url):
        found = await _json(http, candidate, url)
        if found is None:
            continue
        try:
            metadata = OAuthMetadata.model_validate(found)
        except ValidationError:
            continue
        if issuer is not None and not issuers_match(str(metadata.issuer), issuer):
            raise OAuthProblem(f"{candidate} describes another issuer than {issuer}")
        return metadata
    if issuer is None:
        return _default_metadata(url)
    raise OAuthProblem(f"no authorization server was found for {url}")


def _default_metadata(url: str) -> OAuthMetadata:
    """The endpoints that the protocol's first revision with OAuth (2025-03-26) assumes where no metadata is found."""
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    names = {"authorization_endpoint": "authorize", "token_endpoint": "token", "registration_endpoint": "register"}
    return OAuthMetadata.model_validate({"issuer": origin} | {key: f"{origin}/{one}" for key, one in names.items()})


def _server(
    metadata: OAuthMetadata, resource: ProtectedResourceMetadata | None, url: str, scope: str | None
) -> AuthorizationServer:
    for endpoint in (metadata.authorization_endpoint, metadata.token_endpoint):
        check_address(str(endpoint), url)
    if "S256" not in (metadata.code_challenge_methods_supported or ["S256"]):
        raise OAuthProblem("the authorization server does not support PKCE with S256")
    methods = metadata.token_endpoint_auth_methods_supported or ["client_secret_basic"]
    return AuthorizationServer(
        issuer=str(metadata.issuer),
        authorization_endpoint=str(metadata.authorization_endpoint),
        token_endpoint=str(metadata.token_endpoint),
        registration_endpoint=_optional(metadata.registration_endpoint, url),
        revocation_endpoint=_optional(metadata.revocation_endpoint, url),
        resource=str(resource.resource) if resource is not None else url,
        scope=_words(get_client_metadata_scopes(scope, resource, metadata, ["authorization_code", "refresh_token"])),
        takes_metadata_url=should_use_client_metadata_url(metadata, "https://example.com/client"),
        checks_issuer=bool(metadata.authorization_response_iss_parameter_supported),
        methods=tuple(methods),
    )


async def register(
    http: httpx2.AsyncClient, server: AuthorizationServer, redirect_uri: str, metadata_url: str | None
) -> OAuthClient:
    """Assent's client at this server: the URL of its metadata document, or one registered now."""
    if server.takes_metadata_url and is_valid_client_metadata_url(metadata_url):
        assert metadata_url is not None
        return OAuthClient(metadata_url)
    if server.registration_endpoint is None:
        raise OAuthProblem(
            "the authorization server registers no clients; register one there and write `oauth: {client_id: ...}`"
        )
    wanted = client_metadata(redirect_uri)
    if server.scope:
        wanted["scope"] = server.scope
    answer = await send(http, "POST", server.registration_endpoint, json=wanted)
    given = object_in(answer)
    if answer.status_code not in (200, 201) or not isinstance(given.get("client_id"), str):
        raise OAuthProblem(f"the authorization server did not register a client: {error_in(answer)}")
    secret = str(given.get("client_secret") or "") or None
    method = given.get("token_endpoint_auth_method") or ("client_secret_basic" if secret else "none")
    return OAuthClient(given["client_id"], secret, method)


def check_address(address: str, upstream: str) -> None:
    """Refuse an address that is not HTTPS, unless it and the upstream are both on this machine.

    The upstream names these addresses, so one outside must not lead the gateway into its own network.
    """
    parts = urlsplit(address)
    local = _is_local(parts.hostname or "") and _is_local(urlsplit(upstream).hostname or "")
    if not parts.hostname or parts.username is not None or not (parts.scheme == "https" or local):
        raise OAuthProblem(f"the address {address} cannot be used: it must start with https://")
    if _is_inside(parts.hostname) and not _is_inside(urlsplit(upstream).hostname or ""):
        raise OAuthProblem(f"the address {address} leads to this machine or network, but the upstream does not")


def new_http() -> httpx2.AsyncClient:
    """A client for metadata and tokens: no redirects, no proxy variables, a short timeout."""
    return httpx2.AsyncClient(timeout=PATIENCE, follow_redirects=False, trust_env=False, verify=_tls())


@cache
def _tls() -> ssl.SSLContext:
    """The trusted certificates, read once: reading them takes longer than a request."""
    return httpx2.create_ssl_context(trust_env=False)


async def _resource_metadata(
    http: httpx2.AsyncClient, url: str, metadata_url: str | None
) -> ProtectedResourceMetadata | None:
    for candidate in build_protected_resource_metadata_discovery_urls(metadata_url, url):
        found = await _json(http, candidate, url)
        if found is None:
            continue
        try:
            resource = ProtectedResourceMetadata.model_validate(found)
        except ValidationError:
            continue
        if not check_resource_allowed(requested_resource=url, configured_resource=str(resource.resource)):
            raise OAuthProblem(f"{candidate} describes another resource than {url}")
        return resource
    return None


async def _json(http: httpx2.AsyncClient, address: str, upstream: str) -> Any:
    """A metadata document, or None if it is not there."""
    check_address(address, upstream)
    answer = await send(http, "GET", address)
    return object_in(answer) if answer.status_code == 200 else None


async def send(http: httpx2.AsyncClient, method: str, address: str, **more: Any) -> httpx2.Response:
    """Send a request and read the answer, which is limited in size and time."""
    host = urlsplit(address).netloc
    try:
        async with asyncio.timeout(2 * PATIENCE), http.stream(method, address, headers=_ACCEPT, **more) as answer:
            body = b""
            async for piece in answer.aiter_bytes():
                body += piece
                if len(body) > MOST_BYTES:
                    raise OAuthProblem(f"the answer of {host} is too large")
    except (httpx2.HTTPError, TimeoutError) as error:
        raise OAuthProblem(f"{host} could not be reached", temporary=True) from error
    fields = [(name, value) for name, value in answer.headers.multi_items() if name not in _FRAMING]
    return httpx2.Response(answer.status_code, headers=fields, content=body)


def object_in(answer: httpx2.Response) -> dict[str, Any]:
    try:
        given = answer.json()
    except ValueError:
        return {}
    return given if isinstance(given, dict) else {}


def _words(scope: str | None) -> str | None:
    """The scope with one space between words; None without a word, since an empty scope is refused by some servers."""
    return " ".join((scope or "").split()) or None


def error_in(answer: httpx2.Response) -> str:
    """What a server's answer says went wrong."""
    return error_text(object_in(answer)) or f"status {answer.status_code}"


def error_text(answer: Mapping[str, Any]) -> str:
    """The error of an OAuth answer with the server's own words about it, which are quoted; empty if it has none."""
    code, words = answer.get("error"), answer.get("error_description")
    if not isinstance(code, str) or not code.isprintable():
        return ""
    return f'{code[:100]} ("{visible(words[:MOST_WORDS])}")' if isinstance(words, str) and words else code[:100]


def _optional(address: Any, upstream: str) -> str | None:
    if address is None:
        return None
    check_address(str(address), upstream)
    return str(address)


def _is_local(host: str) -> bool:
    found = _ip_address(host)
    return found.is_loopback if found is not None else _is_localhost(host)


def _is_inside(host: str) -> bool:
    """Whether a host is this machine or an address that is not public, in any notation."""
    found = _ip_address(host)
    return not found.is_global if found is not None else _is_localhost(host)


def _is_localhost(host: str) -> bool:
    name = host.lower().rstrip(".")
    return name == "localhost" or name.endswith(".localhost")


def _ip_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host is, also as `127.1` or `2130706433`; None for a name."""
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        try:
            return ipaddress.IPv4Address(socket.inet_aton(host.rstrip(".")))
        except (OSError, ValueError):
            return None
    return getattr(found, "ipv4_mapped", None) or found
