"""Governs a FastMCP server in its own process.

FastMCP's extension point governs every call just before the function runs. One middleware filters the list; it does not
authorise. Only functions of the server itself are governed. Tools of mounted servers, proxies and transforms are
neither listed nor called.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any, cast

import mcp_types as types
from fastmcp import FastMCP
from fastmcp.exceptions import ResourceError, ToolError
from fastmcp.server.context import Context
from fastmcp.server.dependencies import bind_request_context
from fastmcp.server.extensions import ServerExtension
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.server.middleware.caching import ResponseCachingMiddleware
from fastmcp.tools.base import InputRequiredToolResult, ToolResult
from fastmcp.tools.base import Tool as AnyTool
from fastmcp.tools.function_tool import FunctionTool
from fastmcp.utilities.async_utils import is_coroutine_function
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError as PydanticError

from assent.contract.model import Contract
from assent.core.call import Call
from assent.core.outcome import Refusal
from assent.core.tool import Tool
from assent.library.calls import protocol_error, raw_of
from assent.library.function_outcome import FunctionOutcome, refused_read, watched, watching
from assent.library.integration import (
    IDENTIFIER,
    SdkContext,
    ServerIntegration,
    forward_key,
    put_definition,
)
from assent.library.registry import ToolRegistry
from assent.pipeline.tool_mentions import Mentions
from assent.ports import NotRun, OutcomeUnknown, ToolFailed

logger = logging.getLogger(__name__)
_MOUNTED = "Apply Assent to that server, or put the gateway in front"
Continue = Callable[[], Awaitable[Any]]
_governing: ContextVar[SdkContext | None] = ContextVar("assent_fastmcp_governing", default=None)


class GovernedCalls(ServerExtension):
    """Extension that runs every `tools/call` through the pipeline."""

    identifier = IDENTIFIER

    def __init__(self, edge: FastMCPIntegration) -> None:
        self.edge = edge

    async def intercept_tool_call(
        self, params: types.CallToolRequestParams, context: Context, call_next: Continue
    ) -> ToolResult:
        return await self.edge.call(params, _sdk_context(context), call_next)


class FastMCPIntegration(ServerIntegration[FastMCP[Any], FunctionTool]):
    """One governed FastMCP server."""

    def __init__(self, *parts: Any, **more: Any) -> None:
        super().__init__(*parts, **more)
        self._logged_tools: set[str] = set()

    def apply(self, server: FastMCP[Any]) -> None:
        """Derive every definition from its contract, govern every call, and filter the list per caller."""
        if self._server is None and IDENTIFIER in server._extensions:
            raise ValueError("Another Assent governs this server already.")
        if not self._bind(server, server.name, partial(own_functions, server)):
            return
        server.add_extension(GovernedCalls(self))
        server.add_middleware(_Filter(self))
        lowlevel = server._mcp_server
        self._connect(server, lowlevel)
        hint = lowlevel.cache_hints.get("tools/list")
        if hint is not None:  # a list for one caller must not be cached for another
            lowlevel.cache_hints["tools/list"] = replace(hint, scope="private")

    def _stamp(self, function: FunctionTool, compiled: Tool) -> None:
        """Put the contract's derived fields on FastMCP's tool, and observe its function."""
        put_definition(function, compiled)
        function.fn = watched(function.fn, is_coroutine_function(function.fn), failure=ToolError)

    async def visible(self, ctx: SdkContext, call_next: Callable[[], Awaitable[Sequence[AnyTool]]]) -> list[AnyTool]:
        names, absent = await self._visible_to(ctx)
        found = await call_next()
        self._log_foreign_tools(tool.name for tool in found)
        return [_without_mentions(tool, absent) for tool in found if tool.name in names]

    def _log_foreign_tools(self, names: Iterable[str]) -> None:
        """Log each tool once that is not a function of the server itself; it has no contract and is not served."""
        known = self.catalogue()
        for name in {*names} - known.tools.keys() - known.withheld.keys() - self._logged_tools:
            self._logged_tools.add(name)
            logger.error("%s is not served: it comes from a mounted server or provider. %s", name, _MOUNTED)

    async def call(
        self, params: types.CallToolRequestParams, ctx: SdkContext | None, call_next: Continue
    ) -> ToolResult:
        """Run one call through the pipeline. Calls that a governed function makes itself are not governed again."""
        if ctx is not None and _governing.get() is ctx:
            return cast("ToolResult", await call_next())
        assert self._server is not None
        if caches(self._server):
            # It was added after `apply`. Refuse the call, so that the cache never gets an answer to keep.
            logger.error("the call is refused because the server caches responses: remove ResponseCachingMiddleware")
            raise protocol_error(Refusal("execute.unavailable")) from None
        self._adopted.adopt_new()
        functions = FastMCPFunctions(self._server, self._adopted, params, ctx, call_next)
        result = await self._govern(params, ctx, _meta_of(ctx), functions)
        if isinstance(result, types.InputRequiredResult):
            return InputRequiredToolResult(result)
        return ToolResult.from_mcp_result(result)


class _Filter(Middleware):
    """Filters the list per caller. A listing by the server's own process is not filtered."""

    def __init__(self, edge: FastMCPIntegration) -> None:
        self._edge = edge

    async def on_list_tools(
        self, context: MiddlewareContext[types.ListToolsRequest], call_next: CallNext[Any, Sequence[AnyTool]]
    ) -> Sequence[AnyTool]:
        ctx = _sdk_context(context.fastmcp_context)
        if ctx is None or _governing.get() is ctx:
            return await call_next(context)
        return await self._edge.visible(ctx, partial(call_next, context))


