"""The embedded authorization server: the official SDK's OAuth client adds the gateway with its URL alone."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.provider import RegistrationError
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from assent.gateway.app import GatewayApp
from assent.people.authorization_server import clients
from assent.people.authorization_server.clients import OAuthClients
from support.console.plain_browser import Browser, signed_in
from support.gateway.gateways import post, rpc, shop_gateway

BACK = "http://127.0.0.1:3030/callback"
EMBEDDED = {"auth": {"embedded": {}}}


class Memory:
    """The SDK's token storage, in memory."""

    def __init__(self) -> None:
        self.token: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.token

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.token = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Person:
    """A person with a browser who decides about what the SDK's client sends them to."""

    def __init__(self, browser: Browser, decision: str = "allow") -> None:
        self.browser, self.decision = browser, decision
        self.page = ""
        self.answer: dict[str, str] = {}
        self.gives: set[str] | None = None
        """The scopes that the person gives; None for all that are asked for."""

    async def go(self, url: str) -> None:
        parts = urlsplit(url)
        moved = await self.browser.get(f"{parts.path}?{parts.query}")
        self.page = (await self.browser.get(moved.headers["location"])).text
        fields = {name: unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', self.page)}
        scopes = re.findall(r'name="grant" value="([^"]+)"', self.page)
        fields = {name: value for name, value in fields.items() if name not in ("grant", "decision", "everywhere")}
        scopes = [scope for scope in scopes if self.gives is None or scope in self.gives]
        form = {**fields, "grant": scopes, "decision": self.decision}
        left = await self.browser.post("/console/authorize", form)  # type: ignore[arg-type]
        link = re.search(r'<a class="button primary" href="([^"]+)"', left.text)
        assert link is not None, left.text
        self.answer = dict(parse_qsl(urlsplit(unescape(link[1])).query))

    async def come_back(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult(
            code=self.answer.get("code", ""), state=self.answer.get("state"), iss=self.answer.get("iss")
        )


def provider(url: str, person: Person, storage: Memory) -> OAuthClientProvider:
    metadata = OAuthClientMetadata(
        client_name="Clerk", redirect_uris=[BACK], grant_types=["authorization_code", "refresh_token"]
    )
    return OAuthClientProvider(url, metadata, storage, redirect_handler=person.go, callback_handler=person.come_back)


@asynccontextmanager
async def connected(url: str, person: Person, storage: Memory | None = None) -> AsyncIterator[Client]:
    async with httpx2.AsyncClient(auth=provider(url, person, storage or Memory()), timeout=60) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            yield client


@asynccontextmanager
async def shop(folder: Path, **more: Any) -> AsyncIterator[tuple[str, GatewayApp]]:
    async with shop_gateway(folder, **{**EMBEDDED, **more}) as (url, app, _):
        public = url.removesuffix("/mcp")
        await app.use(app.settings.model_copy(update={"public_url": public}))
        yield url, app


async def test_the_sdks_client_signs_in_with_the_url_alone_and_calls_a_tool(tmp_path: Path) -> None:
    async with shop(tmp_path) as (url, app), signed_in(url, app.store, id="ann") as browser:
        person = Person(browser)
        async with connected(url, person) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            result = await client.call_tool("list_orders", {"limit": 1})
        assert "place_order" in names
        assert not result.is_error
        assert "<q>Clerk</q>" in person.page
        assert "the name is its own claim" in person.page
        await app.store.flush()
        entries = [one.entry for one in await app.store.entries()]
        callers = {one.values.get("principal") for one in entries if one.facts.get("tool") == "list_orders"}
        assert callers == {"ann"}, "the call is made in the person's name"
        assert "oauth.granted" in {one.facts.get("event") for one in entries}


async def test_a_declined_request_gives_no_token(tmp_path: Path) -> None:
    async with shop(tmp_path) as (url, app), signed_in(url, app.store, id="ann") as browser:
        person = Person(browser, "deny")
        with pytest.raises(Exception, match=r"OAuth|code|unhandled|denied"):
            async with connected(url, person) as client:
                await client.list_tools()
        assert person.answer["error"] == "access_denied"


async def test_access_ends_at_once_when_the_person_withdraws_it(tmp_path: Path) -> None:
    async with shop(tmp_path) as (url, app), signed_in(url, app.store, id="ann") as browser:
        storage = Memory()
        async with connected(url, Person(browser), storage) as client:
            await client.list_tools()
        assert storage.token is not None
        bearer = f"Bearer {storage.token.access_token}"
        assert (await post(url, rpc("tools/list"), authorization=bearer)).status_code == 200
        page = (await browser.get("/console/applications")).text
        grant = re.search(r"/console/applications/(\w+)/end", page)
        assert grant is not None
        async with signed_in(url, app.store, id="eve") as eve:
            assert (await eve.send(f"/console/applications/{grant[1]}/end", {})).status_code == 404
        await browser.send(f"/console/applications/{grant[1]}/end", {})
        await asyncio.sleep(0.6)  # the time for which a token is cached
        assert (await post(url, rpc("tools/list"), authorization=bearer)).status_code == 401


async def exchange(url: str, form: dict[str, str]) -> httpx2.Response:
    async with httpx2.AsyncClient() as http:
        return await http.post(url.removesuffix("/mcp") + "/token", data=form)


async def test_a_refresh_token_works_once_and_its_second_use_ends_the_access(tmp_path: Path) -> None:
    async with shop(tmp_path) as (url, app), signed_in(url, app.store, id="ann") as browser:
        storage = Memory()
        async with connected(url, Person(browser), storage) as client:
            await client.list_tools()
        assert storage.token is not None and storage.client is not None
        form = {
            "grant_type": "refresh_token",
            "refresh_token": str(storage.token.refresh_token),
            "client_id": str(storage.client.client_id),
            "client_secret": str(storage.client.client_secret or ""),
        }
        renewed = await exchange(url, form)
        assert renewed.status_code == 200, renewed.text
        assert (await exchange(url, form)).json()["error"] == "invalid_grant"
        bearer = f"Bearer {renewed.json()['access_token']}"
        assert (await post(url, rpc("tools/list"), authorization=bearer)).status_code == 401


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"redirect_uri": "https://evil.example/"}, 400),
        ({"client_id": "unknown"}, 400),
        ({"client_id": "https://127.0.0.1/client"}, 400),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
    ],
)
async def test_a_wrong_request_gets_no_code(change: dict[str, str], status: Any, tmp_path: Path) -> None:
    async with shop(tmp_path) as (url, app), signed_in(url, app.store, id="ann") as browser:
        made = await register(url, BACK)
        query = {
            "client_id": made.json()["client_id"],
            "redirect_uri": BACK,
            "response_type": "code",
            "code_challenge": "x" * 43,
            "code_challenge_method": "S256",
            "state": "s",
            **change,
        }
        answer = await browser.get(f"/console/authorize?{httpx2.QueryParams(query)}")
        if isinstance(status, int):
            assert answer.status_code == status
        else:
            assert f"error={status}" in answer.text
            assert "http-equiv" not in answer.text, "a link to the console sends nobody to another site by itself"
        assert "code=" not in answer.text.replace("code_challenge", "")


