"""During the start nobody is told that a tool does not exist."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from assent.config.load import parse_settings
from assent.gateway import start_gate
from assent.gateway.app import GatewayApp, open_gateway
from assent.gateway.status_pages import StatusPages
from support.clients.transports import over_http
from support.gateway.gateways import ANYBODY, Shop, configuration, post, rpc
from support.servers.loopback_server import serving

LIST, CALL = rpc("tools/list"), rpc("tools/call", name="slow_list_orders", arguments={})


class SlowDoor:
    """An upstream that answers nothing until it is let go."""

    def __init__(self, url: str) -> None:
        self.url, self.asked, self.go = url, asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        body = await request.body()
        self.asked.set()
        await self.go.wait()
        passed = {name: value for name, value in request.headers.items() if name not in ("host", "content-length")}
        answer = await post(self.url, body, **passed)
        kind = answer.headers.get("content-type", "application/json")
        await Response(answer.content, answer.status_code, media_type=kind)(scope, receive, send)


@asynccontextmanager
async def starting(folder: Path) -> AsyncIterator[tuple[str, GatewayApp, SlowDoor, asyncio.Task[None]]]:
    """A gateway that listens while one of its two upstreams has not answered."""
    async with over_http(Shop().server) as ready, over_http(Shop().server) as slow:
        door = SlowDoor(slow)
        async with serving(door) as address:
            upstreams = {"shop": {"url": ready}, "slow": {"url": address}}
            app = await open_gateway(parse_settings(configuration(folder, upstreams, auth=ANYBODY, contracts=[])))
            async with serving(app.app(StatusPages(app))) as url:
                start = asyncio.create_task(app.start())
                await door.asked.wait()
                yield url, app, door, start
                door.go.set()
                await asyncio.gather(start, return_exceptions=True)
            await app.stop()


async def test_requests_wait_until_every_upstream_has_answered(tmp_path: Path) -> None:
    async with starting(tmp_path) as (url, app, door, start):
        waiting = [asyncio.create_task(post(url, body)) for body in (LIST, CALL)]
        assert (await post(url.replace("/mcp", "/healthz"), {})).status_code < 500
        assert not app.gate.is_open and not any(one.done() for one in waiting)
        door.go.set()
        listed, called = [one.json() for one in await asyncio.gather(*waiting)]
        names = {tool["name"] for tool in listed["result"]["tools"]}
        assert {"shop_list_orders", "slow_list_orders"} <= names
        assert not called["result"].get("isError")
        await start


async def test_a_start_that_takes_longer_is_said_and_may_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start_gate, "PATIENCE", 0.05)
    async with starting(tmp_path) as (url, _, door, start):
        for body in (LIST, CALL, rpc("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={})):
            answer = await post(url, body)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
            assert answer.json()["code"] == "discover.not_ready" and answer.json()["retryable"] is True
        door.go.set()
        await start
        assert (await post(url, LIST)).status_code == 200


async def test_a_stranger_does_not_wait(tmp_path: Path) -> None:
    async with starting(tmp_path) as (url, _, _, _):
        assert (await post(url, LIST, authorization="Bearer wrong")).status_code == 401


async def test_a_start_that_ends_answers_what_waits(tmp_path: Path) -> None:
    async with starting(tmp_path) as (url, app, _, start):
        waiting = asyncio.create_task(post(url, LIST))
        while not app.gate._over._waiters:  # noqa: ASYNC110 (there is no event for it)
            await asyncio.sleep(0)
        start.cancel()
        await app.close_streams()
        assert (await waiting).status_code == 503
