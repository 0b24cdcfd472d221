"""One sign-in at an upstream: from its address to a kept token."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from assent.core.principal import Principal
from assent.upstreams.oauth.discovery import OAuthClient, discover, new_http, register
from assent.upstreams.oauth.errors import OAuthProblem
from assent.upstreams.oauth.grants import SignIn, Token, begin, revoke
from assent.upstreams.oauth.owner import CredentialOwner
from assent.upstreams.oauth.vault import CredentialVault, Kept


async def begin_sign_in(
    url: str,
    redirect_uri: str,
    *,
    client_id: str | None = None,
    client_secret: str | None = None,
    scopes: tuple[str, ...] = (),
    metadata_url: str | None = None,
) -> SignIn:
    """Find the authorization server of the upstream at this URL and begin a sign-in there."""
    async with new_http() as http:
        server = await discover(http, url)
        if client_id is None:
            client = await register(http, server, redirect_uri, metadata_url)
        else:
            basic = "client_secret_basic" in server.methods
            method = "none" if client_secret is None else "client_secret_basic" if basic else "client_secret_post"
            client = OAuthClient(client_id, client_secret, method)
    return begin(server, client, redirect_uri, " ".join(scopes) or None)


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
