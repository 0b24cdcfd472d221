"""The stand-in servers of the drill: real MCP servers on a loopback port, which keep a record of what reached them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import orjson

from assent.checks.drill.story import Story
from assent.mcp.protocol import LATEST_MODERN_VERSION, METHOD_NOT_FOUND
from assent.web.asgi import Receive, Scope, Send
from assent.web.http import read_body, respond
from assent.web.server import bind, make_server


class Reached(NamedTuple):
    """A call that reached a stand-in server."""

    server: str
    tool: str
    arguments: Mapping[str, Any]
    headers: Mapping[str, str]


class LostAnswerError(Exception):
    """The stand-in did what was asked and then dropped the connection."""


class Standins:
    """The servers of one story."""

    def __init__(self, story: Story) -> None:
        self.tools = story.definitions
        self.reached: list[Reached] = []
        self._servers = story.servers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        name = scope["path"].strip("/")
        request = orjson.loads(await read_body(scope["headers"], receive, _MOST_BODY))
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        try:
            reply = self._answer(name, request, headers)
        except LostAnswerError:
            await respond(send, 502, b"{}")
            return
        await respond(send, 200 if "result" in reply else 404, orjson.dumps(reply))

    def _answer(self, name: str, request: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request.get("id")}
        match request.get("method"):
            case "tools/call":
                return reply | {"result": self._call(name, request["params"], headers)}
            case "tools/list":
                return reply | {"result": _COMPLETE | {"tools": self.tools[name]}}
            case "server/discover":
                described = {"capabilities": {"tools": {}}, "serverInfo": {"name": name, "version": "1"}}
                return reply | {"result": _COMPLETE | described | {"supportedVersions": [LATEST_MODERN_VERSION]}}
        return reply | {"error": {"code": METHOD_NOT_FOUND, "message": "Method not found"}}

    def _call(self, name: str, params: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
        arguments = params.get("arguments") or {}
        self.reached.append(Reached(name, params["name"], arguments, headers))
        called = self._servers[name][params["name"]]
        if called.loses_answer:
            raise LostAnswerError
        text = called.answer * called.times
        return {"resultType": "complete", "content": [{"type": "text", "text": text}], "isError": False}


_MOST_BODY = 16 * 2**20
_COMPLETE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


@asynccontextmanager
async def serve(standins: Standins) -> AsyncIterator[str]:
    """Serve the stand-ins on a free loopback port; gives the address."""
    listener = bind("127.0.0.1", 0)
    server = make_server(standins, lifespan="off")
    serving = asyncio.create_task(server._serve(sockets=[listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await asyncio.gather(serving, return_exceptions=True)
