"""An upstream with thousands of tools that change all the time does not keep the gateway from answering."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from assent.config.load import parse_settings
from assent.gateway import monitor
from assent.gateway.app import GatewayApp, open_gateway
from assent.upstreams.link import UpstreamLink
from support.gateway.gateways import configuration
from support.servers.scripted_server import Conversation, ScriptedServer

TOOLS = 1_000


def definitions(version: int) -> list[dict[str, Any]]:
    schema = {"type": "object", "properties": {"id": {"type": "string"}, "limit": {"type": "integer"}}}
    text = f"Gets a thing, in version {version}, and returns it to the caller."
    return [{"name": f"get_thing_{number}", "description": text, "inputSchema": schema} for number in range(TOOLS)]


async def restless(conversation: Conversation) -> None:
    """Answers in the modern era, with other tools every time."""
    while True:
        _, body = await conversation.read_request()
        asked = orjson.loads(body)
        result: dict[str, Any] = {"resultType": "complete"}
        if asked["method"] == "server/discover":
            result |= {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0}
        elif asked["method"] == "tools/list":
            listed = sum(b'"tools/list"' in body for _, body in conversation.server.requests)
            result |= {"tools": definitions(listed), "ttlMs": 0}
        await conversation.answer(orjson.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}))


@asynccontextmanager
async def gateway_app(folder: Path) -> AsyncIterator[tuple[GatewayApp, ScriptedServer]]:
    async with ScriptedServer(restless) as server:
        opened = await open_gateway(parse_settings(configuration(folder, {"things": {"url": server.url}})))
        try:
            yield opened, server
        finally:
            await opened.stop()


async def test_everything_else_has_a_turn_while_a_thousand_tools_are_taken_in(tmp_path: Path) -> None:
    async with gateway_app(tmp_path) as (opened, _):
        refresh = asyncio.create_task(opened.reload("things"))
        turns = 0
        while not refresh.done():
            turns += 1
            await asyncio.sleep(0)
        assert await refresh > 0
        assert len(opened.current.catalogue.tools) == TOOLS
        assert turns > TOOLS / 20


async def test_an_upstream_that_always_says_its_tools_changed_is_asked_after_a_pause() -> None:
    asked, rests, resting = list[str](), list[float](), asyncio.Event()

    async def refresh(name: str, announced: bool) -> float:
        asked.append(name)
        watcher.refresh_now(name)  # it changed again while we looked
        return 2.0

    async def rest(seconds: float) -> None:
        rests.append(seconds)
        resting.set()
        await asyncio.Event().wait()

    watcher = monitor.UpstreamMonitor(refresh, lambda name: False, lambda message, upstream: None, rest)
    watcher.begin("things", UpstreamLink("things"))
    watcher.refresh_now("things")
    await asyncio.wait_for(resting.wait(), 10)
    assert (asked, rests) == (["things"], [20.0])
    await watcher.end()


@pytest.mark.parametrize(("busy", "pause"), [(0.0, 1.0), (0.01, 1.0), (0.5, 5.0), (60.0, 30.0)])
def test_the_longer_a_refresh_kept_us_busy_the_longer_the_pause(busy: float, pause: float) -> None:
    assert monitor.pause(busy) == pause
