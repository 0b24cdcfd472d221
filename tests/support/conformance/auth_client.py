"""The client under test of the conformance suite's authorization scenarios: `auth_client gateway|direct URL`.

`gateway`: Assent is the client of the suite's server. The operator signs in as `assent login` does, and again where a
call is refused for want of a scope or a connection. `direct`: the official SDK's own OAuth client.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2
import jwt
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from assent.core.principal import Principal
from assent.gateway.app import GatewayApp
from assent.upstreams.credentials import SHARED, SubjectToken, current_subject, owner_of
from assent.upstreams.http.link import HttpLink
from assent.upstreams.oauth.grants import begin_sign_in, finish_sign_in
from support.decisions.problems import problem
from support.gateway.gateways import gateway

BACK = "http://127.0.0.1:3000/callback"
METADATA = "https://conformance-test.local/client-metadata.json"
SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
CONTEXT: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
MOST_SIGN_INS = 3


async def consent(url: str) -> dict[str, str]:
    """What a browser gets back from the suite's server, which consents at once."""
    async with httpx2.AsyncClient(follow_redirects=False, timeout=30) as http:
        answer = await http.get(url)
    return dict(httpx2.URL(answer.headers["location"]).params)


async def through_the_gateway(url: str, folder: Path) -> None:
    own: dict[str, Any] = {name: CONTEXT[name] for name in ("client_id", "client_secret") if name in CONTEXT}
    upstream: dict[str, Any] = {"url": url, "auth": "oauth", "oauth": own}
    more: dict[str, Any] = {"mode": "observe", "contracts": []}
    headers = {}
    if "idp_id_token" in CONTEXT:
        at_provider = {"client_id": CONTEXT["idp_client_id"]}
        own |= {"exchange": "id_jag", "subject_token": "id_token", "identity_provider": at_provider}
        own["issuer"] = await issuer_of(url)
        upstream["identity"] = "per_user"
        more["auth"] = {"jwt": {"issuer": CONTEXT["idp_issuer"], "audience": CONTEXT["idp_client_id"]}}
        headers["authorization"] = f"Bearer {CONTEXT['idp_id_token']}"
    async with gateway(folder, {"suite": upstream}, **more) as (address, app):
        await (exchanged if headers else signed_in)(url, address, app, headers)


async def signed_in(url: str, address: str, app: GatewayApp, headers: dict[str, str]) -> None:
    scope = ""
    for _ in range(MOST_SIGN_INS):
        started = await begin_sign_in(
            url,
            BACK,
            client_id=CONTEXT.get("client_id"),
            client_secret=CONTEXT.get("client_secret"),
            more=scope,
            metadata_url=METADATA,
        )
        answer = await consent(started.url)
        await finish_sign_in(
            started, answer, app.runtime.vault, "suite", SHARED, Principal("operator", "human"), time.time
        )
        app.state.forget_credential("suite", SHARED)
        await app.reload("suite")
        refused = await list_and_call(address, headers)
        if refused is None:
            return
        scope = " ".join([started.scope or "", refused])
    raise SystemExit("the upstream asks for more each time")


async def list_and_call(address: str, headers: dict[str, str]) -> str | None:
    """Call every tool; the scope that a call lacked, "" for a connection that is gone, or None if all were answered."""
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        async with Client(streamable_http_client(address, http_client=http)) as client:
            tools = (await client.list_tools()).tools
            for tool in tools:
                result = await client.call_tool(tool.name, {})
                if result.is_error:
                    found = problem(result.model_dump(by_alias=True, mode="json"))
                    return str(found.get("scope", "")) if found.get("code") == "guard.not_connected" else None
    return None if tools else ""


async def exchanged(url: str, address: str, app: GatewayApp, headers: dict[str, str]) -> None:
    """Nobody signs in: the caller's own token is exchanged.

    The suite's identity provider publishes no keys, so the gateway cannot verify the caller's token at its front door.
    The request begins behind it, as the caller that the token names.
    """
    subject = jwt.decode(CONTEXT["idp_id_token"], options={"verify_signature": False})["sub"]
    caller = Principal(f"{CONTEXT['idp_issuer']}|{subject}", "agent", bearer=True, method="token")
    current_subject.set(SubjectToken(caller, CONTEXT["idp_id_token"]))
    link = app.current.links["suite"]
    assert isinstance(link, HttpLink)
    assert await link.missing_connection(caller) is None
    _, peer = await link.live.open_session({}, owner_of(caller))
    await link.live.list_all("tools/list", "tools", peer)


async def issuer_of(url: str) -> str:
    """The authorization server that an operator would configure."""
    async with httpx2.AsyncClient(timeout=30) as http:
        for place in ("/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"):
            answer = await http.get(url.removesuffix("/mcp") + place)
            if answer.status_code == 200:
                return str(answer.json()["authorization_servers"][0])
    raise SystemExit("the suite's server names no authorization server")


class Memory:
    """The SDK's token storage, in memory."""

    def __init__(self, client: OAuthClientInformationFull | None) -> None:
        self.token: OAuthToken | None = None
        self.client = client

    async def get_tokens(self) -> OAuthToken | None:
        return self.token

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.token = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


async def direct(url: str) -> None:
    async with httpx2.AsyncClient(auth=await sdk_auth(url), timeout=30) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            for tool in (await client.list_tools()).tools:
                await client.call_tool(tool.name, {})


async def sdk_auth(url: str) -> httpx2.Auth:
    if "idp_id_token" in CONTEXT:
        return IdentityAssertionOAuthProvider(
            url,
            Memory(None),
            CONTEXT["client_id"],
            CONTEXT["client_secret"],
            await issuer_of(url),
            _assertion,
            token_endpoint_auth_method="client_secret_basic",
        )
    known = None
    if "client_id" in CONTEXT:
        known = OAuthClientInformationFull(
            client_id=CONTEXT["client_id"],
            client_secret=CONTEXT["client_secret"],
            redirect_uris=[BACK],  # type: ignore[list-item]
            token_endpoint_auth_method="client_secret_basic",
            issuer=CONTEXT.get("issuer"),
        )
    answers: list[dict[str, str]] = []

    async def go(where: str) -> None:
        answers.append(await consent(where))

    async def come_back() -> AuthorizationCodeResult:
        answer = answers[-1]
        return AuthorizationCodeResult(code=answer.get("code", ""), state=answer.get("state"), iss=answer.get("iss"))

    metadata = OAuthClientMetadata(
        client_name="direct",
        redirect_uris=[BACK],  # type: ignore[list-item]
        grant_types=["authorization_code", "refresh_token"],
    )
    return OAuthClientProvider(url, metadata, Memory(known), go, come_back, client_metadata_url=METADATA)


async def _assertion(audience: str, resource: str) -> str:
    kind = "urn:ietf:params:oauth:token-type:"
    form = {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "requested_token_type": f"{kind}id-jag",
        "subject_token": CONTEXT["idp_id_token"], "subject_token_type": f"{kind}id_token", "audience": audience,
        "resource": resource, "client_id": CONTEXT["idp_client_id"],
    }  # fmt: skip
    async with httpx2.AsyncClient(timeout=30) as http:
        return str((await http.post(CONTEXT["idp_token_endpoint"], data=form)).json()["access_token"])


def main() -> None:
    how, url = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(through_the_gateway(url, Path(folder)) if how == "gateway" else direct(url))


if __name__ == "__main__":
    main()
