"""Challenges that the official SDK's OAuth client completes, with the embedded server and with `oidc-provider`."""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata

from assent.contract.yaml_document import write_yaml
from assent.core.principal import Principal
from assent.gateway.app import GatewayApp
from assent.people.console.start import make_link_token
from gateway.auth.test_embedded_server import BACK, Memory
from gateway.auth.test_embedded_server import Person as ConsentingPerson
from support.console.plain_browser import EVERY_ROLE, Browser, signed_in
from support.gateway.gateways import shop_gateway
from support.identity.exchange_world import log_in, providers
from support.identity.oidc_provider import needs_provider

CONTRACTS = {
    "list_orders": {"side_effect": "read", "permissions": ["orders:read"], "step_up": {"max_age": 300}},
    "place_order": {"side_effect": "write", "permissions": ["orders:write"]},
    "delete_order": {"side_effect": "destructive", "permissions": ["orders:admin"], "risk": "forbidden"},
}
ANN = Principal("ann", "human", "local", roles=EVERY_ROLE)


class Person(Protocol):
    """Somebody whom the SDK's client sends to the authorization server."""

    asked: list[str]
    """The address of each authorization request."""

    async def go(self, url: str) -> None: ...
    async def come_back(self) -> AuthorizationCodeResult: ...


class PersonOfTheConsole(ConsentingPerson):
    """A person who gives less than asked at first, and signs in again where the page wants it."""

    def __init__(self, browser: Browser, app: GatewayApp) -> None:
        super().__init__(browser)
        self.app, self.asked, self.sign_ins = app, list[str](), 0

    async def go(self, url: str) -> None:
        self.asked.append(url)
        parts = urlsplit(url)
        moved = await self.browser.get(f"{parts.path}?{parts.query}")
        if "Sign in again" in (await self.browser.get(moved.headers["location"])).text:
            self.sign_ins += 1
            self.browser.client.cookies.clear()  # The page says: sign out and sign in again.
            token = await make_link_token(self.app.store, ANN, time.time())
            assert (await self.browser.post("/console/signin/link", {"link": token})).status_code == 303
        await super().go(url)


class PersonOfTheProvider:
    """A person who logs in at `oidc-provider` each time."""

    def __init__(self, issuer: str) -> None:
        # The provider gives a client no scope beyond those it registered with, so an operator registered this one.
        self.client = OAuthClientInformationFull(
            client_id="clerk",
            redirect_uris=[BACK],  # type: ignore[list-item]
            token_endpoint_auth_method="none",
            issuer=issuer,
        )
        self.asked: list[str] = []
        self.answer: dict[str, str] = {}
        self.signed_in_at: float | None = None
        """When the person's first login there was; None for now."""

    async def go(self, url: str) -> None:
        self.asked.append(url)
        self.answer = await log_in(url, "ann", BACK, self.signed_in_at)
        self.signed_in_at = None

    async def come_back(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult(
            code=self.answer.get("code", ""), state=self.answer.get("state"), iss=self.answer.get("iss")
        )


Front = tuple[str, GatewayApp, Person]


@asynccontextmanager
async def front(folder: Path, kind: str) -> AsyncIterator[Front]:
    """A shop behind the gateway, whose people are those of its console or of a real identity provider."""
    (folder / "scoped.yaml").write_text(write_yaml({"tools": CONTRACTS}))
    more: dict[str, Any] = {"visibility": "locked", "contracts": [str(folder / "scoped.yaml")]}
    if kind == "embedded":
        async with shop_gateway(folder, auth={"embedded": {}}, **more) as (url, app, _):
            await move(app, url)
            async with signed_in(url, app.store, id="ann") as browser:
                yield url, app, PersonOfTheConsole(browser, app)
        return
    async with providers() as world:
        auth = {"jwt": {"issuer": world.idp, "audience": "x", "scopes": ["orders:read"]}}
        async with shop_gateway(folder, auth=auth, **more) as (url, app, _):
            await move(app, url)
            yield url, app, PersonOfTheProvider(world.idp)


async def move(app: GatewayApp, url: str) -> None:
    """Tell the gateway the address that it got."""
    auth = app.settings.auth
    jwt = auth.jwt.model_copy(update={"audience": url}) if auth.jwt is not None else None
    changed = {"public_url": url.removesuffix("/mcp"), "auth": auth.model_copy(update={"jwt": jwt})}
    await app.use(app.settings.model_copy(update=changed))


@asynccontextmanager
async def connected(url: str, person: Person) -> AsyncIterator[Client]:
    metadata = OAuthClientMetadata(
        client_name="Clerk",
        redirect_uris=[BACK],  # type: ignore[list-item]
        grant_types=["authorization_code", "refresh_token"],
    )
    storage = Memory()
    storage.client = person.client if isinstance(person, PersonOfTheProvider) else None
    auth = OAuthClientProvider(url, metadata, storage, redirect_handler=person.go, callback_handler=person.come_back)
    async with httpx2.AsyncClient(auth=auth, timeout=60) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            yield client


KINDS = ["embedded", pytest.param("oidc-provider", marks=needs_provider)]


def scopes(url: str) -> set[str]:
    return set(httpx2.URL(url).params.get("scope", "").split())


@pytest.mark.parametrize("kind", KINDS)
async def test_a_missing_scope_is_asked_for_and_the_call_succeeds(kind: str, tmp_path: Path) -> None:
    async with front(tmp_path, kind) as (url, _, person):
        if isinstance(person, PersonOfTheConsole):
            person.gives = {"orders:read"}
        async with connected(url, person) as client:
            assert "place_order" in {tool.name for tool in (await client.list_tools()).tools}
            assert len(person.asked) == 1
            if isinstance(person, PersonOfTheConsole):
                person.gives = None
            result = await client.call_tool("place_order", {"item": "tea"})
        assert not result.is_error, result
    assert len(person.asked) == 2
    assert {"orders:read", "orders:write"} <= scopes(person.asked[1]), "what was given before is kept"
    assert "orders:admin" not in scopes(person.asked[0]) | scopes(person.asked[1])


@pytest.mark.parametrize("kind", KINDS)
async def test_an_old_sign_in_is_renewed_and_the_call_succeeds(kind: str, tmp_path: Path) -> None:
    async with front(tmp_path, kind) as (url, app, person):
        an_hour_ago = time.time() - 3600
        if isinstance(person, PersonOfTheProvider):
            person.signed_in_at = an_hour_ago
        if isinstance(person, PersonOfTheConsole):
            (kept,) = await app.store.documents("console_session", time.time())
            body = {**json.loads(kept.body), "auth_time": an_hour_ago}
            await app.store.put_document(kept._replace(body=json.dumps(body).encode()), time.time())
        async with connected(url, person) as client:
            await client.list_tools()
            result = await client.call_tool("list_orders", {})
        assert not result.is_error, result
    assert len(person.asked) == 2
    if isinstance(person, PersonOfTheConsole):
        assert person.sign_ins == 1, "an old session is not enough, although the SDK's client does not say max_age"


async def test_no_scope_is_published_that_only_forbidden_tools_need(tmp_path: Path) -> None:
    async with front(tmp_path, "embedded") as (url, _, _), httpx2.AsyncClient() as http:
        found = (await http.get(url.replace("/mcp", "/.well-known/oauth-protected-resource"))).json()
        refused = await http.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert found["scopes_supported"] == ["orders:read", "orders:write"]
    assert "orders:admin" not in refused.headers["www-authenticate"]
    assert re.search(r'scope="([^"]*)"', refused.headers["www-authenticate"]) is not None
