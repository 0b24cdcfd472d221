"""Runs decision cases through the gateway: over HTTP, and through `assent wrap`'s relay on pipes."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import yaml

from assent.config.load import parse_settings
from assent.core.outcome import REPLAYED
from assent.core.principal import Principal
from assent.core.problems import problem_in
from assent.gateway.app import GatewayApp
from assent.gateway.auth.authenticator import ConfiguredApiKeys, record_key
from assent.gateway.status_pages import StatusPages
from assent.gateway.stdio.wrap import StdioGateway
from assent.mcp.confirmation import CONFIRM
from assent.mcp.protocol import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    INVALID_PARAMS,
    LATEST_HANDSHAKE_VERSION,
    LATEST_MODERN_VERSION,
    PROTOCOL_VERSION_META_KEY,
)
from assent.mcp.requests import META_KEY
from assent.pipeline.leased_effects import EffectRunner
from assent.ports import Ports
from assent.rules.guards import build_guard
from assent.testing import Clock
from assent.upstreams.stdio.link import StdioLink
from support.decisions import Observed, Scripted, WorldSettings
from support.decisions.harness import Contracts, RaceStore, settings_of, store_for
from support.decisions.upstream import DecisionUpstream

SERVER = "decisions"
ALL = frozenset({"*"})
CLIENT = {"name": "cases", "version": "1"}
_PROTOCOL = {
    "Invalid request parameters": "validate.malformed",
    "The tool refused the arguments.": "validate.arguments_invalid",
}
"""Decisions that the protocol has an error of its own for."""


class GatewayTable:
    """A gateway built from a configuration for every case, in front of a server that follows the case's script."""

    def __init__(
        self,
        contracts: Contracts,
        scene: WorldSettings,
        scripted: Scripted,
        *,
        upstream: DecisionUpstream,
        folder: Path,
    ) -> None:
        self.scripted, self.clock = scripted, Clock()
        self._upstream, self._folder = upstream, folder
        self._memory, self._ids = RaceStore(), itertools.count(1)
        self._contracts, self._scene = contracts, scene
        self._gateway: GatewayApp | None = None
        self._built: list[GatewayApp] = []
        self._stack = AsyncExitStack()

    @property
    def ports(self) -> Ports:
        """The ports of the gateway; before its first call those that it will have."""
        return (self._gateway or self._make({"url": "http://127.0.0.1:1"})).ports

    async def change(self, contracts: Contracts, scene: WorldSettings) -> None:
        self._contracts, self._scene = contracts, scene
        await self._open()

    async def close(self) -> None:
        await self._stack.aclose()
        for gateway in self._built:
            await gateway.stop(within=0)

    async def _open(self) -> GatewayApp:
        """Start a gateway with the present contracts and settings; the stored state stays."""
        self._upstream.follow(SERVER, self._contracts, self.scripted)
        gateway = self._make(await self._server())
        self._built.append(gateway)
        await gateway.start()
        assert not gateway.tools.troubles, gateway.tools.troubles
        self._gateway = gateway
        return gateway

    async def _server(self) -> dict[str, Any]:
        """The upstream in the configuration."""
        raise NotImplementedError

    def _make(self, server: dict[str, Any]) -> GatewayApp:
        (self._folder / "contracts.yaml").write_text(json.dumps({"tools": self._contracts}))
        settings = {
            "store": "memory://",
            "profile": self._scene.profile,
            "mode": self._scene.mode,
            "upstreams": {SERVER: server},
            "contracts": [str(self._folder / "contracts.yaml")],
            "secrets": {"directory": str(self._folder / "keys")},
        }
        store = store_for(self._scene, self._memory)
        return GatewayApp(parse_settings(yaml.safe_dump(settings)), store, self._adapted)

    def _adapted(self, ports: Ports) -> Ports:
        work = EffectRunner(ports.store, self.clock, retention=ports.rules.retention)
        guards = tuple(build_guard(line) for line in self._scene.guards)
        return ports.but(
            now=self.clock,
            new_id=lambda: f"id-{next(self._ids)}",
            work=work,
            guards=guards,
            **settings_of(self._scene),
        )


