"""Runs calls of the gateway and of `assent wrap` through the pipeline, and writes their outcomes for the wire."""

from __future__ import annotations

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, Protocol, cast

import orjson
from mcp_types import INVALID_PARAMS, SERVER_INFO_META_KEY
from opentelemetry.trace import Span

from assent.core.approval import Approval
from assent.core.call import Action, Call, Request, Resume, UserAnswer
from assent.core.catalogue import Catalogue, absent_for
from assent.core.outcome import INPUT_REQUIRED, Answer, Outcome, Pause, Refusal, error_result, fit_to_listing
from assent.core.principal import Principal
from assent.core.tool import Tool
from assent.core.tool_mentions import Mentions, absent_mentions
from assent.gateway.auth.challenges import Challenge, challenge
from assent.gateway.requests import check_param_headers
from assent.mcp.channel import CannotAsk
from assent.mcp.confirmation import CONFIRM
from assent.mcp.idempotency_key import keys_of
from assent.mcp.jsonrpc import RpcError
from assent.mcp.request_state import RequestStateCodec
from assent.mcp.requests import Era, McpRequest
from assent.mcp.tracing import Tracing, describe
from assent.pipeline.ask import confirm_on_stream
from assent.pipeline.authorize import may_see
from assent.pipeline.discover import visible_tools
from assent.pipeline.govern import govern
from assent.ports import NotReached, Ports
from assent.upstreams.base import header_map
from assent.upstreams.tasks import check_no_task

calls_log = logging.getLogger("assent.calls")

MOST_LISTS = 1000
BESIDE = "dev.assent/inputResponses"
"""Under this name the answers that nobody asked for are digested, shown, checked and logged."""
_FORM: dict[str, Any] = {"type": "object", "properties": {}}


class UpstreamLink(Protocol):
    """The way to one upstream."""

    name: str

    @property
    def streams(self) -> bool: ...

    async def run(
        self, call: Call, key: str | None, mcp_request: McpRequest, asked: dict[str, Any]
    ) -> dict[str, Any]: ...

    async def read(
        self, tool: Tool, arguments: Mapping[str, Any], call: Call, mcp_request: McpRequest
    ) -> dict[str, Any]: ...


class UpstreamForCall:
    """The upstreams as one call sees them."""

    __slots__ = ("_asked", "_catalogue", "_links", "_mcp_request")

    def __init__(
        self, links: Mapping[str, UpstreamLink], catalogue: Catalogue, mcp_request: McpRequest, asked: dict[str, Any]
    ) -> None:
        self._links, self._catalogue, self._mcp_request, self._asked = links, catalogue, mcp_request, asked

    async def run(self, call: Call, key: str | None) -> dict[str, Any]:
        return await self._link(call.tool).run(call, key, self._mcp_request, self._asked)

    async def read(self, tool: str, arguments: Mapping[str, Any], call: Call) -> dict[str, Any]:
        other = self._catalogue.beside(call.tool, tool)
        if other is None or other.contract.side_effect != "read":  # withheld, perhaps: no longer what it was
            raise NotReached(f"upstream {call.tool.upstream!r} has no read {tool!r} that is served")
        return await self._link(call.tool).read(other, arguments, call, self._mcp_request)

    def _link(self, tool: Tool) -> UpstreamLink:
        link = self._links.get(tool.upstream)
        if link is None:
            raise NotReached(f"upstream {tool.upstream!r} is gone")
        return link


