"""The link to an MCP upstream: sends governed calls and other requests, whichever eras the two ends speak."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from assent.core.call import Call
from assent.core.catalogue import Catalogue
from assent.core.principal import Principal
from assent.core.tool import Tool
from assent.mcp.channel import CannotAsk, asks_of
from assent.mcp.jsonrpc import ENVELOPE_KEYS, RpcError
from assent.mcp.mirrored_headers import mirror_arguments
from assent.mcp.protocol import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    LOG_LEVEL_META_KEY,
    LOG_LEVELS,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    URL_ELICITATION_REQUIRED,
)
from assent.mcp.requests import META_KEY, Era, McpRequest
from assent.mcp.server_identity import Described
from assent.mcp.tracing import CARRIED, LONGEST, TRACING, inject_trace_context
from assent.ports import NotReached, NotRun, OutcomeUnknown
from assent.upstreams.conditional_tools import ConditionalTools
from assent.upstreams.errors import NotConnected, Unauthorized, UpstreamError, safe_error_text
from assent.upstreams.resources import ListedResources
from assent.upstreams.subscriptions import Notice, Subscriptions
from assent.upstreams.suspended_calls import Ask, SuspendedCalls, UnknownRequestState
from assent.web.asgi import Headers

if TYPE_CHECKING:
    from assent.upstreams.compiled_tools import CompiledTools, UpstreamPolicy
    from assent.upstreams.http.pool import Pool

logger = logging.getLogger(__name__)

Result = Coroutine[Any, Any, dict[str, Any]]
MOST_ROUNDS = 10
_ROUND_PARAMS = frozenset({"_meta", "inputResponses", "requestState"})
# Errors that mean the tool did not run.
_BEFORE_RUNNING = frozenset(
    {
        INVALID_REQUEST,
        METHOD_NOT_FOUND,
        INVALID_PARAMS,
        URL_ELICITATION_REQUIRED,
        MISSING_REQUIRED_CLIENT_CAPABILITY,
    }
)


class UpstreamLink:
    """The connection to one upstream, as the gateway uses it."""

    pools: tuple[Pool, ...] = ()
    """The connections that only this link uses."""
    conditional_tools: ConditionalTools | None = None
    is_local_document = is_process = False
    streams = False
    """Whether the upstream answers in sessions with streams, as its callers then do too."""
    per_user = False
    """Whether each person has an account of their own there."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def described(self) -> Described | None:
        """The upstream's last description of itself."""
        raise NotImplementedError

    async def load(self) -> list[dict[str, Any]]:
        """Load every tool definition as the upstream wrote it. Raises UpstreamError if that fails."""
        raise NotImplementedError

    def run(self, call: Call, key: str | None, mcp_request: McpRequest) -> Result:
        """Run a governed call."""
        raise NotImplementedError

    def read(self, tool: Tool, arguments: Mapping[str, Any], call: Call, mcp_request: McpRequest) -> Result:
        """Call another, read-only tool of the upstream; the client is not asked anything."""
        raise NotImplementedError

    async def missing_connection(self, principal: Principal) -> str | None:
        """What a person must allow before this caller can be served: a scope, or "" for any; None if nothing."""
        return None

    def note_tools(self, tools: Sequence[Tool]) -> None:
        """Learn which tools, with their contracts, the server has."""

    def subscriptions(self, notice: Notice) -> Subscriptions | None:
        """The gateway's subscriptions there; None if it sends no notifications."""
        return None

    async def retire(self, patience: float) -> None:
        """Wait for running requests within a bound, then close."""
        await self.close()

    async def close(self) -> None:
        """Close what the link has beside its pools."""


@runtime_checkable
class DocumentLink(Protocol):
    """A link whose tools come from a document that the operator chose. They are not pinned."""

    @property
    def excluded(self) -> Mapping[str, str]:
        """The operations that can be no tool, each with the reason."""

    def take_in(
        self,
        overlays: Mapping[str, Mapping[str, Any]],
        policy: UpstreamPolicy,
        unaccepted: Mapping[str, str] | None = None,
    ) -> CompiledTools:
        """Compile the operations; a contract file's fields replace those of the document."""


