"""The clients of the embedded authorization server: registered ones, and those named by their metadata document."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable
from math import inf
from urllib.parse import urlsplit

import orjson
from mcp.server.auth.provider import RegistrationError
from mcp.shared.auth import OAuthClientInformationFull
from pydantic import ValidationError

from assent.core.document import Document
from assent.core.limited_dict import LimitedDict
from assent.ports import Store
from assent.upstreams.http.fetch import fetch

_KIND = "oauth_client"
UNUSED_LASTS = 86400.0
USED_LASTS = 90 * 86400.0
MOST_CLIENTS = 1000
MOST_METADATA = 32 * 1024
_CACHED_FOR = 600.0
_MOST_CACHED = 100


class OAuthClients:
    """Finds and registers clients. A client that is never used expires after a day, a used one after 90 days."""

    def __init__(self, store: Store, now: Callable[[], float]) -> None:
        self._store, self._now = store, now
        self._documents = LimitedDict[str, tuple[float, OAuthClientInformationFull]](_MOST_CACHED)

    async def find(self, client_id: str) -> OAuthClientInformationFull | None:
        if client_id.startswith("https://"):
            return await self._described(client_id)
        document = await self._store.document(_KIND, client_id[:64], self._now())
        return None if document is None else OAuthClientInformationFull.model_validate_json(document.body)

    async def register(self, client: OAuthClientInformationFull) -> None:
        for uri in client.redirect_uris or ():
            check_redirect(str(uri))
        await self._make_room()
        await self._keep(client, UNUSED_LASTS)

    async def _make_room(self) -> None:
        """Drop the oldest client that nobody has allowed, if there are too many: anyone can register clients."""
        kept = await self._store.documents(_KIND, self._now(), limit=MOST_CLIENTS)
        if len(kept) < MOST_CLIENTS:
            return
        oldest = min(kept, key=lambda one: one.expires_at or inf)
        if (oldest.expires_at or inf) > self._now() + UNUSED_LASTS:
            raise RegistrationError("invalid_client_metadata", "too many clients are registered; try again tomorrow")
        await self._store.delete_document(_KIND, oldest.id, self._now(), expected=oldest.version)

    async def keep_used(self, client: OAuthClientInformationFull) -> None:
        """A person has allowed this client: keep it."""
        if not str(client.client_id).startswith("https://"):
            await self._keep(client, USED_LASTS)

    async def _keep(self, client: OAuthClientInformationFull, lasts: float) -> None:
        body = client.model_dump_json(exclude_none=True).encode()
        if len(body) > MOST_METADATA:
            raise RegistrationError("invalid_client_metadata", "the metadata is too long")
        draft = Document(_KIND, str(client.client_id), body, expires_at=self._now() + lasts)
        await self._store.put_document(draft, self._now())

    async def _described(self, url: str) -> OAuthClientInformationFull | None:
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