class ToolService:
    """`call` and `listing` of the gateway, and who the caller is."""

    def __init__(
        self,
        ports: Ports,
        links: Mapping[str, UpstreamLink],
        seal: RequestStateCodec,
        *,
        server_info: dict[str, Any],
        metadata_url: str | None = None,
        tracing: Tracing | None = None,
        took: Callable[[float], None] = lambda _: None,
    ) -> None:
        self._tracing, self._took = tracing or Tracing(), took
        self._ports, self._links, self._seal = ports, links, seal
        self._server_info, self._metadata_url = server_info, metadata_url
        self._lists: OrderedDict[tuple[Any, ...], bytes] = OrderedDict()
        self._listed: Catalogue | None = None

    def renew(self, ports: Ports, server_info: dict[str, Any], metadata_url: str | None) -> None:
        """Serve what comes from now on in another world; calls under way stay in theirs."""
        self._ports, self._server_info, self._metadata_url = ports, server_info, metadata_url
        self._listed = None

    def absent(self, principal: Principal) -> Mentions:
        """The tools of which this caller may read nothing."""
        return absent_mentions(self._ports.catalogue(), principal)

    async def listing(self, mcp_request: McpRequest) -> bytes:
        """The first three verbs over the catalogue, as bytes prepared once for everybody who sees the same."""
        principal, catalogue = _caller(mcp_request), self._ports.catalogue()
        if catalogue is not self._listed:
            self._listed = catalogue
            self._lists.clear()
        if mcp_request.session is not None and any(link.streams for link in self._links.values()):
            await mcp_request.reply.open()
        modern = mcp_request.parsed_request.era is Era.MODERN
        sees = (modern, principal.has_agent, principal.mode, principal.scopes)
        prepared = self._lists.get(sees)
        if prepared is None:
            tools = visible_tools(catalogue, principal, observing=self._ports.mode == "observe")
            prepared = self._lists[sees] = self._prepare(tools, self.absent(principal), modern)
            while len(self._lists) > MOST_LISTS:
                self._lists.popitem(last=False)
        return prepared

    def _prepare(self, tools: list[Tool], absent: Mentions, modern: bool) -> bytes:
        result: dict[str, Any] = {"tools": [absent.clean(tool.definition) for tool in tools]}
        if modern:
            result |= {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
            result["_meta"] = {SERVER_INFO_META_KEY: self._server_info}
        return orjson.dumps(result)

    async def call(self, mcp_request: McpRequest) -> bytes:
        """One call, timed and traced."""
        begun = perf_counter()
        try:
            if not self._tracing.is_on:
                return await self._call(mcp_request, None)
            with self._tracing.span(
                "tools/call", mcp_request.parsed_request.params.get("_meta"), mcp_request.headers
            ) as span:
                return await self._call(mcp_request, span)
        finally:
            self._took(perf_counter() - begun)

    async def _call(self, mcp_request: McpRequest, span: Span | None) -> bytes:
        """One call through the sentence; asked in band where the contract wants a user and the client has one."""
        params, principal = mcp_request.parsed_request.params, _caller(mcp_request)
        if mcp_request.parsed_request.era is Era.HANDSHAKE:
            check_no_task(params)  # The modern era has no such parameter and ignores it.
        self._check_headers(mcp_request, principal)
        reply, resume, asked, beside = self._unwrap(mcp_request, principal)
        request = Request(
            tool=params["name"],
            arguments=params.get("arguments"),
            credentials=principal,
            keys=keys_of(mcp_request.key, params.get("_meta")),
            reply=reply,
            resume=resume,
            can_ask=_can_ask(mcp_request),
            presence=mcp_request.presence,
            beside=beside,
        )
        ports = self._ports.towards(UpstreamForCall(self._links, self._ports.catalogue(), mcp_request, asked))
        outcome = await govern(request, ports)
        if isinstance(outcome, Pause) and mcp_request.parsed_request.era is Era.HANDSHAKE:
            outcome = await self._asked(request, outcome, ports, mcp_request)
        self._describe(outcome, request.tool, span)
        return orjson.dumps(self._on_wire(outcome, mcp_request, principal, beside))

    def _describe(self, outcome: Outcome, name: str, span: Span | None) -> None:
        """Tell traces and the debug log how a call ended; a name that was not found is only what the caller wrote."""
        if span is None and not calls_log.isEnabledFor(logging.DEBUG):
            return
        code = "answered" if isinstance(outcome, Answer) else outcome.code
        tool = None if code == "discover.unknown_tool" else name
        describe(span, tool, code, failed=isinstance(outcome, Refusal))
        calls_log.debug("tools/call", extra={"tool": tool, "outcome": code})

    def _check_headers(self, mcp_request: McpRequest, principal: Principal) -> None:
        """`Mcp-Param-*` headers must mirror the arguments, but only of a tool that this caller can see anyway."""
        if mcp_request.parsed_request.era is not Era.MODERN:
            return
        tool = self._ports.catalogue().find(mcp_request.parsed_request.params["name"])
        if tool is None or not (mcp_request.mirrors or header_map(tool)):
            return
        if absent_for(tool, principal) is None and may_see(principal, tool):
            arguments = mcp_request.parsed_request.params.get("arguments") or {}
            check_param_headers(tool.definition["inputSchema"], arguments, mcp_request.mirrors)

    async def _asked(self, request: Request, outcome: Outcome, ports: Ports, mcp_request: McpRequest) -> Outcome:
        """Ask on the open stream, and say the sentence again with the answer."""

        async def ask(approval: Approval) -> UserAnswer | None:
            try:
                answer = await mcp_request.reply.ask(
                    "elicitation/create", _form(approval, mcp_request.parsed_request.version)
                )
            except (CannotAsk, RpcError):
                return None
            return UserAnswer(approval.id, _action(answer) or "cancel")

        return await confirm_on_stream(request, outcome, ports, ask)

    def _unwrap(
        self, mcp_request: McpRequest, principal: Principal
    ) -> tuple[UserAnswer | None, Resume | None, dict[str, Any], dict[str, Any]]:
        """What a retry answers: our question, or the tool's own; what goes to the upstream; what a call states beside.

        State must be sealed by us, and says which questions were asked: only answers to those are the tool's own.
        Answers that come without state are stated by the caller, as arguments are.
        """
        params = mcp_request.parsed_request.params
        given, state = params.get("inputResponses"), params.get("requestState")
        if mcp_request.parsed_request.era is Era.HANDSHAKE:
            return None, None, {}, {}
        responses = given if isinstance(given, dict) else {}
        if state is None:
            unasked = {name: value for name, value in responses.items() if name != CONFIRM}
            return (None, None, *_beside({BESIDE: unasked} if unasked else {}))
        ours = self._seal.open(state, principal, params["name"]) if isinstance(state, str) else None
        if ours is None:
            raise RpcError(INVALID_PARAMS, "requestState: it is not of this call, or too old; call again without it")
        if "approval" in ours:
            action = _action(responses.get(CONFIRM))
            return (UserAnswer(ours["approval"], action) if action else None, None, *_beside(ours["beside"]))
        if ours["claim"] is None and ours["arguments"] != _digest(params.get("arguments")):
            raise RpcError(INVALID_PARAMS, "requestState: it belongs to other arguments; call again without it")
        asked: dict[str, Any] = {}
        if answers := {name: responses[name] for name in ours["asked"] if name in responses}:
            asked["inputResponses"] = answers
        if ours["state"] is not None:
            asked["requestState"] = ours["state"]
        resume = Resume(ours["claim"], ours["epoch"]) if ours["claim"] is not None else None
        return None, resume, asked, ours["beside"]

    def _on_wire(
        self, outcome: Outcome, mcp_request: McpRequest, principal: Principal, beside: dict[str, Any]
    ) -> dict[str, Any]:
        modern, name = mcp_request.parsed_request.era is Era.MODERN, mcp_request.parsed_request.params["name"]
        if isinstance(outcome, Pause):
            ask = {
                "method": "elicitation/create",
                "params": _form(outcome.approval, mcp_request.parsed_request.version),
            }
            state = self._seal.close({"approval": outcome.approval.id, "beside": beside}, principal, name)
            return {
                "resultType": "input_required",
                "inputRequests": {CONFIRM: ask},
                "requestState": state,
            }
        if isinstance(outcome, Refusal):
            return self._refused(outcome, name, principal, modern)
        result = outcome.on_wire()
        if result.get("resultType") == INPUT_REQUIRED:
            state = self._seal.close({**_question(outcome, mcp_request), "beside": beside}, principal, name)
            return {**result, "requestState": state}
        return self._complete(result, name, modern)

    def _refused(self, refusal: Refusal, name: str, principal: Principal, modern: bool) -> dict[str, Any]:
        if refusal.code == "discover.unknown_tool":
            raise RpcError(INVALID_PARAMS, refusal.detail)
        tool = self._ports.catalogue().find(name)
        problem = refusal.problem(failure=tool is not None and tool.failure_names)
        asked_for = challenge(refusal, principal, self._metadata_url)
        if asked_for is not None:
            status, said = asked_for
            raise Challenge(status, problem, [(b"www-authenticate", said.encode())])
        return self._complete(error_result(problem), name, modern)

    def _complete(self, result: dict[str, Any], name: str, modern: bool) -> dict[str, Any]:
        """The result as the caller's era has it, with a problem where clients accept one."""
        tool = self._ports.catalogue().find(name) if result.get("isError") else None
        return _complete(result if tool is None else fit_to_listing(result, tool.definition), modern)


def _beside(beside: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What goes to the upstream beside the arguments, and the same as the call states it."""
    return {"inputResponses": beside[BESIDE]} if BESIDE in beside else {}, beside


def _question(answer: Answer, mcp_request: McpRequest) -> dict[str, Any]:
    """What we must know of a tool's own question when its answer comes: a read has no claim, only its arguments."""
    resume, questions = answer.resume, answer.result.get("inputRequests")
    return {
        "claim": resume.claim if resume is not None else None,
        "epoch": resume.epoch if resume is not None else 0,
        "arguments": _digest(mcp_request.parsed_request.params.get("arguments")),
        "asked": list(questions) if isinstance(questions, Mapping) else [],
        "state": answer.result.get("requestState"),
    }


def _digest(arguments: Any) -> str:
    return hashlib.sha256(orjson.dumps(arguments or {}, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _action(answer: Any) -> Action | None:
    """What an elicitation's result says the person did."""
    action = answer.get("action") if isinstance(answer, Mapping) else None
    return cast("Action", action) if action in ("accept", "decline", "cancel") else None


def _complete(result: dict[str, Any], modern: bool) -> dict[str, Any]:
    """The result as the caller's era has it; what belongs to the other era alone is left out."""
    if modern:
        return result if "resultType" in result else {**result, "resultType": "complete"}
    old = {key: value for key, value in result.items() if key not in ("resultType", "_meta")}
    meta = {key: value for key, value in result.get("_meta", {}).items() if key != SERVER_INFO_META_KEY}
    return {**old, "_meta": meta} if meta else old


def _caller(mcp_request: McpRequest) -> Principal:
    return cast("Principal", mcp_request.caller)


def _can_ask(mcp_request: McpRequest) -> bool:
    """Whether the client can show a form and bring the answer back."""
    elicitation = (mcp_request.parsed_request.capabilities or {}).get("elicitation")
    if not isinstance(elicitation, Mapping) or ("url" in elicitation and "form" not in elicitation):
        return False
    return mcp_request.parsed_request.era is Era.MODERN or mcp_request.session is not None


def _form(approval: Approval, version: str) -> dict[str, Any]:
    form: dict[str, Any] = {"message": approval.text, "requestedSchema": _FORM}
    return {"mode": "form", **form} if version >= "2025-11-25" else form