class McpLink(UpstreamLink):
    """The part of a link that is the same for every MCP server, over HTTP or stdio."""

    conditional_tools: ConditionalTools

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.conditional_tools = ConditionalTools(name, self._list_as)

    def run(self, call: Call, key: str | None, mcp_request: McpRequest) -> Result:
        arguments = arguments_with_key(call, key)
        params = {"name": call.tool.wire_name, "arguments": arguments, **mcp_request.answers}
        meta, fields = _meta(mcp_request), param_headers(call.tool, arguments)
        if key is not None:
            forward = call.tool.key_forward
            if forward == "meta":
                meta[META_KEY] = key
            elif forward == "header":
                fields = [*fields, (b"idempotency-key", key.encode())]
        if TRACING.is_on:
            return self._traced_call(call, params, fields, mcp_request, meta)
        if meta:
            params["_meta"] = meta
        return self._call_tool(call, params, fields, mcp_request)

    async def _traced_call(
        self, call: Call, params: dict[str, Any], fields: Headers, mcp_request: McpRequest, meta: dict[str, Any]
    ) -> dict[str, Any]:
        with TRACING.upstream("tools/call", self.name, call.tool.name):
            params["_meta"] = inject_trace_context(meta)
            return await self._call_tool(call, params, fields, mcp_request)

    def read(self, tool: Tool, arguments: Mapping[str, Any], call: Call, mcp_request: McpRequest) -> Result:
        if mcp_request.era is Era.MODERN:
            mcp_request = replace(mcp_request, capabilities=None)
        params = {"name": tool.wire_name, "arguments": dict(arguments)}
        return self._call_tool(call, params, param_headers(tool, arguments), mcp_request, safe=True)

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """The upstream's declared capabilities; empty until it has described itself."""
        return self.described.capabilities if self.described is not None else {}

    async def ask(self, method: str, params: Mapping[str, Any], mcp_request: McpRequest) -> dict[str, Any]:
        """Send any other request for a caller. Raises `RpcError` as the upstream sent it, and what a call raises."""
        sent = {name: value for name, value in params.items() if name != "_meta"}
        with TRACING.upstream(method, self.name, None):
            if meta := inject_trace_context(_meta(mcp_request)):
                sent["_meta"] = meta
            result = await self._request(method, sent, [], mcp_request, safe=True)
            return await self._ask_for(result, method, sent, [], mcp_request, safe=True)

    async def _call_tool(
        self, call: Call, params: dict[str, Any], fields: Headers, mcp_request: McpRequest, *, safe: bool = False
    ) -> dict[str, Any]:
        reads = call.tool.is_read
        try:
            result = await self._request("tools/call", params, fields, mcp_request, safe=safe or reads)
            if result.get("resultType") == "input_required":
                result = await self._ask_for(result, "tools/call", params, fields, mcp_request, safe=safe or reads)
            if _is_task(result):
                raise OutcomeUnknown(f"upstream {self.name!r} turned the call into a task, which was not requested")
            return drop_invalid_meta(result)
        except UpstreamError as fault:
            if isinstance(fault, Unauthorized):
                logger.warning("upstream %s refused %s: %s", self.name, call.tool.name, safe_error_text(fault))
            if fault.may_have_run:
                raise OutcomeUnknown(str(fault)) from fault
            scope = fault.scope if isinstance(fault, NotConnected) else None
            raise NotReached(str(fault), scope) from fault
        except RpcError as error:
            if (
                isinstance(error, UnknownRequestState) and call.resume is not None
            ):  # it has begun, whatever became of it
                raise OutcomeUnknown(error.message, error) from error
            if reads and not safe:
                raise OutcomeUnknown(error.message, error) from error
            if error.code in _BEFORE_RUNNING:
                raise NotRun(error.message, error) from error
            detail = f"upstream {self.name!r} answered with error {error.code}"
            raise OutcomeUnknown(detail, said=error.message) from error

    async def _ask_for(
        self,
        result: dict[str, Any],
        method: str,
        params: dict[str, Any],
        fields: Headers,
        mcp_request: McpRequest,
        *,
        safe: bool,
    ) -> dict[str, Any]:
        """The final result. While a modern upstream asks questions, put them to a handshake-era client."""
        for _ in range(MOST_ROUNDS):
            if result.get("resultType") != "input_required" or mcp_request.era is Era.MODERN:
                return result
            answers = await _ask_all(result.get("inputRequests") or {}, mcp_request)
            params = {**params, "inputResponses": answers}
            params.pop("requestState", None)
            if "requestState" in result:
                params["requestState"] = result["requestState"]
            try:
                result = await self._request(method, params, fields, mcp_request, safe=safe)
            except (UpstreamError, RpcError) as error:
                if safe:
                    raise
                raise OutcomeUnknown(
                    f"upstream {self.name!r} failed after it asked a question"
                ) from error  # so it had begun
        raise OutcomeUnknown(f"upstream {self.name!r} asks too many questions")

    async def _list_as(self, capabilities: dict[str, Any]) -> list[dict[str, Any]]:
        """List the tools as a client with these capabilities."""
        raise NotImplementedError

    def _request(
        self, method: str, params: dict[str, Any], fields: Headers, mcp_request: McpRequest, *, safe: bool
    ) -> Result:
        """Send one request as this caller."""
        raise NotImplementedError

    def serves(self, principal: Principal) -> bool:
        """Whether this caller has an endpoint here."""
        raise NotImplementedError

    def listed_resources(self, principal: Principal) -> ListedResources:
        """The resources that it last listed to this person, or to anyone if all share one connection."""
        raise NotImplementedError

    async def list(self, method: str, key: str, mcp_request: McpRequest) -> list[dict[str, Any]]:
        """Every entry of one of its lists."""
        raise NotImplementedError


