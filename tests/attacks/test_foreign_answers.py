"""Answers that belong to something else: an upstream's error under a foreign id, a request with two hosts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from assent.mcp.jsonrpc import RpcError
from assent.upstreams.errors import ProtocolViolation
from assent.upstreams.http.address import UpstreamAddress
from assent.upstreams.http.circuit_breaker import CircuitBreaker
from assent.upstreams.http.client import HttpUpstream
from assent.upstreams.http.pool import Limits, Pool
from assent.upstreams.http.sessions import SessionContext
from support.gateway.gateways import shop_gateway
from support.servers.scripted_server import Conversation, ScriptedServer

ERROR = {"code": -32602, "message": "nothing ran"}


@asynccontextmanager
async def answering(answer: dict[str, Any], *, stream: bool) -> AsyncIterator[HttpUpstream]:
    async def script(conversation: Conversation) -> None:
        while True:
            await conversation.read_request()
            body = orjson.dumps({"jsonrpc": "2.0", **answer})
            if not stream:
                await conversation.answer(body)
                continue
            event = b"data: %b\n\n" % body
            kind = b"content-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(event)
            await conversation.write(b"HTTP/1.1 200 OK\r\n" + kind + event)

    async with ScriptedServer(script) as server:
        pool = Pool("shop", UpstreamAddress.of(server.url), Limits(), CircuitBreaker("shop", lambda: 0.0, threshold=99))
        try:
            yield HttpUpstream(pool, {"name": "assent", "version": "0"}, first_id=7)
        finally:
            await pool.close()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("answer", [{"id": 8, "error": ERROR}, {"id": "7", "error": ERROR}, {"id": 8, "result": {}}])
async def test_an_answer_under_a_foreign_id_is_no_answer(answer: dict[str, Any], stream: bool) -> None:
    async with answering(answer, stream=stream) as upstream:
        with pytest.raises(ProtocolViolation, match="does not belong to the request"):
            await upstream.request("tools/call", {"name": "pay"}, SessionContext("2026-07-28"))


@pytest.mark.parametrize("answered", [7, None, "server-error"])
async def test_an_error_under_its_own_id_or_none_is_the_answer(answered: Any) -> None:
    async with answering({"id": answered, "error": ERROR}, stream=False) as upstream:
        with pytest.raises(RpcError, match="nothing ran"):
            await upstream.request("tools/call", {"name": "pay"}, SessionContext("2026-07-28"))


async def status_of(url: str, path: str, headers: list[tuple[str, str]]) -> int:
    """The status of a GET with exactly these headers, which no ordinary client would send."""
    host, port = url.split("/")[2].split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "connection: close", "", ""]
    try:
        writer.write("\r\n".join(lines).encode())
        return int((await reader.readline()).split()[1])
    finally:
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("path", ["/mcp", "/api/openapi.json", "/console/approvals/ap_0123456789"])
@pytest.mark.parametrize("foreign_first", [False, True])
async def test_a_second_host_or_origin_is_never_overlooked(path: str, foreign_first: bool, tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, _, _shop):
        own = url.split("/")[2]
        hosts, origins = [own, "evil.example"], [f"http://{own}", "http://evil.example"]
        if foreign_first:
            hosts.reverse()
            origins.reverse()
        assert await status_of(url, path, [("host", host) for host in hosts]) in (400, 421)
        origin = [("host", own), *(("origin", origin) for origin in origins)]
        assert await status_of(url, path, origin) == 403