async def register(url: str, redirect: str) -> httpx2.Response:
    metadata = {"redirect_uris": [redirect], "token_endpoint_auth_method": "none", "client_name": "x"}
    async with httpx2.AsyncClient() as http:
        return await http.post(url.removesuffix("/mcp") + "/register", json=metadata)


async def test_a_flood_of_registrations_keeps_nobody_out_and_pushes_nobody_out(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, **EMBEDDED) as (url, app, _):
        now = [time.time()]
        known = OAuthClients(app.store, lambda: now[0], app.ports.keyed_hash)
        old = OAuthClientInformationFull(client_id="of-0.2.0", redirect_uris=[BACK])  # type: ignore[list-item]
        await known.keep_used(old)
        waiting = (await register(url, BACK)).json()["client_id"]
        for number in range(2000):
            known.register(OAuthClientInformationFull(client_id=str(number), redirect_uris=[BACK]))  # type: ignore[list-item]
        assert (await register(url, BACK)).status_code == 201
        found = await known.find(waiting)
        assert found is not None and [str(uri) for uri in found.redirect_uris or ()] == [BACK]
        assert await known.find("of-0.2.0") is not None, "a person has allowed it"
        assert len(await app.store.documents("oauth_client", now[0])) == 1, "a registration leaves nothing behind"
        now[0] += clients.UNUSED_LASTS + 1
        assert await known.find(waiting) is None
        await known.keep_used(found)
        assert await known.find(waiting) is not None