class FastMCPFunctions:
    """The author's functions as an upstream, for one call."""

    def __init__(
        self,
        server: FastMCP[Any],
        adopted: ToolRegistry[FunctionTool],
        params: types.CallToolRequestParams,
        ctx: SdkContext | None,
        call_next: Continue,
    ) -> None:
        self._server, self._adopted, self._params, self._ctx, self._next = server, adopted, params, ctx, call_next

    async def run(self, call: Call, key: str | None) -> dict[str, Any]:
        function = await self._find(call.tool.name)
        forward_key(self._params, call, key)
        self._params.arguments = _accepted_arguments(function, self._params.arguments or {}, call.tool.contract)
        with watching(call.principal.mode) as outcome, self._context_for_function():
            try:
                return _wire_form(await self._next())
            except Exception as error:
                return _result_of_exception(error, outcome)

    async def read(self, tool: str, arguments: Mapping[str, Any], call: Call) -> dict[str, Any]:
        with watching(call.principal.mode) as ran:
            try:
                await self._find(tool)
                with self._context_for_function():
                    return _wire_form(await self._server.call_tool(tool, dict(arguments), run_middleware=False))
            except Exception as error:
                return refused_read(ran, error, (ToolError, ResourceError))

    async def _find(self, name: str) -> Callable[..., Any]:
        """Return the function of this name; it must be the one with the contract, because transforms can replace it."""
        function = getattr(await self._server.get_tool(name), "fn", None)
        if function is None or not self._adopted.is_function(name, function):
            raise NotRun("The server has no such function of its own.")
        return cast("Callable[..., Any]", function)

    @contextmanager
    def _context_for_function(self) -> Iterator[None]:
        """Set the context for the function: without our part of the request state, and marked for nested calls."""
        if self._ctx is None:
            yield
            return
        ctx = replace(self._ctx, params=_own_params(self._ctx.params or {}, self._params))
        token = _governing.set(ctx)
        try:
            with bind_request_context(ctx):
                yield
        finally:
            _governing.reset(token)


def caches(server: FastMCP[Any]) -> bool:
    """Whether a cache would give one caller's answer to another without governance."""
    return any(isinstance(one, ResponseCachingMiddleware) for one in server.middleware)


def own_functions(server: FastMCP[Any]) -> list[FunctionTool]:
    """Return the functions of the server itself; FastMCP's public listing is async."""
    return [one for one in server.local_provider._components.values() if isinstance(one, FunctionTool)]


def _without_mentions(tool: AnyTool, absent: Mentions) -> AnyTool:
    said = {"description": tool.description, "parameters": tool.parameters}
    return tool.model_copy(update=absent.clean(said)) if absent else tool


def _accepted_arguments(function: Callable[..., Any], arguments: dict[str, Any], contract: Contract) -> dict[str, Any]:
    """Return the arguments without those that only the contract adds, because FastMCP refuses unknown ones."""
    offered = {contract.idempotency.argument, contract.dry_run.argument} & set(arguments)
    if not offered:
        return arguments
    own = inspect.signature(function).parameters
    return {name: value for name, value in arguments.items() if name in own or name not in offered}


def _sdk_context(context: Context | None) -> SdkContext | None:
    wrapper = context.request_context if context is not None else None
    return wrapper._srctx if wrapper is not None else None


def _meta_of(ctx: SdkContext | None) -> Mapping[str, Any] | None:
    """Return the whole `_meta` as sent; FastMCP passes on only its own part."""
    said = (ctx.params or {}).get("_meta") if ctx is not None else None
    return said if isinstance(said, Mapping) else None


def _own_params(sent: Mapping[str, Any], params: types.CallToolRequestParams) -> dict[str, Any]:
    own = {key: value for key, value in sent.items() if key not in ("requestState", "inputResponses")}
    if params.request_state is not None:
        own["requestState"] = params.request_state
    asked = params.input_responses or {}
    answers = {key: said for key, said in (sent.get("inputResponses") or {}).items() if key in asked}
    return {**own, "inputResponses": answers} if answers else own


def _wire_form(result: Any) -> dict[str, Any]:
    if isinstance(result, InputRequiredToolResult):
        return raw_of(result.input_required)
    if not isinstance(result, ToolResult):
        raise OutcomeUnknown("another extension answered in the tool's place")
    said = result.to_mcp_result()
    if isinstance(said, types.CallToolResult):
        return raw_of(said)
    content, structured = said if isinstance(said, tuple) else (said, None)
    return raw_of(types.CallToolResult(content=content, structured_content=structured))


def _result_of_exception(error: Exception, outcome: FunctionOutcome) -> dict[str, Any]:
    """Return the result for an exception: the tool's own refusal, or a failure without effect; else raise it."""
    if isinstance(outcome.raised, ToolFailed):
        raise outcome.raised
    if isinstance(outcome.raised, MCPError):
        raise OutcomeUnknown(outcome.raised.message, outcome.raised) from None
    if isinstance(outcome.raised, ToolError | ResourceError):
        return raw_of(types.CallToolResult(content=[types.TextContent(text=str(outcome.raised))], is_error=True))
    if outcome.entered:
        raise OutcomeUnknown(type(outcome.raised or error).__name__) from error
    if isinstance(error, MCPError):
        raise NotRun(error.message, error) from None
    raise NotRun(_describe_refused_arguments(error)) from None


def _describe_refused_arguments(error: Exception) -> str:
    """Name the arguments that the function does not accept, without their values."""
    cause = error.__cause__
    if not isinstance(cause, PydanticError):
        return f"The tool did not run: {type(error).__name__}."
    said = [f"{'.'.join(map(str, one['loc']))}: {one['type']}" for one in cause.errors(include_input=False)[:10]]
    return "The tool refused the arguments: " + "; ".join(said)
