"""A gateway with several workers in processes of their own, in front of a server that notes what happened."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp.server import MCPServer

from assent.contract.yaml_document import write_yaml
from support.gateways import HEADERS, rpc
from support.processes import Command, commanded
from support.transports import over_http

WORKERS = 2


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


def children(command: Command) -> list[int]:
    parent = command.process.pid
    return [int(one) for one in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


class Workers:
    """A running gateway with several workers, and clients that open a connection for every request."""

    def __init__(self, command: Command, url: str, notes: Notes, file: Path) -> None:
        self.command, self.url, self.notes, self.file = command, url, notes, file

    def pids(self) -> list[int]:
        return children(self.command)

    def folder(self) -> Path:
        """Where the workers have their own sockets."""
        inodes = {str(one.readlink()) for one in Path(f"/proc/{self.pids()[0]}/fd").iterdir()}
        lines = (line.split() for line in Path("/proc/net/unix").read_text().splitlines())
        return next(Path(one[7]).parent for one in lines if len(one) > 7 and f"socket:[{one[6]}]" in inodes)

    async def call(self, tool: str, key: str, **headers: str) -> Any:
        body = rpc("tools/call", name=tool, arguments={"text": key})
        answer = await self.post(body, **{"idempotency-key": json.dumps(key), **headers})
        return json.loads(answer.text.rsplit("data: ", 1)[-1])["result"]

    async def post(self, body: Any, **headers: str) -> httpx2.Response:
        async with httpx2.AsyncClient(timeout=60, trust_env=False) as client:
            return await client.post(self.url, json=body, headers={**HEADERS, **headers})

    async def get(self, path: str, **headers: str) -> httpx2.Response:
        async with httpx2.AsyncClient(timeout=60, trust_env=False) as client:
            return await client.get(self.url.removesuffix("/mcp") + path, headers=headers)


@asynccontextmanager
async def workers(folder: Path, store: str = "", upstream: str = "", **more: Any) -> AsyncIterator[Workers]:
    notes, file = Notes(), folder / "assent.yaml"
    tools = {"note": {"side_effect": "write"}, "slow_note": {"side_effect": "write"}}
    (folder / "contracts.yaml").write_text(write_yaml({"tools": tools}))
    async with AsyncExitStack() as stack:
        url = upstream or await stack.enter_async_context(over_http(notes.server))
        settings = {
            "store": store or f"sqlite:///{folder}/assent.db",
            "upstreams": {"notes": {"url": url}},
            "contracts": [] if upstream else [str(folder / "contracts.yaml")],
            "auth": {"anonymous": {"kind": "agent", "scopes": ["*"]}},
            "secrets": {"directory": str(folder / "keys")},
            **more,
        }
        file.write_text(write_yaml(settings))
        serve = ("serve", "-c", str(file), "--port", "0", "--workers", str(WORKERS))
        command = await stack.enter_async_context(commanded(*serve))
        said = await command.said(rf"serves \d+ tools at (http\S+/mcp) \(\w+\) with {WORKERS} workers")
        yield Workers(command, said[1], notes, file)


def spread(metrics: str) -> set[str]:
    """The workers that have answered calls."""
    return set(re.findall(r'^assent_calls_total\{worker="(\d)"', metrics, re.MULTILINE))


def is_alive(pid: int) -> bool:
    """Whether a process runs; in a container without an init, an ended one stays as a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