async def test_an_id_is_ours_or_nobodys(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, **EMBEDDED) as (url, app, _):
        known = OAuthClients(app.store, time.time, app.ports.keyed_hash)
        mine = (await register(url, BACK)).json()["client_id"]
        other = OAuthClients(app.store, time.time, lambda text: "0" * 64)
        evil = OAuthClientInformationFull(client_id="x", redirect_uris=["https://evil.example/"])  # type: ignore[list-item]
        other.register(evil)
        swapped = str(evil.client_id).partition(".")[0] + "." + mine.partition(".")[2]
        for forged in (
            str(evil.client_id),
            swapped,
            mine[:-1],
            mine + "0",
            clients.PREFIX,
            clients.PREFIX + ".",
            mine * 9,
        ):
            assert await known.find(forged) is None
        secret = OAuthClientInformationFull(
            client_id="x",
            client_secret="asked for",
            redirect_uris=[BACK],
            token_endpoint_auth_method="client_secret_post",
        )  # type: ignore[list-item]
        known.register(secret)
        found = await known.find(str(secret.client_id))
        assert found is not None and found.client_secret == secret.client_secret != "asked for"
        many = [f"https://a.example/{token}" for token in map(str, range(3000))]
        with pytest.raises(RegistrationError):
            known.register(OAuthClientInformationFull(client_id="x", redirect_uris=many))  # type: ignore[arg-type]


async def test_only_sound_redirect_addresses_are_registered_and_bodies_are_bounded(tmp_path: Path) -> None:
    async with shop(tmp_path) as (url, _):
        for redirect in ("http://evil.example/", "javascript:alert(1)", "data:text/html,x"):
            assert (await register(url, redirect)).status_code == 400, redirect
        for redirect in ("https://claude.ai/callback", "http://localhost:1/x", "cursor://anysphere/cb"):
            assert (await register(url, redirect)).status_code == 201, redirect
        async with httpx2.AsyncClient() as http:
            try:
                large = await http.post(url.removesuffix("/mcp") + "/register", content=b"x" * 1_000_000)
                assert large.status_code >= 400
            except httpx2.HTTPError:
                pass


async def test_a_cross_site_form_or_a_missing_token_gives_nothing(tmp_path: Path) -> None:
    async with shop(tmp_path) as (url, app), signed_in(url, app.store, id="ann") as browser:
        made = await register(url, BACK)
        form = {
            "client_id": made.json()["client_id"], "redirect_uri": BACK, "response_type": "code",
            "code_challenge": "x" * 43, "code_challenge_method": "S256", "decision": "allow",
        }  # fmt: skip
        assert (await browser.post("/console/authorize", form)).status_code == 403
        own = {**form, "csrf": await browser.token()}
        crossed = await browser.post("/console/authorize", own, **{"sec-fetch-site": "cross-site"})
        assert crossed.status_code == 403


async def test_the_metadata_names_this_gateway_and_jwt_excludes_it(tmp_path: Path) -> None:
    async with shop(tmp_path) as (url, _), httpx2.AsyncClient() as http:
        base = url.removesuffix("/mcp")
        resource = (await http.get(f"{base}/.well-known/oauth-protected-resource")).json()
        assert resource["authorization_servers"] == [base]
        server = (await http.get(f"{base}/.well-known/oauth-authorization-server")).json()
        assert server["issuer"] == base
        assert server["client_id_metadata_document_supported"] is True
        refused = await http.post(url, json=rpc("tools/list"))
        assert refused.status_code == 401
        assert "resource_metadata" in refused.headers["www-authenticate"]


def test_an_age_of_the_sign_in_that_is_no_number_is_left_out() -> None:
    client = OAuthClientInformationFull(client_id="c", redirect_uris=[AnyUrl("http://127.0.0.1/back")])
    query = {"response_type": "code", "code_challenge": "x", "code_challenge_method": "S256", "max_age": "²"}
    asked = clients.read_request(query, client, "https://gate.example/mcp", [], frozenset())
    assert asked.max_age is None
