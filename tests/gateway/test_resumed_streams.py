"""A client that lost a stream is told to come back soon, each time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx2
import pytest

from support.conformance import upstream
from support.gateway.gateways import HEADERS, gateway, rpc
from support.servers.loopback_server import serving

VERSION = "2025-11-25"
CALL = rpc("tools/call", name="test_reconnection", arguments={})


async def lines(client: httpx2.AsyncClient, method: str, url: str, **more: object) -> list[str]:
    """What a stream says until it ends or answers."""
    found: list[str] = []
    async with client.stream(method, url, **more) as stream:  # type: ignore[arg-type]
        async for line in stream.aiter_lines():
            found.append(line)
            if '"result"' in line:
                break
    return found


async def session(client: httpx2.AsyncClient, url: str) -> dict[str, str]:
    hello = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    answer = await client.post(url, json=rpc("initialize", **hello), headers=HEADERS)
    headers = {**HEADERS, "mcp-session-id": answer.headers["mcp-session-id"], "mcp-protocol-version": VERSION}
    await client.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers)
    return headers


@pytest.mark.parametrize(("interval", "said"), [(100, "retry: 100"), (250, "retry: 250"), (None, "retry: 100")])
async def test_every_start_of_a_stream_says_when_to_come_back(interval: int | None, said: str, tmp_path: Path) -> None:
    app = upstream.server.streamable_http_app(event_store=upstream.Memory(), retry_interval=interval)
    async with serving(app) as url, httpx2.AsyncClient(timeout=30) as client:
        async with gateway(tmp_path, {"up": {"url": url}}, contracts=[], mode="observe") as (front, _):
            headers = await session(client, front)
            first = await lines(client, "POST", front, json=CALL, headers=headers)
            assert said in first and not any('"result"' in line for line in first)
            last = [line.removeprefix("id: ") for line in first if line.startswith("id: ")][-1]
            again = {**headers, "accept": "text/event-stream", "last-event-id": last}
            async with asyncio.timeout(10):
                second = await lines(client, "GET", front, headers=again)
            assert second[:3] == [f"id: {last}", "data: ", said] and '"resumed"' in second[-1]
