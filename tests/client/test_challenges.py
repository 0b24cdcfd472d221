"""A governed client in front of servers that challenge: 401 for another login, 403 for more scopes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import fastmcp
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from assent import GovernedClient
from assent.client import Challenged, govern_http
from assent.contract.yaml_document import write_yaml
from support.clients.person import Naps, Somebody
from support.clients.transports import ERAS
from support.gateway.gateways import Shop, shop_gateway
from support.identity.identity_provider import IdentityProvider, identity_provider
from support.servers.scripted_server import Conversation, ScriptedServer

CONTRACTS = {
    "list_orders": {"side_effect": "read"},
    "place_order": {
        "side_effect": "external_spend",
        "permissions": ["orders:write", "cards:charge"],
        "visibility": "locked",
        "confirmation": {"by": "host"},
        "idempotency": {"key": "auto"},
    },
    "delete_order": {
        "side_effect": "destructive",
        "confirmation": {"by": "host"},
        "step_up": {"max_age": "5m", "acr": ["mfa"]},
    },
}
CASES = [
    ("place_order", {"item": "scene"}, 403, "authorize.missing_permissions"),
    ("delete_order", {"order_id": "1"}, 401, "step_up.required"),
]
FACTS = {
    "place_order": {"required_permissions": ["orders:write", "cards:charge"]},
    "delete_order": {"acr_values": ["mfa"], "max_age": 300},
}


@asynccontextmanager
async def challenging(folder: Path) -> AsyncIterator[tuple[str, IdentityProvider, Shop]]:
    (folder / "scoped.yaml").write_text(write_yaml({"tools": CONTRACTS}))
    async with identity_provider() as provider:
        settings: dict[str, Any] = {
            "auth": {"jwt": {"issuer": provider.issuer, "audience": provider.audience}},
            "contracts": [str(folder / "scoped.yaml")],
        }
        async with shop_gateway(folder, **settings) as (url, _, shop):
            yield url, provider, shop


def bearer(token: str) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"})


def governed(connect: Any) -> GovernedClient:
    return GovernedClient(connect=connect, trusted=True, asker=Somebody(True, True), sleep=Naps())


@asynccontextmanager
async def official(url: str, token: str, era: str) -> AsyncIterator[GovernedClient]:
    """The official client with an HTTP client of the caller's own."""
    async with bearer(token) as http:

        def connect(**callbacks: Any) -> Client:
            return Client(streamable_http_client(url, http_client=http), mode=era, **callbacks)

        async with governed(connect) as client:
            yield client


@asynccontextmanager
async def own_transport(url: str, token: str, era: str) -> AsyncIterator[GovernedClient]:
    """The official client on a transport of the caller's own, in which we cannot see the HTTP client."""

    @asynccontextmanager
    async def transport() -> AsyncIterator[Any]:
        async with govern_http(bearer(token)) as http, streamable_http_client(url, http_client=http) as streams:
            yield streams

    async with governed(lambda **callbacks: Client(transport(), mode=era, **callbacks)) as client:
        yield client


@asynccontextmanager
async def of_fastmcp(url: str, token: str, era: str) -> AsyncIterator[GovernedClient]:
    inner: Any = fastmcp.Client(url, auth=token, mode=era)
    async with GovernedClient(inner, trusted=True, asker=Somebody(True, True), sleep=Naps()) as client:
        yield client


Make = Callable[[str, str, str], AbstractAsyncContextManager[GovernedClient]]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("make", [official, own_transport, of_fastmcp])
@pytest.mark.parametrize(("tool", "arguments", "status", "code"), CASES)
async def test_a_challenge_is_reported_as_what_it_is_after_one_attempt(
    tool: str,
    arguments: dict[str, str],
    status: int,
    code: str,
    make: Make,
    era: str,
    tmp_path: Path,
) -> None:
    async with challenging(tmp_path) as (url, provider, shop):
        async with make(url, provider.token(scope="orders:read"), era) as client:
            refused = await client.call_tool(tool, arguments)
            problem = refused.structured_content
            assert refused.is_error and problem is not None
            assert (problem["code"], problem["status"], problem["retryable"]) == (code, status, False)
            assert FACTS[tool].items() <= problem.items()
            assert problem["resource_metadata"].endswith("/.well-known/oauth-protected-resource")
            assert "othing was started" in problem["detail"]
            noted = [entry.what for entry in client.journal.of(tool)]
            assert "retried" not in noted and "failed" not in noted
            assert shop.effects == []
            assert not client._preparation.doubts


@pytest.mark.parametrize("make", [official, of_fastmcp])
async def test_credentials_that_are_not_accepted_are_named_when_the_client_connects(make: Make, tmp_path: Path) -> None:
    async with challenging(tmp_path) as (url, _, _):
        with pytest.raises(Challenged) as raised:
            async with make(url, "not-a-token", "legacy"):
                pass
        assert raised.value.code == "authenticate.invalid"
        assert raised.value.status == 401


