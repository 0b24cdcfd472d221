"""Two replicas in processes of their own, in front of a server that notes what happened."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp.server import MCPServer

from assent.contract.yaml_document import write_yaml
from support.clients.transports import over_http
from support.gateway.gateways import HEADERS, rpc
from support.processes.servers import Command, start_command

REPLICAS = 2


class Notes:
    """A server with its own log of what happened."""

    def __init__(self) -> None:
        self.effects: list[str] = []
        self.started, self.go = asyncio.Event(), asyncio.Event()
        self.server = MCPServer("notes", log_level="ERROR")

        @self.server.tool()
        def note(text: str) -> dict[str, int]:
            """Writes a note."""
            self.effects.append(text)
            return {"number": len(self.effects)}

        @self.server.tool()
        async def slow_note(text: str) -> dict[str, int]:
            """Writes a note when it is let go."""
            self.started.set()
            await self.go.wait()
            self.effects.append(text)
            return {"number": len(self.effects)}


class Replicas:
    """Two gateways in processes of their own that share a store, and clients that take turns between them."""

    def __init__(self, commands: list[Command], urls: list[str], notes: Notes, file: Path) -> None:
        self.commands, self.urls, self.notes, self.file = commands, urls, notes, file
        self._turns = itertools.cycle(urls)

    def pids(self) -> list[int]:
        return [one.process.pid for one in self.commands]

    async def call(self, tool: str, key: str, **headers: str) -> Any:
        body = rpc("tools/call", name=tool, arguments={"text": key})
        answer = await self.post(body, **{"idempotency-key": json.dumps(key), **headers})
        return json.loads(answer.text.rsplit("data: ", 1)[-1])["result"]

    async def post(self, body: Any, **headers: str) -> httpx2.Response:
        async with httpx2.AsyncClient(timeout=60, trust_env=False) as client:
            return await client.post(next(self._turns), json=body, headers={**HEADERS, **headers})

    async def get(self, path: str) -> list[httpx2.Response]:
        """The answers of all."""
        async with httpx2.AsyncClient(timeout=60, trust_env=False) as client:
            return [await client.get(url.removesuffix("/mcp") + path) for url in self.urls]

    async def kill(self, index: int) -> None:
        """Kill one and start it again at its address."""
        await self.commands[index].kill()
        self.commands[index] = await serve(self.file, self.urls[index])


async def serve(file: Path, url: str = "http://127.0.0.1:0/mcp") -> Command:
    return await start_command("serve", "-c", str(file), "--port", str(httpx2.URL(url).port))


@asynccontextmanager
async def replicas(folder: Path, store: str = "", **more: Any) -> AsyncIterator[Replicas]:
    notes, file = Notes(), folder / "assent.yaml"
    tools = {"note": {"side_effect": "write"}, "slow_note": {"side_effect": "write"}}
    (folder / "contracts.yaml").write_text(write_yaml({"tools": tools}))
    async with over_http(notes.server) as url:
        settings = {
            "store": store or f"sqlite:///{folder}/assent.db",
            "upstreams": {"notes": {"url": url}},
            "contracts": [str(folder / "contracts.yaml")],
            "auth": {"anonymous": {"kind": "agent", "scopes": ["*"]}},
            "secrets": {"directory": str(folder / "keys")},
            **more,
        }
        file.write_text(write_yaml(settings))
        running = Replicas([], [], notes, file)
        try:
            for _ in range(REPLICAS):
                running.commands.append(await serve(file))
                running.urls.append((await running.commands[-1].said(r"serves \d+ tools at (http\S+/mcp)"))[1])
            yield running
        finally:
            for command in running.commands:
                await command.kill()
