"""Clients that send nonsense to the governed gateway: a clear error, bounded memory, and nobody else disturbed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from assent.gateway.app import GatewayApp
from support.clients.transports import over_http
from support.gateway.gateways import HEADERS, Shop, gateway, post, rpc

VERSION = "io.modelcontextprotocol/protocolVersion"
META = {VERSION: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
CLIENT = {"capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
MODERN = {**HEADERS, "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "list_orders"}


@pytest.fixture(params=["one upstream", "several"])
def several(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "several")


@asynccontextmanager
async def shops(folder: Path, several: bool, **more: Any) -> AsyncIterator[tuple[str, GatewayApp]]:
    async with over_http(Shop().server) as shop:
        upstreams: dict[str, Any] = {"shop": {"url": shop, "prefix": ""}}
        if several:
            upstreams["dead"] = {"url": "http://127.0.0.1:9/mcp"}
        async with gateway(folder, upstreams, **more) as (url, gateway_app):
            yield url, gateway_app


def call(name: str = "list_orders", **meta: Any) -> dict[str, Any]:
    body = rpc("tools/call", name=name, arguments={"limit": 1})
    body["params"]["_meta"] = {**META, **meta}
    return body


async def is_served(url: str) -> bool:
    answer = await post(url, rpc("tools/call", name="list_orders", arguments={"limit": 1}))
    return bool(answer.json()["result"]["structuredContent"] == {"result": ["o-0"]})


BROKEN: dict[str, tuple[bytes, int, int]] = {
    "nothing": (b"", 400, -32700),
    "broken JSON": (b'{"jsonrpc":', 400, -32700),
    "no UTF-8": (b'{"a":"\xff"}', 400, -32700),
    "a duplicate key": (b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}', 400, -32700),
    "a duplicate argument": (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_orders","arguments":{"a":1,"a":2}}}',
        400,
        -32700,
    ),
    "a batch": (json.dumps([rpc("tools/list"), rpc("tools/list")]).encode(), 400, -32602),
    "an empty batch": (b"[]", 400, -32602),
    "a number": (b"7", 400, -32602),
    "an id that is none": (b'{"jsonrpc":"2.0","id":[1],"method":"tools/list"}', 400, -32602),
    "deep nesting": (b'{"a":' * 100_000, 400, -32700),
}


@pytest.mark.parametrize("title", BROKEN)
async def test_a_broken_body_is_told_so_and_the_next_call_is_served(title: str, several: bool, tmp_path: Path) -> None:
    body, status, code = BROKEN[title]
    async with shops(tmp_path, several) as (url, _):
        answer = await post(url, body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
        modern = await post(url, body, **MODERN)
        assert modern.status_code == 400
        assert "error" in modern.json()
        assert await is_served(url)


@pytest.mark.parametrize("given", [5, "text", ["a"], True])
async def test_answers_that_are_none_are_passed_over_where_the_era_has_no_such_field(
    given: Any, tmp_path: Path
) -> None:
    async with shops(tmp_path, several=False) as (url, _):
        answer = await post(url, rpc("tools/call", name="list_orders", arguments={"limit": 1}, inputResponses=given))
        assert answer.json()["result"]["structuredContent"] == {"result": ["o-0"]}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"mcp-protocol-version": "2099-01-01"}, 400),
        ({"mcp-protocol-version": "nonsense"}, 400),
        ({"mcp-method": "tools/list"}, 400),
        ({"mcp-name": "other"}, 400),
        ({"content-type": "text/plain"}, 400),
        ({"accept": "text/html"}, 406),
    ],
)
async def test_wrong_headers_are_told_so(headers: dict[str, str], status: int, several: bool, tmp_path: Path) -> None:
    async with shops(tmp_path, several) as (url, _):
        answer = await post(url, call(), **{**MODERN, **headers})
        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/json"
        assert await is_served(url)


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", "1999-01-01", "", "x" * 1000])
async def test_an_unknown_version_in_the_handshake_gets_one_we_know(
    version: str, several: bool, tmp_path: Path
) -> None:
    async with shops(tmp_path, several) as (url, _):
        body = rpc("initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "x", "version": "1"})
        answer = await post(url, body)
        text = answer.text.rsplit("data: ", 1)[-1]
        agreed = json.loads(text)["result"]["protocolVersion"]
        assert agreed == (version if version in ("2024-11-05", "2025-06-18") else "2025-11-25")


@pytest.mark.parametrize("declared", [True, False])
async def test_fifty_megabytes_are_refused_without_being_held(declared: bool, several: bool, tmp_path: Path) -> None:
    sent = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(800):
            sent += 65536
            yield b" " * 65536

    async with shops(tmp_path, several) as (url, _), httpx2.AsyncClient(trust_env=False, timeout=60) as client:
        length = {"content-length": str(800 * 65536)} if declared else {}
        with suppress(httpx2.TransportError):  # the door may close while we are still sending
            assert (await client.post(url, content=body(), headers={**HEADERS, **length})).status_code == 413
        assert sent < 50_000_000
        assert await is_served(url)


async def test_thousands_of_sessions_are_bounded_and_calls_go_on(tmp_path: Path) -> None:
    async with shops(tmp_path, several=True) as (url, gateway_app):
        body = json.dumps(rpc("initialize", protocolVersion="2025-11-25", **CLIENT)).encode()
        limits = httpx2.Limits(max_connections=50)
        async with httpx2.AsyncClient(trust_env=False, limits=limits, timeout=60) as client:
            answers = await asyncio.gather(*(client.post(url, content=body, headers=HEADERS) for _ in range(2000)))
        statuses = [answer.status_code for answer in answers]
        assert statuses.count(200) == 1000
        assert statuses.count(503) == 1000
        assert len(gateway_app.runtime.sessions) == 1000
        assert await is_served(url)


async def test_two_hundred_broken_requests_do_not_disturb_two_hundred_good_ones(several: bool, tmp_path: Path) -> None:
    good = json.dumps(rpc("tools/call", name="list_orders", arguments={"limit": 1})).encode()
    async with shops(tmp_path, several) as (url, _):
        async with httpx2.AsyncClient(trust_env=False, timeout=60) as client:
            bodies = [body for _ in range(200) for body in (b'{"a":1,"a":2}', good)]
            answers = await asyncio.gather(*(client.post(url, content=body, headers=HEADERS) for body in bodies))
    assert {answer.status_code for answer in answers[0::2]} == {400}
    assert all(answer.json()["result"]["structuredContent"] == {"result": ["o-0"]} for answer in answers[1::2])


async def test_more_subscriptions_than_a_session_may_have_are_refused(tmp_path: Path) -> None:
    async with shops(tmp_path, several=True) as (url, gateway_app):
        body = rpc("initialize", protocolVersion="2025-11-25", **CLIENT)
        session = (await post(url, body)).headers["mcp-session-id"]
        (one,) = gateway_app.runtime.sessions
        one.subscriptions.update({f"x://{number}": "shop" for number in range(256)})
        answer = await post(url, rpc("resources/subscribe", uri="x://more"), **{"mcp-session-id": session})
        assert answer.json()["error"]["code"] == -32602
        assert "256" in answer.json()["error"]["message"]
