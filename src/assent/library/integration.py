"""What the integrations of both frameworks share: the registry, the list per caller, and the path of a call."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Generic, TypeVar, cast

import anyio
import mcp_types as types
from mcp.server import Server
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp_types.version import LATEST_MODERN_VERSION
from pydantic import BaseModel

from assent.core.call import Call
from assent.core.catalogue import Catalogue
from assent.core.outcome import INPUT_REQUIRED, Answer, Pause, Refusal
from assent.core.principal import Principal
from assent.core.recorded_tools import record_of
from assent.core.tool import Tool
from assent.errors import StoreError
from assent.library.calls import (
    answered_result,
    govern_in_band,
    protocol_error,
    raw_of,
    read_retry,
    refused_result,
    request_of,
)
from assent.library.registry import Compile, FunctionT, ToolRegistry
from assent.mcp.confirmation import ConfirmationCodec
from assent.pipeline.authenticate import authenticate
from assent.pipeline.discover import visible_tools
from assent.pipeline.other_requests import LISTS, OtherRequests
from assent.pipeline.tool_mentions import Mentions, absent_mentions
from assent.ports import Ports, Store, Upstream

logger = logging.getLogger(__name__)
IDENTIFIER = "dev.assent/contracts"
_LONGEST_FLUSH = 5.0
"""Seconds that the end of a server waits for the last entries of its log."""
SdkContext = ServerRequestContext[Any, Any]
FindPrincipal = Callable[[SdkContext | None], Awaitable[Principal]]
ServerT = TypeVar("ServerT")


def keep_log_readable(server: Server[Any], ports: Ports, notifier: Any = None) -> None:
    """Record the tools in the store when the server starts, for the console and commands in other processes, and write
    the entries that wait for the next batch when it ends: at the end of a stdio session, or of the HTTP server. People
    are notified in between.
    """
    inner, store = server.lifespan, ports.store

    @asynccontextmanager
    async def lifespan(app: Server[Any]) -> AsyncIterator[Any]:
        async with inner(app) as state:
            await record_tools(str(server.name), ports)
            if notifier is not None:
                notifier.start()
            try:
                yield state
            finally:
                if notifier is not None:
                    await notifier.stop()
                with anyio.move_on_after(_LONGEST_FLUSH, shield=True):
                    await _flush(store)

    server.lifespan = lifespan


async def record_tools(server: str, ports: Ports) -> None:
    """Record the tools under the server's name, if they changed."""
    record = record_of(server, ports.catalogue())
    if record is None:
        return logger.warning(
            "the tools of %s are too large to record, so a console elsewhere does not show them", server
        )
    with suppress(StoreError):  # Only the console and the words of the feed in other processes would be missing.
        known = await ports.store.document(*record.name, ports.now())
        if known is None or known.body != record.body:
            await ports.store.put_document(record, ports.now())


def list_annotations(catalogue: Callable[[], Catalogue]) -> ServerMiddleware[Any]:
    """Middleware that lists hints under historic names, which the frameworks' own types do not have."""

    async def middleware(ctx: SdkContext, call_next: CallNext) -> HandlerResult:
        result = await call_next(ctx)
        if ctx.method != "tools/list" or ctx.request_id is None or result is None:
            return result
        said, tools = raw_of(result), catalogue().tools
        listed = [
            {**one, "annotations": tools[one["name"]].definition["annotations"]} if one["name"] in tools else one
            for one in said["tools"]
        ]
        return {**said, "tools": listed}

    return middleware


async def _flush(store: Store) -> None:
    try:
        await store.flush()
    except StoreError as error:
        logger.error("the last entries of the log were not written: %s", error)


