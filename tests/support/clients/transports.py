"""How does a test reach a server: in memory, over HTTP or over stdio, in either era, with the official client?"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mcp_types as types
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.server import MCPServer

from support.servers.loopback_server import PromptServer

ROOT = Path(__file__).parents[3]
ERAS = ("2026-07-28", "legacy")


@dataclass
class Person:
    """The person at the client: answers as told, and remembers what they were asked."""

    answers: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    async def __call__(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.asked.append(params.message)
        return types.ElicitResult(action=self.answers.pop(0))  # type: ignore[arg-type]


def connect(target: Any, era: str, person: Person | None) -> Client:
    """The official client; without a person it cannot be asked anything."""
    return Client(target, mode=era, elicitation_callback=person)


@asynccontextmanager
async def over_http(server: MCPServer | Any) -> AsyncIterator[str]:
    """The server, of the official SDK or of FastMCP, on a loopback port of its own."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    app = server.streamable_http_app() if isinstance(server, MCPServer) else server.http_app()
    web = PromptServer(uvicorn.Config(app, log_level="error", lifespan="on"))
    task = asyncio.create_task(web.serve(sockets=[listening]))
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        web.stop(force=True)
        await task


def over_stdio(script: str, **environment: str) -> StdioServerParameters:
    """The server as a process of its own."""
    return StdioServerParameters(
        command=sys.executable,
        args=[str(ROOT / script)],
        env={**os.environ, **environment},
    )


Connect = Callable[[str, Person | None], Any]
