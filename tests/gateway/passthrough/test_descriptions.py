"""What a client gets when an upstream describes itself in odd ways: a clean description, or no description."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from support.gateway.gateways import HEADERS, gateway, rpc
from support.servers.scripted_server import Conversation, ScriptedServer

SAID = '{"jsonrpc":"2.0","id":1,"result":{"prompts":[{"name":"a","description":"A\u200b"}]}}'.encode()
CLEAN = SAID.replace("\u200b".encode(), b"")
BOM = b"\xef\xbb\xbf"
EVENTS, JSON = b"content-type: text/event-stream\r\n", b"content-type: application/json\r\n"


@asynccontextmanager
async def before_an_odd_one(folder: Path, raw: bytes) -> AsyncIterator[httpx2.AsyncClient]:
    """A gateway whose one upstream answers `prompts/list` with these bytes and closes the connection."""

    async def script(conversation: Conversation) -> None:
        while True:
            _, body = await conversation.read_request()
            message = json.loads(body) if body else {}
            results: dict[str, Any] = {
                "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}, "prompts": {}}},
                "tools/list": {"tools": []},
            }
            if message.get("method") == "prompts/list":
                return await conversation.write(raw)
            result = results.get(str(message.get("method")), {})
            await conversation.answer(
                json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": result}).encode()
            )

    async with (
        ScriptedServer(script) as server,
        gateway(folder, {"odd": {"url": server.url}}, contracts=[]) as (url, _),
        httpx2.AsyncClient(base_url=url, timeout=60, headers=HEADERS) as client,
    ):
        yield client


async def listed(folder: Path, fields: bytes, body: bytes, status: bytes = b"200 OK") -> httpx2.Response:
    async with before_an_odd_one(
        folder, b"HTTP/1.1 " + status + b"\r\n" + fields + b"connection: close\r\n\r\n" + body
    ) as client:
        hello = rpc(
            "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "x", "version": "1"}
        )
        session = (await client.post("", json=hello)).headers["mcp-session-id"]
        return await client.post("", json=rpc("prompts/list"), headers={"mcp-session-id": session})


@pytest.mark.parametrize(
    ("fields", "body"),
    [
        (EVENTS, b"event: other\nevent: message\ndata: " + SAID + b"\n\n"),
        (EVENTS, b"event: other\nevent\ndata: " + SAID + b"\n\n"),
        (EVENTS, BOM * 3 + b"data: " + SAID + b"\n\n"),
        (EVENTS, b": hi\xe2\x80\xa8data: " + SAID + b"\n\ndata: " + CLEAN + b"\n\n"),
        (EVENTS, b"event: x\ndata: \x0cevent: message\x0cdata: " + SAID + b"\n\ndata: " + CLEAN + b"\n\n"),
        (b"content-type: text/plain; text/event-stream\r\n", b"data: " + SAID + b"\n\n"),
        (b"content-type: text/plain\r\ncontent-type: text/event-stream\r\n", b"data: " + SAID + b"\n\n"),
        (b"content-type: text/plain, application/json\r\n", b"[" + SAID + b"]"),
        (EVENTS, b"data: " + SAID + b"\n\r\ndata: " + SAID),
        (EVENTS, b"data: {'no': json}\n\n"),
        (EVENTS, b"data: " + SAID[:-3]),
        (JSON, SAID.replace(b"1", b"NaN")),
        (JSON, b"[" + SAID + b"]"),
        (JSON + b"content-length: 9999\r\n", SAID),
        (EVENTS + b"transfer-encoding: chunked\r\n", b"4\r\n: hi\r\n"),
        (b"content-type: application/json; text/event-stream\r\n", SAID),
        (JSON, b'{"jsonrpc":"2.0","id":1,"result":{"_meta":' + b'{"a":' * 900 + b'"\xe2\x80\x8b"' + b"}" * 902),
    ],
)
async def test_no_way_of_writing_brings_hidden_characters_to_the_client(
    fields: bytes, body: bytes, tmp_path: Path
) -> None:
    answer = await listed(tmp_path, fields, body)
    assert answer.status_code == 200 and answer.json()["id"] == 1
    assert answer.json()["result"]["prompts"] in ([], [{"name": "a", "description": "A"}])
