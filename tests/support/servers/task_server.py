"""A server with tasks of both eras: an ASGI application, and a process on standard streams when it is run."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import orjson

from assent.web.asgi import Receive, Scope, Send
from assent.web.http import respond

EXTENSION = "io.modelcontextprotocol/tasks"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
MODERN, OLD = "2026-07-28", "2025-11-25"
INFO = {"name": "tasks", "version": "1"}
OFFERED = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
TOOLS = [
    {"name": "get_report", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "optional", "x": 1}},
    {"name": "get_status", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "forbidden"}},
    {"name": "get_study", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}},
    {"name": "write_report", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "optional"}},
]
TASK = {"taskId": "t-1", "status": "working", "ttl": 60_000, "createdAt": "2026-01-01T00:00:00Z"}


class TaskServer:
    """Answers in both eras. `always` makes a task of every call, asked for or not."""

    def __init__(self, *, always: bool = False, streams: bool = False) -> None:
        self.always, self.streams = always, streams
        self.heard: list[dict[str, Any]] = []

    def methods(self) -> list[str]:
        return [message["method"] for message in self.heard]

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        self.heard.append(message)
        if "id" not in message:
            return None
        params = message.get("params") or {}
        modern = "io.modelcontextprotocol/protocolVersion" in params.get("_meta", {})
        serve: Callable[..., dict[str, Any]] | None = {
            "initialize": self._initialize,
            "server/discover": self._discover,
            "tools/list": lambda *_: {"tools": TOOLS},
            "tools/call": self._call,
        }.get(message["method"])
        if serve is None and not message["method"].startswith("tasks/"):
            return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "Method not found"}}
        result = {**TASK, "tasks": [TASK]} if serve is None else serve(params, modern)
        kind = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if modern else {}
        return {"jsonrpc": "2.0", "id": message["id"], "result": {**kind, **result}}

    def _initialize(self, params: dict[str, Any], modern: bool) -> dict[str, Any]:
        can = {"tools": {}, "tasks": OFFERED, "extensions": {EXTENSION: {}, "example.com/other": {}}}
        return {"protocolVersion": OLD, "capabilities": can, "serverInfo": INFO}

    def _discover(self, params: dict[str, Any], modern: bool) -> dict[str, Any]:
        can = {"tools": {}, "extensions": {EXTENSION: {}, "example.com/other": {}}}
        told = {"io.modelcontextprotocol/serverInfo": INFO}
        return {"supportedVersions": [MODERN], "capabilities": can, "_meta": told}

    def _call(self, params: dict[str, Any], modern: bool) -> dict[str, Any]:
        extensions = params.get("_meta", {}).get(CAPABILITIES, {}).get("extensions", {})
        if self.always or "task" in params or EXTENSION in extensions:
            return {"resultType": "task", **TASK} if modern else {"task": TASK}
        return {"content": [{"type": "text", "text": "done"}]}


class TaskApp(TaskServer):
    """The server over HTTP; `modern` says whether it speaks the new era, too."""

    def __init__(self, *, modern: bool = True, **more: bool) -> None:
        super().__init__(**more)
        self._modern = modern

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["method"] != "POST":
            return await respond(send, 405, b"")
        body = b""
        while True:
            piece = await receive()
            body += piece.get("body", b"")
            if not piece.get("more_body"):
                break
        message = json.loads(body)
        if message["method"] == "server/discover" and not self._modern:
            return await respond(send, 400, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}')
        answer = self.answer(message)
        if answer is None:
            return await respond(send, 202, b"")
        fields = [(b"mcp-session-id", b"s-1")] if message["method"] == "initialize" else []
        if not self.streams:
            return await respond(send, 200, orjson.dumps(answer), fields)
        await self._stream(send, orjson.dumps(answer), fields)

    async def _stream(self, send: Send, body: bytes, fields: list[tuple[bytes, bytes]]) -> None:
        """The answer as events, cut in the middle of one."""
        start = [*fields, (b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": start})
        events = b"id: 1\r\ndata: \r\n\r\nevent: message\r\nid: 2\r\ndata: " + body + b"\r\n\r\n"
        middle = len(events) // 2
        await send({"type": "http.response.body", "body": events[:middle], "more_body": True})
        await send({"type": "http.response.body", "body": events[middle:]})


def main() -> None:
    server = TaskServer()
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "server/discover" and "--old" in sys.argv:
            answer: Any = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}}
        else:
            answer = server.answer(message)
        if answer is not None:
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