async def test_an_address_without_credentials_is_told_that_they_are_missing(tmp_path: Path) -> None:
    async with challenging(tmp_path) as (url, _, _):
        with pytest.raises(Challenged) as raised:
            async with GovernedClient(url):
                pass
        assert raised.value.code == "authenticate.missing"


TOOL = {
    "name": "place",
    "inputSchema": {"type": "object", "properties": {"idempotency_key": {}}},
    "_meta": {"x-side-effect": "external_spend"},
}
Step = Callable[[Conversation], Awaitable[None]]


def saying(status: bytes, fields: bytes = b"", body: bytes = b"") -> Step:
    async def step(conversation: Conversation) -> None:
        await conversation.answer(body, status=status, fields=fields)

    return step


async def cut(conversation: Conversation) -> None:
    conversation.reset()


CHALLENGE = saying(b"403 Forbidden", b'www-authenticate: Bearer error="insufficient_scope", scope="a b"\r\n')


class Scripted:
    """Speaks the handshake era; each tool call gets the next step, and everything else is answered well."""

    def __init__(self, *steps: Step) -> None:
        self._steps, self.calls = list(steps), list[dict[str, Any]]()

    def client(self) -> tuple[ScriptedServer, Callable[[str], GovernedClient]]:
        def connect_to(url: str) -> GovernedClient:
            def connect(**callbacks: Any) -> AbstractAsyncContextManager[Any]:
                return Client(url, mode="legacy", **callbacks)

            return governed(connect)

        return ScriptedServer(self), connect_to

    async def __call__(self, conversation: Conversation) -> None:
        while True:
            head, body = await conversation.read_request()
            if not head.startswith(b"POST"):
                await conversation.answer(b"", status=b"405 Method Not Allowed")
                continue
            await self._answer(conversation, json.loads(body))

    async def _answer(self, conversation: Conversation, message: dict[str, Any]) -> None:
        result: dict[str, Any] = {"tools": [TOOL]}
        if message["method"] == "initialize":
            server = {"name": "scripted", "version": "1"}
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server}
        elif "id" not in message:
            return await conversation.answer(b"", status=b"202 Accepted")
        elif message["method"] == "tools/call":
            self.calls.append(message["params"]["arguments"])
            return await self._steps.pop(0)(conversation)
        await conversation.answer(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode())


async def test_a_challenge_after_an_attempt_of_unknown_end_leaves_the_doubt_and_the_key() -> None:
    scripted = Scripted(cut, CHALLENGE, CHALLENGE)
    server, connect = scripted.client()
    async with server as at, connect(at.url) as client:
        ended = await client.call_tool("place")
        assert ended.structured_content is not None
        assert ended.structured_content["code"] == "execute.in_doubt"
        await client.call_tool("place")
    assert len(scripted.calls) == 3
    assert len({call["idempotency_key"] for call in scripted.calls}) == 1


@pytest.mark.parametrize("status", [b"401 Unauthorized", b"403 Forbidden"])
async def test_a_refusal_by_http_without_a_challenge_starts_nothing_either(status: bytes) -> None:
    scripted = Scripted(saying(status, body=b'{"error": "no"}'))
    server, connect = scripted.client()
    async with server as at, connect(at.url) as client:
        ended = await client.call_tool("place")
    assert ended.structured_content is not None
    assert ended.structured_content["status"] == int(status[:3])
    assert "othing was started" in ended.structured_content["detail"]
    assert len(scripted.calls) == 1


async def test_what_a_challenge_says_is_bounded_and_holds_scopes_only() -> None:
    said = b'www-authenticate: Bearer error="insufficient_scope", scope="ok %b <b>\xe2\x80\xae", max_age=soon\r\n'
    scripted = Scripted(saying(b"403 Forbidden", said % (b"x" * 5_000)))
    server, connect = scripted.client()
    async with server as at, connect(at.url) as client:
        ended = await client.call_tool("place")
    assert ended.structured_content is not None
    assert ended.structured_content["required_permissions"] == ["ok"]
    assert "max_age" not in ended.structured_content


async def test_a_server_error_is_still_in_doubt() -> None:
    broken = saying(b"500 Internal Server Error")
    scripted = Scripted(broken, broken, broken)
    server, connect = scripted.client()
    async with server as at, connect(at.url) as client:
        ended = await client.call_tool("place")
    assert ended.structured_content is not None
    assert ended.structured_content["code"] == "execute.in_doubt"
    assert len(scripted.calls) == 3


async def test_listing_that_is_challenged_raises_the_challenge(tmp_path: Path) -> None:
    async with challenging(tmp_path) as (url, provider, _):
        async with bearer(provider.token(scope="orders:read")) as http:

            def connect(**callbacks: Any) -> Client:
                return Client(streamable_http_client(url, http_client=http), mode="legacy", **callbacks)

            async with governed(connect) as client:
                http.headers["Authorization"] = "Bearer expired"
                with pytest.raises(Challenged) as raised:
                    await client.list_tools()
                assert raised.value.code == "authenticate.invalid"
                http.headers["Authorization"] = f"Bearer {provider.token(scope='orders:read')}"
                assert await client.list_tools()
