"""How does a server of the official SDK keep its contracts?

An extension governs every call; `apply` stamps the definitions and filters the list. Neither rests on the other: a tool
that is not listed is refused all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import Extension
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.server.mcpserver.tools import Tool as SdkTool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from mcp.shared.exceptions import MCPError

from assent.core.call import Call, Request
from assent.core.catalogue import Catalogue
from assent.core.outcome import INPUT_REQUIRED, Outcome, Pause, Refusal, error_result
from assent.core.tool import Tool
from assent.edges import questions
from assent.edges.idempotency_key import HEADER, keys_of
from assent.edges.watching import watched, watching
from assent.pipeline.discover import visible_tools
from assent.pipeline.govern import govern
from assent.ports import Lost, NotRun, Ports, ToolFailed, Unreached

IDENTIFIER = "dev.assent/contracts"
_PROTOCOL_CODE = -31_000
"""Problems that are JSON-RPC errors have this code less their status, outside the range the protocol keeps."""


class Governed(Extension):
    """The extension that puts the sentence around every `tools/call`."""

    identifier = IDENTIFIER

    def __init__(self, edge: InProcessEdge) -> None:
        self.edge = edge

    async def intercept_tool_call(
        self, params: types.CallToolRequestParams, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        return await self.edge.call(params, ctx, call_next)


class InProcessEdge:
    """One server of the official SDK, governed."""

    def __init__(self, ports: Ports, compile_server: Callable[[MCPServer[Any]], Catalogue]) -> None:
        self._ports = ports
        self._compile = compile_server
        self._server: MCPServer[Any] | None = None
        self._known: dict[str, SdkTool] = {}
        self._catalogue = Catalogue()

    def catalogue(self) -> Catalogue:
        return self._catalogue

    def apply(self, server: MCPServer[Any]) -> None:
        """Derive every definition from its contract, and filter the list for each caller."""
        if self._server is server:
            return self._adopt()
        if self._server is not None:
            raise ValueError("One Assent governs one server; make another Assent for this one.")
        self._server = server
        self._adopt()
        server.middleware.append(self._filter)
        lowlevel = server._lowlevel_server
        lowlevel.get_tool_input_schema = self._public_schema

    def _adopt(self) -> None:
        """Compile the contracts of all tools there are, then stamp what is new. Nothing changes if one is wrong."""
        assert self._server is not None
        catalogue = self._compile(self._server)
        for tool in self._new():
            found = catalogue.find(tool.name)
            if found is not None:
                _stamp(tool, found)
            self._known[tool.name] = tool
        self._catalogue = catalogue

    def _new(self) -> list[SdkTool]:
        """Tools we have not stamped: registered since, be it under a name that another one had."""
        assert self._server is not None
        return [tool for tool in sdk_tools(self._server) if self._known.get(tool.name) is not tool]

    def _public_schema(self, name: str) -> Mapping[str, Any] | None:
        """What header checks may know before anybody is authenticated: only what everybody may see."""
        tool = self._catalogue.find(name)
        if tool is None or tool.visibility == "hidden" or tool.contract.risk == "forbidden":
            return None
        if tool.visibility == "scoped" and tool.contract.permissions:
            return None
        return cast("Mapping[str, Any]", tool.definition["inputSchema"])

    async def _filter(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.method != "tools/list" or ctx.request_id is None:
            return await call_next(ctx)
        self._adopt_new()
        try:
            principal = await self._ports.authenticate(ctx)
        except Refusal as refusal:
            raise _protocol_error(refusal) from None
        observing = self._ports.mode == "observe"
        names = {tool.name for tool in visible_tools(self._catalogue, principal, observing=observing)}
        result = await call_next(ctx)
        if isinstance(result, types.ListToolsResult):
            seen = [tool for tool in result.tools if tool.name in names]
            return result.model_copy(update={"tools": seen, "cache_scope": "private"})
        if isinstance(result, dict):
            seen_raw = [tool for tool in result.get("tools", []) if tool.get("name") in names]
            return {**result, "tools": seen_raw} | ({"cacheScope": "private"} if "cacheScope" in result else {})
        return result

    def _adopt_new(self) -> None:
        if self._server is not None and self._new():
            self._adopt()

    async def call(
        self, params: types.CallToolRequestParams, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """One call through the sentence, asking in band where the contract wants a user and the client has one."""
        if self._server is None:
            raise MCPError(-31_500, "This server is governed by Assent, but assent.apply(server) was never called.")
        if self._known.get(params.name) is not self._server._tool_manager.get_tool(params.name):
            self._adopt_new()
        reply, resume = questions.unwrap(params)
        request = Request(
            tool=params.name,
            arguments=params.arguments,
            credentials=ctx,
            keys=keys_of(_headers(ctx).get(HEADER), cast("Mapping[str, Any] | None", params.meta)),
            reply=reply,
            resume=resume,
            can_ask=questions.can_ask(ctx),
        )
        ports = self._ports.towards(ServerFunctions(self._server, params, ctx, call_next))
        outcome = await govern(request, ports)
        if isinstance(outcome, Pause) and not questions.is_modern(ctx.protocol_version):
            outcome = await self._asked(request, outcome, ports, ctx)
        return self._on_wire(outcome, params.name)

    async def _asked(
        self, request: Request, pause: Pause, ports: Ports, ctx: ServerRequestContext[Any, Any]
    ) -> Outcome:
        """Ask on the stream, then say the sentence again with the answer; unanswerable means: out of band."""
        reply = await questions.on_stream(pause.approval, ctx)
        if reply is None:
            return await govern(request._replace(can_ask=False), ports)
        return await govern(request._replace(reply=reply), ports)

    def _on_wire(self, outcome: Outcome, name: str) -> HandlerResult:
        if isinstance(outcome, Pause):
            return questions.as_result(outcome.approval)
        if isinstance(outcome, Refusal):
            if outcome.code.startswith(("discover.", "authenticate.")):
                raise _protocol_error(outcome)
            tool = self._catalogue.find(name)
            return _result(error_result(outcome.problem(failure=tool is not None and tool.failure_names)))
        if outcome.result.get("resultType") == INPUT_REQUIRED:
            asked = types.InputRequiredResult.model_validate(outcome.result)
            return asked.model_copy(update={"request_state": questions.wrap_state(outcome.resume, asked.request_state)})
        return _result(outcome.on_wire())


class ServerFunctions:
    """The author's functions as an upstream, for one call."""

    def __init__(
        self,
        server: MCPServer[Any],
        params: types.CallToolRequestParams,
        ctx: ServerRequestContext[Any, Any],
        call_next: CallNext,
    ) -> None:
        self._server, self._params, self._ctx, self._next = server, params, ctx, call_next

    async def run(self, call: Call, key: str | None) -> dict[str, Any]:
        idempotency = call.tool.contract.idempotency
        if key is not None and idempotency.forward == "argument" and idempotency.argument:
            self._params.arguments = {**call.arguments, idempotency.argument: key}
        try:
            with watching() as ran:
                result = _raw(await self._next(self._ctx))
        except MCPError as error:
            if not ran.entered:
                raise NotRun(error.message, error) from None
            raise Lost(error.message, error) from None
        if not ran.entered and result.get("isError"):
            raise NotRun("The tool refused the arguments: " + _text(result))
        if isinstance(ran.raised, ToolFailed):
            raise ran.raised
        if ran.raised is not None and not isinstance(ran.raised, ToolError | ResourceError):
            raise Lost(type(ran.raised).__name__) from ran.raised
        if ran.raised is None and result.get("isError") and not isinstance(ran.returned, types.CallToolResult):
            raise Lost("the tool ran to its end, and what it returned is no result")
        return result

    async def read(self, tool: str, arguments: Mapping[str, Any], call: Call) -> dict[str, Any]:
        try:
            return _raw(await self._server.call_tool(tool, dict(arguments)))
        except Exception as error:
            raise Unreached(type(error).__name__) from error