class ServerIntegration(Generic[ServerT, FunctionT]):
    """One governed server. A subclass connects it to its framework."""

    def __init__(
        self,
        ports: Ports,
        find_principal: FindPrincipal,
        codec: ConfirmationCodec,
        compile_tools: Compile,
        console: Any = None,
        notifier: Any = None,
        *,
        historic_names: bool = False,
    ) -> None:
        self._ports, self._find_principal, self._codec = ports, find_principal, codec
        self._console, self._notifier, self._historic_names = console, notifier, historic_names
        self._server: ServerT | None = None
        self._adopted: ToolRegistry[FunctionT] = ToolRegistry(compile_tools, self._stamp)

    def _stamp(self, function: FunctionT, compiled: Tool) -> None:
        """Put the contract's derived fields on a framework's tool."""
        raise NotImplementedError

    def catalogue(self) -> Catalogue:
        return self._adopted.catalogue

    def _bind(self, server: ServerT, name: str, functions: Callable[[], Sequence[FunctionT]]) -> bool:
        """Derive every definition from its contract; False if the server was bound before and only its tools are
        new.
        """
        if self._server is server:
            self._adopted.adopt()
            return False
        if self._server is not None:
            raise ValueError("One Assent governs one server; make another Assent for this one.")
        self._adopted.bind(name, functions)
        self._server = server
        return True

    def _connect(self, server: ServerT, lowlevel: Server[Any], *filters: ServerMiddleware[Any]) -> None:
        """Add to the server what both frameworks need; `filters` are the framework's own middleware for lists."""
        hints = [list_annotations(self.catalogue)] if self._historic_names else []
        others = govern_others(self._ports, self._find_principal, str(lowlevel.name))
        lowlevel.middleware += [*hints, *filters, others]
        lowlevel.get_tool_input_schema = self._adopted.public_schema
        keep_log_readable(lowlevel, self._ports, self._notifier)
        if self._console is not None:
            self._console.mount(server)

    async def _visible_to(self, ctx: SdkContext) -> tuple[set[str], Mentions]:
        """The names that `tools/list` shows the caller, and the tools that the caller must not read about."""
        self._adopted.adopt_new()
        try:
            principal = await self._find_principal(ctx)
        except Refusal as refusal:
            raise protocol_error(refusal) from None
        catalogue = self.catalogue()
        names = {tool.name for tool in visible_tools(catalogue, principal, self._ports.rules)}
        return names, absent_mentions(catalogue, principal)

    async def _govern(
        self,
        params: types.CallToolRequestParams,
        ctx: SdkContext | None,
        meta: Mapping[str, Any] | None,
        upstream: Upstream,
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Authenticate the caller, run one call through the pipeline, and return its outcome as an SDK result."""
        ports, name = self._ports._replace(upstream=upstream), params.name
        try:
            principal = await authenticate(self._find_principal(ctx), name, ports)
        except Refusal as refusal:
            return refused_result(refusal, name, self.catalogue())
        retry = read_retry(params, principal, self._codec, meta)
        request = request_of(params, principal, retry, ctx, meta)
        outcome = await govern_in_band(request, ports, ctx, meta)
        if isinstance(outcome, Refusal):
            return refused_result(outcome, name, self.catalogue())
        if isinstance(outcome, Answer) and outcome.result.get("resultType") != INPUT_REQUIRED:
            return answered_result(outcome, name, self.catalogue())
        if isinstance(outcome, Pause):
            version = ctx.protocol_version if ctx is not None else LATEST_MODERN_VERSION
            question = self._codec.ask(outcome.approval, version, principal, name, retry.beside)
        else:
            question = self._codec.pass_question(outcome, request.arguments, principal, name, retry.beside)
        return types.InputRequiredResult.model_validate(question)


def forward_key(params: types.CallToolRequestParams, call: Call, key: str | None) -> None:
    """Give the function the key that its contract wants as an argument."""
    idempotency = call.tool.contract.idempotency
    if key is not None and idempotency.forward == "argument" and idempotency.argument:
        params.arguments = {**call.arguments, idempotency.argument: key}


def put_definition(tool: Any, compiled: Tool) -> None:
    """Put the contract's derived fields on a framework's tool; both frameworks name them alike."""
    said = compiled.definition
    tool.title = said.get("title")
    tool.description = said.get("description", tool.description)
    tool.annotations = types.ToolAnnotations.model_validate(said["annotations"])
    tool.meta = cast("dict[str, Any] | None", said.get("_meta"))
    tool.parameters = cast("dict[str, Any]", said["inputSchema"])
    if tool.output_schema is not None:
        tool.__dict__["output_schema"] = said.get("outputSchema")


_LISTS = frozenset({"resources/list", "resources/templates/list", "prompts/list"})
_GOVERNED = frozenset({"resources/read", "resources/subscribe", "prompts/get", "completion/complete"})
_FIELDS = {"resources": "resources", "resourceTemplates": "resource_templates", "prompts": "prompts"}


def govern_others(ports: Ports, find_principal: FindPrincipal, upstream: str) -> ServerMiddleware[Any]:
    """A middleware of the SDK's low-level server that applies policies beside tools."""
    others = OtherRequests(ports)

    async def middleware(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.request_id is None or ctx.method.startswith("tools/"):
            return await call_next(ctx)
        if not others.applies() and not others.remembers(ctx.method):
            return await call_next(ctx)
        if ctx.method not in _LISTS and ctx.method not in _GOVERNED:
            return await call_next(ctx)
        try:
            principal = await find_principal(ctx)
            others.check(principal, ctx.method, ctx.params, upstream)
        except Refusal as refusal:
            raise protocol_error(refusal) from None
        result = await call_next(ctx)
        if others.remembers(ctx.method):
            shown = result.model_dump(mode="json", by_alias=True) if isinstance(result, BaseModel) else result
            await others.remember(principal, ctx.method, ctx.params, shown)
        return _filtered(result, lambda key, entry: others.shows(principal, key, entry, upstream))

    return middleware


def _filtered(result: HandlerResult, shows: Callable[[str, Any], bool]) -> HandlerResult:
    """A list without the entries that are not shown, as a model of the SDK or as JSON."""
    if isinstance(result, dict):
        kept = {key: [one for one in result[key] if shows(key, one)] for key in LISTS.keys() & result.keys()}
        return {**result, **kept} if kept else result
    if not isinstance(result, BaseModel):
        return result
    found: dict[str, Any] = {}
    for key, field in _FIELDS.items():
        entries = getattr(result, field, None)
        if isinstance(entries, list):
            found[field] = [one for one in entries if shows(key, one.model_dump(mode="json", by_alias=True))]
    return result.model_copy(update=found) if found else result
