"""Governs a server of the official SDK in its own process.

An extension governs every call. `apply` stamps the definitions and filters the list. They are independent: a tool that
is not listed is refused too. See ADR 0003.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import Extension
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.server.mcpserver.tools import Tool as SdkTool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from mcp.shared.exceptions import MCPError

from assent.core.call import Call
from assent.core.tool import Tool
from assent.library.calls import raw_of, text_of
from assent.library.function_outcome import refused_read, watched, watching
from assent.library.integration import IDENTIFIER, ServerIntegration, forward_key, put_definition
from assent.pipeline.tool_mentions import Mentions
from assent.ports import NotRun, OutcomeUnknown, ToolFailed


class AssentExtension(Extension):
    """Extension that runs every `tools/call` through the pipeline."""

    identifier = IDENTIFIER

    def __init__(self, edge: SdkIntegration) -> None:
        self.edge = edge

    async def intercept_tool_call(
        self, params: types.CallToolRequestParams, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        return await self.edge.call(params, ctx, call_next)


class SdkIntegration(ServerIntegration[MCPServer[Any], SdkTool]):
    """One governed server of the official SDK."""

    def apply(self, server: MCPServer[Any]) -> None:
        """Derive every definition from its contract, and filter the list per caller."""
        if self._bind(server, server.name, partial(sdk_tools, server)):
            self._connect(server, server._lowlevel_server, self._filter)

    def _stamp(self, function: SdkTool, compiled: Tool) -> None:
        """Put the contract's derived fields on the SDK's tool, and observe its function."""
        put_definition(function, compiled)
        function.fn = watched(function.fn, function.is_async)
        function.fn_metadata = _Exact.model_construct(**dict(function.fn_metadata))

    async def _filter(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.method != "tools/list" or ctx.request_id is None:
            return await call_next(ctx)
        names, absent = await self._visible_to(ctx)
        result = await call_next(ctx)
        if isinstance(result, types.ListToolsResult):
            seen = [_without_mentions(tool, absent) for tool in result.tools if tool.name in names]
            return result.model_copy(update={"tools": seen, "cache_scope": "private"})
        if isinstance(result, dict):
            seen_raw = [absent.clean(tool) for tool in result.get("tools", []) if tool.get("name") in names]
            return {**result, "tools": seen_raw} | ({"cacheScope": "private"} if "cacheScope" in result else {})
        return result

    async def call(
        self, params: types.CallToolRequestParams, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Run one call through the pipeline, and ask in band if the contract wants a user and the client has one."""
        if self._server is None:
            raise MCPError(
                -31_500,
                "assent.apply(server) was never called. Call it after you register the tools.",
            )
        if not self._adopted.is_known(params.name, self._server._tool_manager.get_tool(params.name)):
            self._adopted.adopt_new()
        functions = ServerFunctions(self._server, params, ctx, call_next)
        return await self._govern(params, ctx, cast("Mapping[str, Any] | None", params.meta), functions)


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
        forward_key(self._params, call, key)
        try:
            with watching(call.principal.mode) as ran:
                result = raw_of(await self._next(self._ctx))
        except MCPError as error:
            if not ran.entered:
                raise NotRun(error.message, error) from None
            raise OutcomeUnknown(error.message, error) from None
        if not ran.entered and result.get("isError"):
            raise NotRun("The tool refused the arguments: " + text_of(result))
        if isinstance(ran.raised, ToolFailed):
            raise ran.raised
        if ran.raised is not None and not isinstance(ran.raised, ToolError | ResourceError):
            raise OutcomeUnknown(type(ran.raised).__name__) from ran.raised
        if ran.raised is None and result.get("isError") and not isinstance(ran.returned, types.CallToolResult):
            raise OutcomeUnknown("the tool finished, but its return value is not a tool result")
        return result

    async def read(self, tool: str, arguments: Mapping[str, Any], call: Call) -> dict[str, Any]:
        with watching(call.principal.mode) as ran:
            try:
                return raw_of(await self._server.call_tool(tool, dict(arguments)))
            except Exception as error:
                return refused_read(ran, error, (ToolError, ResourceError))


def _without_mentions(tool: types.Tool, absent: Mentions) -> types.Tool:
    return types.Tool.model_validate(absent.clean(tool.model_dump(mode="json", by_alias=True))) if absent else tool


def sdk_tools(server: MCPServer[Any]) -> list[SdkTool]:
    """Return the registered tools; the SDK has no public access to their functions."""
    return server._tool_manager.list_tools()


class _Exact(FuncMetadata):
    """Passes validated arguments unchanged; the SDK would parse JSON inside strings, after guards and confirmation."""

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        return dict(data)