def sdk_tools(server: MCPServer[Any]) -> list[SdkTool]:
    """The tools a server has registered. The SDK has no public way to the functions behind them."""
    return server._tool_manager.list_tools()


class _Exact(FuncMetadata):
    """Hands the function what was validated: the SDK would read JSON out of a text, past guards and confirmation."""

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        return dict(data)


def _stamp(tool: SdkTool, compiled: Tool) -> None:
    """Put what the contract derives onto the SDK's tool, and watch its function."""
    said = compiled.definition
    tool.title = cast("str | None", said.get("title"))
    tool.description = cast("str", said.get("description", tool.description))
    tool.annotations = types.ToolAnnotations.model_validate(said["annotations"])
    tool.meta = cast("dict[str, Any]", said["_meta"])
    tool.parameters = cast("dict[str, Any]", said["inputSchema"])
    if tool.output_schema is not None:
        tool.__dict__["output_schema"] = said.get("outputSchema")
    tool.fn = watched(tool.fn, tool.is_async)
    tool.fn_metadata = _Exact.model_construct(**dict(tool.fn_metadata))


def _headers(ctx: ServerRequestContext[Any, Any]) -> Mapping[str, str]:
    return getattr(ctx.request, "headers", None) or {}


def _raw(result: HandlerResult) -> dict[str, Any]:
    """A handler's result in wire form."""
    if isinstance(result, dict):
        return result
    assert result is not None
    raw = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    raw.setdefault("content", [])
    return raw


def _text(result: dict[str, Any]) -> str:
    return " ".join(str(block.get("text", "")) for block in result.get("content", []))[:1000]


def _result(raw: dict[str, Any]) -> types.CallToolResult:
    return types.CallToolResult.model_validate(raw)


def _protocol_error(refusal: Refusal) -> MCPError:
    """An unknown tool answers with the protocol's own words and no data; the rest carry their problem."""
    if refusal.code == "discover.unknown_tool":
        return MCPError(types.INVALID_PARAMS, refusal.detail)
    return MCPError(_PROTOCOL_CODE - refusal.status, refusal.problem()["title"], refusal.problem())
