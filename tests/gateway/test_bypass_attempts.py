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
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "n", "version": "1"}},
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
        (head,) = heads_of(upstream, "prompts/list")
    assert b"mcp-method: prompts/list" in head
    assert b"of-another-caller" not in head and b"last-event-id" not in head


async def test_a_handshake_request_brings_no_routing_headers_that_nobody_compared_with_its_body(tmp_path: Path) -> None:
    lies = {"mcp-method": "tools/call", "mcp-name": "delete_all", "mcp-param-all": "yes"}
    async with before_an_obedient_one(tmp_path) as (url, upstream):
        await post(url, rpc("prompts/list"), **lies)
        (head,) = heads_of(upstream, "prompts/list")
    assert not any(name.encode() in head for name in lies)


async def test_a_session_resumes_only_the_events_that_it_was_told(tmp_path: Path) -> None:
    async with before_an_obedient_one(tmp_path) as (url, upstream):
        session = {"mcp-session-id": (await post(url, HELLO)).headers["mcp-session-id"], "accept": "text/event-stream"}

        async def resumed(**headers: str) -> bytes:
            before = len(upstream.requests)
            async with httpx2.AsyncClient(trust_env=False, timeout=60) as client:
                assert (await client.get(url, headers={**session, **headers})).status_code == 200
            (head,) = [head for head, _ in upstream.requests[before:] if session["mcp-session-id"].encode() in head]
            return head

        assert b"last-event-id" not in await resumed(**{"last-event-id": "e-7"}), "it may be another session's"
        assert b"last-event-id: e-7\r\n" in await resumed(**{"last-event-id": "e-7"})


async def test_our_requests_never_bear_the_id_of_one_that_the_client_has_under_way(tmp_path: Path) -> None:
    async with before_an_obedient_one(tmp_path) as (url, upstream):
        await post(url, rpc("prompts/list"))
        ids = [message["id"] for _, body in upstream.requests if body and "id" in (message := json.loads(body))]
    assert len(set(ids)) == len(ids)
    assert [one for one in ids if one < 2**30] == [1], "only the client counts from one"
