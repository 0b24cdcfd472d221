"""Ways round the sentence, tried through the whole gateway before an upstream that does whatever it is told."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from support.gateway.gateways import gateway, post, rpc
from support.servers.scripted_server import Conversation, ScriptedServer

TOOLS = [{"name": "delete_all", "description": "Deletes all.", "inputSchema": {"type": "object"}}]
HELLO = rpc("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "x", "version": "1"})
RESULTS: dict[str, dict[str, Any]] = {
    "tools/list": {"tools": TOOLS},
    "prompts/list": {"prompts": []},
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"prompts": {}},
        "serverInfo": {"name": "n", "version": "1"},
    },
}


async def obedient(conversation: Conversation) -> None:
    """Answers every message that names a method, whether it has an id or not; its one stream has one event."""
    while True:
        head, body = await conversation.read_request()
        if head.startswith(b"GET"):
            event = b"id: e-7\ndata: {}\n\n"
            kind = b"content-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(event)
            await conversation.write(b"HTTP/1.1 200 OK\r\n" + kind + event)
            continue
        message = json.loads(body or b"{}")
        session = b"mcp-session-id: s%d-\r\n" % len(conversation.server.requests)
        fields = session if message.get("method") == "initialize" else b""
        said: dict[str, Any] = {"result": RESULTS.get(message.get("method"), {})}
        if message.get("method") in (None, "server/discover"):
            said = {"error": {"code": -32601, "message": "no such method"}}
        answer = {"jsonrpc": "2.0", "id": message.get("id"), **said}
        await conversation.answer(json.dumps(answer).encode(), fields=fields)


@asynccontextmanager
async def before_an_obedient_one(folder: Path, **more: Any) -> AsyncIterator[tuple[str, ScriptedServer]]:
    async with (
        ScriptedServer(obedient) as upstream,
        gateway(folder, {"odd": {"url": upstream.url}}, **more) as (url, _),
    ):
        yield url, upstream


def heads_of(upstream: ScriptedServer, method: str) -> list[bytes]:
    return [head for head, body in upstream.requests if body and json.loads(body).get("method") == method]


@pytest.mark.parametrize("no_id", [{}, {"id": None}, {"id": None, "result": {}}, {"id": 1.5}], ids=repr)
@pytest.mark.parametrize("in_session", [False, True])
async def test_a_call_without_an_id_never_reaches_an_upstream(
    no_id: dict[str, Any], in_session: bool, tmp_path: Path
) -> None:
    call = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "delete_all", "arguments": {}}}
    async with before_an_obedient_one(tmp_path) as (url, upstream):
        session = {"mcp-session-id": (await post(url, HELLO)).headers["mcp-session-id"]} if in_session else {}
        answer = await post(url, call | no_id, **session)
        assert answer.status_code in (202, 400)
        assert heads_of(upstream, "tools/call") == []


async def test_a_modern_request_brings_no_session_to_the_upstream(tmp_path: Path) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": "prompts/list", "last-event-id": "7"}
    async with before_an_obedient_one(tmp_path) as (url, upstream):
        await post(url, rpc("prompts/list", _meta=meta), **headers, **{"mcp-session-id": "of-another-caller"})
        heads = heads_of(upstream, "prompts/list")
    assert heads and not any(b"of-another-caller" in head or b"last-event-id" in head for head in heads)


async def test_a_handshake_request_brings_no_routing_headers_that_nobody_compared_with_its_body(tmp_path: Path) -> None:
    lies = {"mcp-method": "tools/call", "mcp-name": "delete_all", "mcp-param-all": "yes"}
    async with before_an_obedient_one(tmp_path) as (url, upstream):
        session = (await post(url, HELLO)).headers["mcp-session-id"]
        await post(url, rpc("prompts/list"), **lies, **{"mcp-session-id": session})
        heads = heads_of(upstream, "prompts/list")
    assert heads and not any(name.encode() in head for name in lies for head in heads)


async def test_the_id_of_an_event_never_reaches_the_upstream(tmp_path: Path) -> None:
    async with before_an_obedient_one(tmp_path) as (url, upstream):
        session = {"mcp-session-id": (await post(url, HELLO)).headers["mcp-session-id"], "accept": "text/event-stream"}
        async with (
            httpx2.AsyncClient(trust_env=False, timeout=60) as client,
            client.stream("GET", url, headers={**session, "last-event-id": "e-7"}) as stream,
        ):
            assert stream.status_code == 200
            await anext(stream.aiter_lines())
        assert not any(b"last-event-id" in head for head, _ in upstream.requests), "it may be another session's"


async def test_our_requests_never_bear_the_id_of_one_that_the_client_has_under_way(tmp_path: Path) -> None:
    async with before_an_obedient_one(tmp_path) as (url, upstream):
        session = (await post(url, HELLO)).headers["mcp-session-id"]
        await post(url, rpc("prompts/list"), **{"mcp-session-id": session})
        ids = [message["id"] for _, body in upstream.requests if body and "id" in (message := json.loads(body))]
    assert len(set(ids)) == len(ids)
    assert ids and not [one for one in ids if one < 2**30], "only the client counts from one"
