"""Servers that begin anew and know nothing of a session, and answers that are none."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from mcp import Client

from assent import GovernedClient
from support.clients.person import Naps, Somebody
from support.servers.scripted_server import Conversation, ScriptedServer

PLACE = {
    "name": "place",
    "inputSchema": {"type": "object", "properties": {"idempotency_key": {}}},
    "_meta": {"x-side-effect": "external_spend"},
}
REMOVE = {"name": "remove", "inputSchema": {"type": "object"}, "_meta": {"x-side-effect": "destructive"}}
SERVER = {"name": "forgetful", "version": "1"}
FORGOTTEN = {"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32600, "message": "Session not found"}}
HALF_DONE = {**FORGOTTEN, "error": {"code": -32600, "message": "Session terminated before the request completed"}}

First = Callable[[Conversation], Awaitable[None]]


def answering(body: Any, status: bytes) -> First:
    async def answer(conversation: Conversation) -> None:
        await conversation.answer(json.dumps(body).encode() if body else b"", status=status)

    return answer


async def page_of_a_proxy(conversation: Conversation) -> None:
    await conversation.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 4\r\n\r\nwait")


class Forgetful:
    """Speaks the handshake era over HTTP; the first call is answered by `first`, all others well."""

    def __init__(self, first: First) -> None:
        self._first = first
        self.sessions = 0
        self.calls: list[dict[str, Any]] = []

    async def __call__(self, conversation: Conversation) -> None:
        while True:
            head, body = await conversation.read_request()
            if not head.startswith(b"POST"):
                await conversation.answer(b"", status=b"405 Method Not Allowed")
                continue
            await self._answer(conversation, json.loads(body))

    async def _answer(self, conversation: Conversation, message: dict[str, Any]) -> None:
        method, result, fields = message["method"], {}, b""
        if method == "initialize":
            self.sessions += 1
            fields = b"mcp-session-id: s%d\r\n" % self.sessions
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": SERVER}
        elif "id" not in message:
            return await conversation.answer(b"", status=b"202 Accepted")
        elif method == "tools/list":
            result = {"tools": [PLACE, REMOVE]}
        else:
            self.calls.append(message["params"].get("arguments", {}))
            if len(self.calls) == 1:
                return await self._first(conversation)
            result = {"content": [{"type": "text", "text": "done"}]}
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        await conversation.answer(json.dumps(reply).encode(), fields=fields)


def governed(url: str) -> GovernedClient:
    def connect(**callbacks: Any) -> Client:
        return Client(url, mode="legacy", **callbacks)

    return GovernedClient(connect=connect, trusted=True, asker=Somebody(True, True), sleep=Naps())


@pytest.mark.parametrize("said", [None, FORGOTTEN], ids=["without words", "in words"])
@pytest.mark.parametrize("tool", ["place", "remove"])
async def test_a_session_the_server_forgot_is_begun_anew_and_the_call_made(tool: str, said: Any) -> None:
    server = Forgetful(answering(said, b"404 Not Found"))
    async with ScriptedServer(server) as at, governed(at.url) as client:
        assert not (await client.call_tool(tool)).is_error
    assert (server.sessions, len(server.calls)) == (2, 2)
    assert server.calls[0] == server.calls[1]


@pytest.mark.parametrize("first", [page_of_a_proxy, answering(HALF_DONE, b"404 Not Found")], ids=["page", "half done"])
@pytest.mark.parametrize(("tool", "calls", "failed"), [("place", 2, False), ("remove", 1, True)])
async def test_an_answer_that_is_none_leaves_the_key_and_the_doubt(
    first: First, tool: str, calls: int, failed: bool
) -> None:
    server = Forgetful(first)
    async with ScriptedServer(server) as at, governed(at.url) as client:
        ended = await client.call_tool(tool)
    assert (bool(ended.is_error), len(server.calls)) == (failed, calls)
    assert server.calls[0] == server.calls[-1]
    if failed:
        assert ended.structured_content["code"] == "execute.in_doubt"
