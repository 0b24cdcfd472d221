"""How is a decision played through the library edges: a server of either framework, and its own client, in one era?"""

from __future__ import annotations

import inspect
import itertools
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import mcp_types as types
from fastmcp import FastMCP
from fastmcp.tools.function_tool import FunctionTool
from mcp import Client
from mcp.server import MCPServer
from mcp.shared.exceptions import MCPError

from assent.contract.reader import read_contract
from assent.core.outcome import REPLAYED
from assent.core.principal import Principal
from assent.core.problems import problem_in
from assent.fastmcp import Assent as FastMCPAssent
from assent.library.governance import Assent
from assent.mcp.confirmation import CONFIRM
from assent.mcp.requests import META_KEY
from assent.ports import Ports
from assent.rules.guards import build_guard
from assent.testing import Clock
from support.clients.fastmcp_client import FastMCPClient
from support.clients.transports import Person
from support.decisions import Observed, Scripted, WorldSettings
from support.decisions.harness import Contracts, RaceStore, settings_of, store_for


class LibraryTable:
    """A governed server whose functions follow the case's script; every call comes from a client of its own."""

    make: Any = Assent
    undeclared: tuple[str, ...] = ()

    def __init__(self, contracts: Contracts, scene: WorldSettings, scripted: Scripted, *, era: str) -> None:
        self.scripted, self.clock, self._era = scripted, Clock(), era
        self._memory, self._ids = RaceStore(), itertools.count(1)
        self._caller: Any = None
        self._built: list[Any] = []
        self._set(contracts, scene)

    @property
    def ports(self) -> Ports:
        return self._assent.ports

    async def change(self, contracts: Contracts, scene: WorldSettings) -> None:
        self._set(contracts, scene)

    async def close(self) -> None:
        for assent in self._built:
            await assent.work.drain(0)

    def _set(self, contracts: Contracts, scene: WorldSettings) -> None:
        self._contracts, self._scene = contracts, scene
        self._assent, self._server = self._build(principal=lambda _: self._caller)

    def _build(self, **who: Any) -> tuple[Any, Any]:
        scene = self._scene
        assent = self.make(
            store=store_for(scene, self._memory),
            contracts={name: read_contract(name, fields) for name, fields in self._contracts.items()},
            profile=scene.profile,
            guards=[build_guard(line) for line in scene.guards],
            now=self.clock,
            new_id=lambda: f"id-{next(self._ids)}",
            test_callers="served" if scene.test_endpoint else "refused",
            **who,
        )
        # A server's author sets none of these, so there is no door for them.
        assent._ports = assent._edge._ports = assent._ports.but(**settings_of(scene))
        self._built.append(assent)
        return assent, self._serve(assent)

    def _serve(self, assent: Any) -> Any:
        server = MCPServer("test", extensions=[assent.extension()], log_level="CRITICAL")
        for name, fields in self._contracts.items():
            texts = self.scripted.speaks_text(name)
            server.add_tool(self._function(name, fields), name=name, structured_output=False if texts else None)
        assent.apply(server)
        return server

    def _function(self, name: str, fields: Mapping[str, Any]) -> Any:
        """A function with the parameters of the contract's input, that does what the script says."""
        dry_run = fields.get("dry_run") or {"mode": "none"}
        argument = dry_run.get("argument", "dryRun") if dry_run.get("mode", "offered") != "none" else None

        async def function(**arguments: Any) -> Any:
            rehearses = argument is not None and arguments.get(argument) is True
            said = await self.scripted.respond(name, effect=not rehearses)
            if isinstance(said, BaseException):
                raise said
            return types.CallToolResult.model_validate(said) if "content" in said else said

        properties = dict.fromkeys([*(fields.get("input") or {}).get("properties", {}), *self.undeclared])
        parameter = inspect.Parameter
        function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [parameter(one, parameter.KEYWORD_ONLY, default=None, annotation=Any) for one in properties],
            return_annotation=dict[str, Any],
        )
        function.__annotations__ = {**dict.fromkeys(properties, Any), "return": dict[str, Any]}
        return function

    async def call(self, credentials: Any, tool: str, arguments: Any, key: str | None, asks: str) -> Observed:
        self._caller = credentials if isinstance(credentials, Principal) else None
        server = self._build(stdio=None)[1] if credentials is None else self._server
        person = None if asks == "none" else Person([asks if asks != "shown" else "cancel"])
        meta = None if key is None else {META_KEY: key}
        found = await self._sent(server, person, tool, arguments, meta, shown=asks == "shown")
        if isinstance(found, MCPError):
            return _protocol_error(found)
        if isinstance(found, types.InputRequiredResult):
            assert found.input_requests is not None
            return Observed("pause", text=cast("Any", found.input_requests[CONFIRM].params).message)
        if asks == "shown" and person is not None and person.asked:
            return Observed("pause", text=person.asked[0])
        return replace(_result(found), text=person.asked[0] if person and person.asked else "")

    async def _sent(self, server: Any, person: Any, tool: str, arguments: Any, meta: Any, *, shown: bool) -> Any:
        async with Client(server, mode=self._era, elicitation_callback=person) as client:
            return await _tried(client, tool, arguments, meta, shown=shown)


class FastMCPTable(LibraryTable):
    """The same on FastMCP, with FastMCP's client."""

    make = FastMCPAssent
    # FastMCP calls a function only with what it takes; cases send more than their contracts declare.
    undeclared = ("amount", "body", "filter", "id", "ids", "item", "n", "note", "text", "to", "who")

    def _serve(self, assent: Any) -> Any:
        server: FastMCP = FastMCP("test")
        for name, fields in self._contracts.items():
            schema = {"output_schema": None} if self.scripted.speaks_text(name) else {}
            server.add_tool(FunctionTool.from_function(self._function(name, fields), name=name, **schema))
        assent.apply(server)
        return server

    async def _sent(self, server: Any, person: Any, tool: str, arguments: Any, meta: Any, *, shown: bool) -> Any:
        async with FastMCPClient(server, self._era, person) as client:
            return await _tried(client, tool, arguments, meta, shown=shown)


async def _tried(client: Any, tool: str, arguments: Any, meta: Any, *, shown: bool) -> Any:
    """What came back, be it a protocol error."""
    try:
        if shown:
            return await client.session.call_tool(tool, arguments, meta=meta, allow_input_required=True)
        return await client.call_tool(tool, arguments, meta=meta)
    except MCPError as error:
        return error


def _result(found: types.CallToolResult) -> Observed:
    wire = found.model_dump(mode="json", by_alias=True, exclude_none=True)
    said = problem_in(wire)
    replayed = wire.get("_meta", {}).get(REPLAYED) is True
    if found.is_error and "refusals#" in str(said.get("type")) and not replayed:
        assert wire["content"][0]["text"] == f"{said['detail']} {said['remedy']}"
        return Observed("refusal", said["code"], said, approval=said.get("approval"))
    result = wire.get("structuredContent", said or wire)
    assert "s3cret" not in json.dumps(wire) or not replayed
    return Observed("answer", result=result, replayed=replayed, error=found.is_error)


def _protocol_error(error: MCPError) -> Observed:
    if error.code == types.INVALID_PARAMS:
        assert error.data is None
        return Observed("refusal", "discover.unknown_tool", {"detail": error.message})
    assert error.data is not None, error
    return Observed("refusal", error.data["code"], error.data)
