"""Runs tool calls and lists of the HTTP gateway and of `assent wrap` through the pipeline."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter
from typing import Any

import orjson

from assent.core.approval import Approval
from assent.core.call import Request, UserAnswer
from assent.core.limited_dict import LimitedDict
from assent.core.outcome import INPUT_REQUIRED, Answer, Outcome, Pause, Refusal
from assent.core.principal import Principal
from assent.core.problems import error_result, fit_to_listing
from assent.core.tool import Tool
from assent.gateway.auth.challenges import Challenge, challenge
from assent.gateway.connections import (
    ConnectQuestion,
    is_decided_on_its_page,
    leads_to_a_page,
    needs_its_page,
    wait_for_decision,
)
from assent.mcp.channel import CannotAsk, asks_of
from assent.mcp.confirmation import ConfirmationCodec, ConnectAnswer, Retry, form_of, shows_forms, user_answer
from assent.mcp.jsonrpc import RpcError, check_no_task
from assent.mcp.protocol import HEADER_MISMATCH, INVALID_PARAMS, SERVER_INFO_META_KEY
from assent.mcp.request_state import RequestStateCodec
from assent.mcp.requests import CONVERSATION, META_KEY, MODERN, USER_TEXT, McpRequest, conversation_of, keys_of
from assent.mcp.tracing import TOOL_ERROR, TRACING, describe_call
from assent.pipeline.confirm_on_stream import confirm_on_stream, confirm_with_result
from assent.pipeline.discover import visible_tools
from assent.pipeline.govern import govern
from assent.pipeline.tool_mentions import Mentions, absent_mentions
from assent.ports import Ports
from assent.upstreams.link import UpstreamLink, UpstreamLinks

calls_log = logging.getLogger("assent.calls")

MOST_LISTS = 1000
_FIRST_TRY = Retry()


class ToolService:
    """Serves `tools/call` and `tools/list`."""

    def __init__(
        self,
        ports: Ports,
        links: Mapping[str, UpstreamLink],
        state: RequestStateCodec,
        *,
        server_info: dict[str, Any],
        metadata_url: str | None = None,
        add_duration: Callable[[float], None] = lambda _: None,
        connect_question: ConnectQuestion | None = None,
        on_step_up: Callable[[Principal, Refusal], Awaitable[None]] | None = None,
    ) -> None:
        self._connect_question, self._on_step_up = connect_question, on_step_up
        self._add_duration = add_duration
        self._ports = ports._replace(upstream=UpstreamLinks(links, ports.catalogue))
        self._links, self._codec = links, ConfirmationCodec(state)
        self._server_info, self._metadata_url = server_info, metadata_url
        self._lists = LimitedDict[tuple[Any, ...], bytes](MOST_LISTS)

    def absent(self, principal: Principal) -> Mentions:
        """The tools of which this caller may read nothing."""
        return absent_mentions(self._ports.catalogue(), principal)

    async def listing(self, mcp_request: McpRequest) -> bytes:
        """The tools that the caller may see. The bytes are cached for all callers with the same rights."""
        principal, catalogue = mcp_request.caller, self._ports.catalogue()
        if mcp_request.session is not None and any(link.streams for link in self._links.values()):
            await mcp_request.reply.open()
        modern = mcp_request.era is MODERN
        policies = self._ports.rules.policies
        rights = (principal.has_agent, principal.mode, principal.scopes, principal.only)
        hidden = await self._hidden_from(mcp_request)
        cache_key = (modern, hidden, *(rights if policies is None else (principal, principal.method)))
        prepared = self._lists.get(cache_key)
        if prepared is None:
            tools = visible_tools(catalogue, principal, self._ports.rules)
            tools = [tool for tool in tools if (tool.upstream, tool.wire_name) not in hidden]
            prepared = self._lists[cache_key] = self._prepare(tools, self.absent(principal), modern)
        return prepared

    async def _hidden_from(self, mcp_request: McpRequest) -> frozenset[tuple[str, str]]:
        """The tools, by upstream, that the upstreams themselves do not list to a client with these capabilities."""
        found: set[tuple[str, str]] = set()
        for name, link in self._links.items():
            if link.conditional_tools:
                hidden = await link.conditional_tools.hidden_from(asks_of(mcp_request.capabilities))
                found.update((name, tool) for tool in hidden)
        return frozenset(found)

    def _prepare(self, tools: list[Tool], absent: Mentions, modern: bool) -> bytes:
        result: dict[str, Any] = {"tools": [absent.clean(tool.definition) for tool in tools]}
        if modern:
            result |= {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
            result["_meta"] = {SERVER_INFO_META_KEY: self._server_info}
        return orjson.dumps(result)

    async def call(self, mcp_request: McpRequest) -> bytes:
        """Runs one call through the pipeline and asks the user on the stream if the contract requires it."""
        begun = perf_counter()
        params, principal = mcp_request.params, mcp_request.caller
        modern = mcp_request.era is MODERN
        if not modern:
            check_no_task(params)  # The modern era has no such parameter and ignores it.
        meta = params.get("_meta") or {}
        is_retry = modern and ("requestState" in params or "inputResponses" in params)
        retry = self._codec.read(params, principal) if is_retry else _FIRST_TRY
        can_ask = _can_ask(mcp_request)
        request = Request(
            params["name"],
            params.get("arguments"),
            principal,
            keys_of(mcp_request.key, meta) if mcp_request.key is not None or META_KEY in meta else (),
            retry.answer,
            retry.resume,
            can_ask,
            mcp_request.presence,
            retry.beside,
            conversation_of(meta) if CONVERSATION in meta or USER_TEXT in meta else None,
            mcp_request.mirrors if modern else None,
            mcp_request,
            mcp_request.client if can_ask else "",
        )
        mcp_request.answers = retry.forward
        try:
            if retry.page:
                await wait_for_decision(retry.page, self._ports)
            if modern and retry.connect is None:
                outcome = await confirm_with_result(request, self._ports)
            else:
                outcome = await self._run(request, mcp_request, retry.connect)
        finally:
            self._add_duration(perf_counter() - begun)
        if self._on_step_up is not None and isinstance(outcome, Refusal) and outcome.code == "step_up.required":
            await self._on_step_up(principal, outcome)
        self._describe(outcome, request.tool)
        wire = self._on_wire(outcome, mcp_request, principal, retry)
        if isinstance(outcome, Answer) and outcome.text is not None and wire is outcome.result:
            return outcome.text
        return orjson.dumps(wire)

    async def _run(self, request: Request, mcp_request: McpRequest, answer: ConnectAnswer | None) -> Outcome:
        """Runs the pipeline. A handshake-era client is asked meanwhile; a modern one brings its answers."""
        question, modern, ports = self._connect_question, mcp_request.era is MODERN, self._ports
        if question is not None and answer is not None and answer.accepted:
            await question.wait(answer.upstream, answer.scope, request.principal)
        if modern:
            return await confirm_with_result(request, ports)
        outcome = await govern(request, ports)
        if question is not None and await question.is_answered(outcome, mcp_request):
            outcome = await govern(request, ports)
        if isinstance(outcome, Pause):
            return await self._ask_and_retry(request, outcome, mcp_request)
        if await is_decided_on_its_page(outcome, mcp_request, ports):
            outcome = await govern(request, ports)
        return outcome

    def _describe(self, outcome: Outcome, name: str) -> None:
        """Reports the outcome to traces and the debug log; an unknown tool's name is left out, as it is caller text."""
        if not TRACING.is_on and not calls_log.isEnabledFor(logging.DEBUG):
            return
        code = "answered" if isinstance(outcome, Answer) else outcome.code
        tool = None if code == "discover.unknown_tool" else name
        if TRACING.is_on:
            broken = TOOL_ERROR if isinstance(outcome, Answer) and outcome.result.get("isError") else None
            describe_call(tool, code, code if isinstance(outcome, Refusal) else broken)
        calls_log.debug("tools/call", extra={"tool": tool, "outcome": code})

    async def _ask_and_retry(self, request: Request, outcome: Outcome, mcp_request: McpRequest) -> Outcome:
        """Asks on the open stream and runs the pipeline again with the answer."""
        info = mcp_request.session.client_info if mcp_request.session is not None else None

        async def ask(approval: Approval) -> UserAnswer | None:
            try:
                answer = await mcp_request.reply.ask("elicitation/create", form_of(approval, mcp_request.version))
            except (CannotAsk, RpcError):
                return None
            said = user_answer(approval.id, answer, mcp_request.params.get("_meta"), info)
            return said or UserAnswer(approval.id, "cancel")

        return await confirm_on_stream(request, outcome, self._ports, ask)

    def _on_wire(self, outcome: Outcome, mcp_request: McpRequest, principal: Principal, retry: Retry) -> dict[str, Any]:
        beside, modern, name = retry.beside, mcp_request.era is MODERN, mcp_request.params["name"]
        if isinstance(outcome, Pause):
            return self._codec.ask(outcome.approval, mcp_request.version, principal, name, beside)
        if isinstance(outcome, Refusal):
            if modern and retry.connect is None and leads_to_a_page(outcome, mcp_request):
                return self._codec.ask_to_connect(outcome, mcp_request.version, principal, name, beside)
            if modern and retry.page is None and needs_its_page(outcome, mcp_request):
                return self._codec.ask_to_decide(outcome, mcp_request.version, principal, name, beside)
            return self._refused(outcome, name, principal, modern)
        if outcome.result.get("resultType") == INPUT_REQUIRED:
            return self._codec.pass_question(outcome, mcp_request.params.get("arguments"), principal, name, beside)
        return self._complete(outcome.on_wire() if outcome.replayed else outcome.result, name, modern)

    def _refused(self, refusal: Refusal, name: str, principal: Principal, modern: bool) -> dict[str, Any]:
        if refusal.code == "discover.unknown_tool":
            raise RpcError(INVALID_PARAMS, refusal.detail)
        if refusal.code == "validate.header_mismatch":
            raise RpcError(HEADER_MISMATCH, refusal.detail)
        tool = self._ports.catalogue().find(name)
        problem = refusal.problem(failure=tool is not None and tool.failure_names)
        required = challenge(refusal, principal, self._metadata_url)
        if required is not None:
            status, header = required
            raise Challenge(status, problem, [(b"www-authenticate", header.encode())])
        return self._complete(error_result(problem), name, modern)

    def _complete(self, result: dict[str, Any], name: str, modern: bool) -> dict[str, Any]:
        """The result in the caller's era, with the problem in a form that clients accept."""
        tool = self._ports.catalogue().find(name) if result.get("isError") else None
        return _complete(result if tool is None else fit_to_listing(result, tool.definition), modern)


def _complete(result: dict[str, Any], modern: bool) -> dict[str, Any]:
    """The result in the caller's era, without members of the other era."""
    if modern:
        return result if "resultType" in result else {**result, "resultType": "complete"}
    old = {key: value for key, value in result.items() if key not in ("resultType", "_meta")}
    meta = {key: value for key, value in result.get("_meta", {}).items() if key != SERVER_INFO_META_KEY}
    return {**old, "_meta": meta} if meta else old


def _can_ask(mcp_request: McpRequest) -> bool:
    """Whether the client can show a form and return the answer."""
    if not mcp_request.capabilities or not shows_forms(mcp_request.capabilities):
        return False
    return mcp_request.era is MODERN or mcp_request.session is not None