class UpstreamLinks:
    """The upstreams of one configuration. A call carries the request of its client, which its link needs."""

    __slots__ = ("_catalogue", "_links")

    def __init__(self, links: Mapping[str, UpstreamLink], catalogue: Callable[[], Catalogue]) -> None:
        self._links, self._catalogue = links, catalogue

    def run(self, call: Call, key: str | None) -> Result:
        return self._link(call.tool).run(call, key, call.origin)

    def read(self, tool: str, arguments: Mapping[str, Any], call: Call) -> Result:
        other = self._catalogue().beside(call.tool, tool)
        if other is None or other.contract.side_effect != "read":  # The tool may be withheld by now.
            raise NotReached(f"upstream {call.tool.upstream!r} serves no read tool {tool!r}")
        return self._link(call.tool).read(other, arguments, call, call.origin)

    def _link(self, tool: Tool) -> UpstreamLink:
        link = self._links.get(tool.upstream)
        if link is None:
            raise NotReached(f"upstream {tool.upstream!r} is no longer configured")
        return link


def _is_task(result: Mapping[str, Any]) -> bool:
    """Whether an upstream answered a call with a task instead of a result."""
    handle = isinstance(result.get("task"), Mapping) and "content" not in result
    return result.get("resultType") == "task" or handle


def param_headers(tool: Tool, arguments: Mapping[str, Any]) -> Headers:
    """The `Mcp-Param-*` headers in which a tool wants its arguments mirrored, in either era of the caller."""
    named = tool.header_names
    if not named:
        return []
    headers = mirror_arguments(named, arguments)
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


def drop_invalid_meta(result: dict[str, Any]) -> dict[str, Any]:
    """Drop a `_meta` that is not an object, such as null, because Assent adds its own marks there."""
    if isinstance(result.get("_meta", {}), dict):
        return result
    return {name: value for name, value in result.items() if name != "_meta"}


def arguments_with_key(call: Call, key: str | None) -> dict[str, Any]:
    """The arguments for the upstream: without Assent's own, and with the key if it is an argument."""
    contract, arguments = call.tool.contract, dict(call.arguments)
    if key is None and not call.tool.own_arguments:
        return arguments
    if contract.dry_run.mode != "none" and not call.tool.rehearses:
        arguments.pop(contract.dry_run.argument, None)
    argument = contract.idempotency.argument
    if argument is not None and not call.tool.takes_key:
        arguments.pop(argument, None)
    if key is not None and contract.idempotency.forward == "argument" and argument is not None:
        arguments[argument] = key
    return arguments


async def _ask_all(questions: dict[str, Any], mcp_request: McpRequest) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for name, question in questions.items():
        try:
            answers[name] = await mcp_request.reply.ask(question["method"], question.get("params") or {})
        except (CannotAsk, RpcError, KeyError, TypeError):
            raise OutcomeUnknown("the tool asked a question that this client cannot answer") from None
    return answers


def _meta(mcp_request: McpRequest) -> dict[str, Any]:
    """The part of the caller's `_meta` that an upstream may see: the progress token and the trace context.

    Neither describes the action. Anything else would reach the upstream without being digested, shown to a person
    or logged.
    """
    meta, kept = mcp_request.params.get("_meta"), dict[str, Any]()
    if isinstance(meta, dict) and not meta.keys() <= ENVELOPE_KEYS:
        if meta.get("progressToken").__class__ in (int, str):
            kept["progressToken"] = meta["progressToken"]
        for name in CARRIED:
            if isinstance(value := meta.get(name), str) and len(value) <= LONGEST:
                kept[name] = value
    return kept


def with_log_level(params: dict[str, Any], mcp_request: McpRequest) -> dict[str, Any]:
    """Add the caller's log level to a request for a modern upstream; a handshake-era session sets it once."""
    session, meta = mcp_request.session, mcp_request.params.get("_meta")
    level = session.log_level if session is not None else None
    if level is None and isinstance(meta, dict):
        level = meta.get(LOG_LEVEL_META_KEY)
    if level not in LOG_LEVELS:
        return params
    return {**params, "_meta": {**params.get("_meta", {}), LOG_LEVEL_META_KEY: level}}


async def suspended_call(
    suspended_calls: SuspendedCalls, method: str, params: dict[str, Any], mcp_request: McpRequest, request: Ask
) -> dict[str, Any]:
    """Run a request at an upstream that asks on the stream, for a client that calls again with its answers."""
    principal, capabilities = mcp_request.caller, asks_of(mcp_request.capabilities)
    request_key = method, {name: value for name, value in params.items() if name not in _ROUND_PARAMS}
    owner, reply = (principal.tenant, principal.id), mcp_request.reply
    token = (params.get("_meta") or {}).get("progressToken")
    if "requestState" in params:
        responses = params.get("inputResponses")
        return await suspended_calls.resume(params["requestState"], owner, request_key, responses, reply, token)
    if not capabilities:
        return await request(reply)
    return await suspended_calls.begin(request, owner, request_key, capabilities, reply, token)