class HttpTable(GatewayTable):
    """Requests of the modern era, each authenticated by an API key, to the gateway's application."""

    def __init__(self, *case: Any, url: str, **shared: Any) -> None:
        super().__init__(*case, **shared)
        self._url = url

    async def _server(self) -> dict[str, Any]:
        server: dict[str, Any] = {"url": f"{self._url}/{SERVER}"}
        return server | ({"test": {"url": server["url"]}} if self._scene.test_endpoint else {})

    async def call(self, credentials: Any, tool: str, arguments: Any, key: str | None, asks: str) -> Observed:
        gateway = self._gateway or await self._open()
        headers = {}
        if credentials is not None:
            headers["authorization"] = "Bearer key-of-the-caller"
            known = [record_key("key-of-the-caller", credentials)] if isinstance(credentials, Principal) else []
            gateway.current.rulebook.authenticator.configured_keys = ConfiguredApiKeys(known)
        params = {"name": tool} | ({} if arguments is None else {"arguments": arguments})
        meta = {CLIENT_CAPABILITIES_META_KEY: {} if asks == "none" else {"elicitation": {}}}
        meta |= {} if key is None else {META_KEY: key}
        app = gateway.app(StatusPages(gateway))
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1:8420") as client:
            reply = await _post(client, params, meta, headers)
            question = reply.get("result", {}).get("inputRequests", {}).get(CONFIRM)
            if question is None:
                return observed(reply)
            text = question["params"]["message"]
            if asks == "shown":
                return Observed("pause", text=text)
            answers = {CONFIRM: {"action": asks}}
            again = {**params, "inputResponses": answers, "requestState": reply["result"]["requestState"]}
            return replace(observed(await _post(client, again, meta, headers)), text=text)


async def _post(
    client: httpx2.AsyncClient, params: dict[str, Any], meta: dict[str, Any], headers: dict[str, str]
) -> dict[str, Any]:
    envelope = {PROTOCOL_VERSION_META_KEY: LATEST_MODERN_VERSION, CLIENT_INFO_META_KEY: CLIENT, **meta}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**params, "_meta": envelope}}
    routing = {"mcp-protocol-version": LATEST_MODERN_VERSION, "mcp-method": "tools/call", "mcp-name": params["name"]}
    accept = {"accept": "application/json, text/event-stream"}
    return dict((await client.post("/mcp", json=message, headers={**routing, **accept, **headers})).json())


class WrapTable(GatewayTable):
    """`assent wrap`'s relay in front of a server process, with a session of the handshake era for every call."""

    async def _server(self) -> dict[str, Any]:
        socket = str(self._folder / f"{len(self._built)}.sock")
        Path(socket).unlink(missing_ok=True)
        command = await self._stack.enter_async_context(self._upstream.over_pipes(socket, SERVER))
        return {"command": command}

    async def call(self, credentials: Any, tool: str, arguments: Any, key: str | None, asks: str) -> Observed:
        gateway = self._gateway or await self._open()
        link = gateway.current.links[SERVER]
        assert isinstance(link, StdioLink)
        caller = credentials if isinstance(credentials, Principal) else Principal("stdio", "agent", scopes=ALL)
        said: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        heard: asyncio.Queue[bytes | None] = asyncio.Queue()

        def write(line: bytes) -> None:
            said.put_nowait(json.loads(line))

        def say(**message: Any) -> None:
            heard.put_nowait(json.dumps({"jsonrpc": "2.0", **message}).encode())

        async def reload() -> None:
            await gateway.reload(SERVER)

        wrapped = StdioGateway(link.upstream, lambda: gateway.current, caller, write, reload=reload)
        serving = asyncio.ensure_future(wrapped.serve(_lines(heard)))
        capabilities: dict[str, Any] = {} if asks == "none" else {"elicitation": {}}
        greeting = {"protocolVersion": LATEST_HANDSHAKE_VERSION, "capabilities": capabilities, "clientInfo": CLIENT}
        say(id=0, method="initialize", params=greeting)
        assert "result" in await said.get()
        say(method="notifications/initialized")
        params = {"name": tool} | ({} if arguments is None else {"arguments": arguments})
        say(id=1, method="tools/call", params=params | ({} if key is None else {"_meta": {META_KEY: key}}))
        text = ""
        while (reply := await said.get()).get("method") == "elicitation/create":
            text = reply["params"]["message"]
            say(id=reply["id"], result={"action": "cancel" if asks == "shown" else asks})
        heard.put_nowait(None)
        await serving
        if asks == "shown" and text:
            return Observed("pause", text=text)
        return replace(observed(reply), text=text)


async def _lines(heard: asyncio.Queue[bytes | None]) -> AsyncIterator[bytes]:
    while (line := await heard.get()) is not None:
        yield line


def observed(reply: dict[str, Any]) -> Observed:
    """How a call ended, from the message that answers it."""
    if "code" in reply and "status" in reply:  # HTTP itself refuses who is not known
        return Observed("refusal", reply["code"], reply)
    if "error" in reply:
        error = reply["error"]
        if isinstance(error.get("data"), dict):
            return Observed("refusal", error["data"]["code"], error["data"])
        assert error["code"] == INVALID_PARAMS, error
        return Observed(
            "refusal", _PROTOCOL.get(error["message"], "discover.unknown_tool"), {"detail": error["message"]}
        )
    wire = reply["result"]
    problem, replayed = problem_in(wire), wire.get("_meta", {}).get(REPLAYED) is True
    if wire.get("isError") and "refusals#" in str(problem.get("type")) and not replayed:
        return Observed("refusal", problem["code"], problem, approval=problem.get("approval"))
    result = wire.get("structuredContent", problem or wire)
    return Observed("answer", result=result, replayed=replayed, error=wire.get("isError") is True)
