"""A server whose tools follow the script of a decision case, over HTTP and over a pipe."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from assent.mcp.protocol import INVALID_PARAMS, LATEST_MODERN_VERSION, METHOD_NOT_FOUND
from assent.ports import NotRun, ToolFailed
from support.decisions import Scripted
from support.servers.scripted_server import Conversation, ScriptedServer

RELAY = """
import os, socket, sys, threading
line = socket.socket(socket.AF_UNIX)
line.connect(sys.argv[1])
def forward():
    while piece := os.read(0, 65536):
        line.sendall(piece)
    os._exit(0)
threading.Thread(target=forward, daemon=True).start()
while piece := line.recv(65536):
    os.write(1, piece)
"""
"""A server program that only passes on what it hears and says, so that the script stays in the test's process."""


class DecisionUpstream:
    """The tools of one case at a time: their definitions come from the contracts, what they do from the script."""

    def __init__(self) -> None:
        self._cases: dict[str, tuple[Mapping[str, Mapping[str, Any]], Scripted]] = {}

    def follow(self, name: str, contracts: Mapping[str, Mapping[str, Any]], scripted: Scripted) -> None:
        """Serve these tools to the gateways of a case."""
        self._cases = {name: (contracts, scripted)}

    async def answer(self, name: str, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """The reply to a request; None where nobody learns how it ended."""
        contracts, scripted = self._cases[name]
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
        match request["method"]:
            case "server/discover":
                result: Any = {"supportedVersions": [LATEST_MODERN_VERSION], **_described()}
            case "initialize":
                result = {"protocolVersion": request["params"]["protocolVersion"], **_described()}
            case "tools/list":
                result = {"tools": [_definition(*one, scripted) for one in contracts.items()]}
                result |= {"ttlMs": 0, "cacheScope": "private"}
            case "tools/call":
                result = await _call(request["params"], contracts, scripted)
            case _:
                return {**reply, "error": {"code": METHOD_NOT_FOUND, "message": "Method not found"}}
        if isinstance(result, NotRun):
            return {**reply, "error": {"code": INVALID_PARAMS, "message": str(result)}}
        return None if result is None else {**reply, "result": {"resultType": "complete", **result}}

    @asynccontextmanager
    async def over_http(self) -> AsyncIterator[str]:
        """Gives the address, without the name of the case."""
        async with ScriptedServer(self._converse) as server:
            yield server.url.removesuffix("/mcp")

    async def _converse(self, conversation: Conversation) -> None:
        while True:
            head, body = await conversation.read_request()
            reply = await self.answer(head.split(b" ", 2)[1].decode().strip("/"), json.loads(body))
            if reply is None:
                await conversation.answer(b"", status=b"502 Bad Gateway")
                continue
            status = b"404 Not Found" if reply.get("error", {}).get("code") == METHOD_NOT_FOUND else b"200 OK"
            await conversation.answer(json.dumps(reply).encode(), status=status)

    @asynccontextmanager
    async def over_pipes(self, socket: str, name: str) -> AsyncIterator[list[str]]:
        """Gives the command of a server process that says on its pipes what is said here."""
        server = await asyncio.start_unix_server(lambda *ends: self._talk(name, *ends), socket)
        try:
            yield [sys.executable, "-I", "-S", "-c", RELAY, socket]
        finally:
            server.close()

    async def _talk(self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks: set[asyncio.Task[None]] = set()

        async def respond(request: dict[str, Any]) -> None:
            reply = await self.answer(name, request)
            torn = f'{{"jsonrpc": "2.0", "id": {json.dumps(request["id"])}, "result": {{'
            writer.write((torn if reply is None else json.dumps(reply)).encode() + b"\n")

        while line := await reader.readline():
            request = json.loads(line)
            if "id" in request:
                tasks.add(asyncio.create_task(respond(request)))
        writer.close()


def _described() -> dict[str, Any]:
    return {"capabilities": {"tools": {}}, "serverInfo": {"name": "decisions", "version": "1"}}


def _definition(name: str, fields: Mapping[str, Any], scripted: Scripted) -> dict[str, Any]:
    definition = {"name": name, "inputSchema": fields.get("input") or {"type": "object"}}
    output = fields.get("output")
    return definition | ({"outputSchema": output} if output and not scripted.speaks_text(name) else {})


async def _call(params: Mapping[str, Any], contracts: Mapping[str, Mapping[str, Any]], scripted: Scripted) -> Any:
    name = params["name"]
    dry_run = contracts[name].get("dry_run") or {"mode": "none"}
    argument = dry_run.get("argument", "dryRun") if dry_run.get("mode", "offered") != "none" else ""
    said = await scripted.respond(name, effect=(params.get("arguments") or {}).get(argument) is not True)
    if isinstance(said, ToolFailed):
        return {"content": [], "structuredContent": {"code": said.code}, "isError": True}
    if isinstance(said, BaseException):
        return said if isinstance(said, NotRun) else None
    return said if "content" in said else {"content": [], "structuredContent": said}
