"""One sign-in at an upstream: from its address to a kept token."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

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
    new_http,
    register,
    send,
)
from assent.upstreams.oauth.grants import SignIn, Token, begin, revoke
from assent.upstreams.vault import CredentialVault, Kept

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


def describe(kept: Kept) -> dict[str, Any]:
    """What a person may see of a connection: never the token."""
    return {
        "upstream": kept.upstream,
        "since": kept.updated_at,
        "scopes": str(kept.fields.get("scope", "")).split(),
        "expires_at": None if kept.fields.get("refresh_token") else kept.fields.get("expires_at"),
    }
