"""Calls inside a server's own process: from the SDK's parameters through the pipeline to the SDK's result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from assent.core.approval import Approval
from assent.core.call import Request, UserAnswer
from assent.core.catalogue import Catalogue
from assent.core.outcome import Answer, Outcome, Refusal
from assent.core.principal import Principal
from assent.core.problems import error_result, fit_to_listing
from assent.mcp.confirmation import ConfirmationCodec, Retry, form_of, shows_forms, user_answer
from assent.mcp.jsonrpc import RpcError
from assent.mcp.requests import client_name, conversation_of, header_of, keys_of
from assent.pipeline.confirm_on_stream import confirm_on_stream, confirm_with_result
from assent.pipeline.govern import govern
from assent.ports import Ports

LONGEST_WAIT = 300.0
_PROTOCOL_CODE = -31_000
"""Base of JSON-RPC error codes: the code is this number minus the status, outside the protocol's reserved range."""


def request_of(
    params: types.CallToolRequestParams,
    principal: Principal,
    retry: Retry,
    ctx: ServerRequestContext[Any, Any] | None,
    meta: Mapping[str, Any] | None,
) -> Request:
    """Return the request as the pipeline takes it."""
    return Request(
        tool=params.name,
        arguments=params.arguments,
        principal=principal,
        keys=keys_of(header_of(getattr(ctx and ctx.request, "headers", None)), meta),
        reply=retry.answer,
        resume=retry.resume,
        can_ask=ctx is not None and can_ask(ctx),
        beside=retry.beside,
        conversation=conversation_of(meta),
        client=client_name(_client_info(ctx)),
    )


def read_retry(
    params: types.CallToolRequestParams,
    principal: Principal,
    codec: ConfirmationCodec,
    meta: Mapping[str, Any] | None = None,
) -> Retry:
    """Take Assent's own state and answers out of the parameters, so that the function sees only its own."""
    sent = {"name": params.name, "arguments": params.arguments, "requestState": params.request_state}
    responses = {name: raw_of(one) for name, one in (params.input_responses or {}).items()}
    try:
        retry = codec.read({**sent, "inputResponses": responses, "_meta": meta}, principal)
    except RpcError as error:
        raise MCPError(error.code, error.message) from None
    kept = retry.forward.get("inputResponses", {})
    params.input_responses = {k: v for k, v in (params.input_responses or {}).items() if k in kept} or None
    params.request_state = retry.forward.get("requestState")
    return retry


def can_ask(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Whether the client can show a form to a person and return the answer."""
    capabilities = ctx.session.client_capabilities
    if capabilities is None or not shows_forms(capabilities.model_dump(by_alias=True, exclude_none=True)):
        return False
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS or ctx.session.can_send_request


async def govern_in_band(
    request: Request,
    ports: Ports,
    ctx: ServerRequestContext[Any, Any] | None,
    meta: Mapping[str, Any] | None = None,
) -> Outcome:
    """Run one call through the pipeline, and ask on the stream if the protocol era does so."""
    if ctx is None or ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return await confirm_with_result(request, ports)
    outcome = await govern(request, ports)
    return await confirm_on_stream(request, outcome, ports, lambda approval: _ask_on_stream(approval, ctx, meta))


async def _ask_on_stream(
    approval: Approval, ctx: ServerRequestContext[Any, Any], meta: Mapping[str, Any] | None
) -> UserAnswer | None:
    """Ask on the open stream and return the answer, or None if the client could not be asked."""
    form = types.ElicitRequestFormParams.model_validate(form_of(approval, ctx.protocol_version))
    try:
        answer = await ctx.session.send_request(
            types.ElicitRequest(params=form),
            types.ElicitResult,
            request_read_timeout_seconds=LONGEST_WAIT,
            metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
        )
    except (MCPError, ValueError):
        return None
    return user_answer(approval.id, {"action": answer.action}, meta, _client_info(ctx))


def _client_info(ctx: ServerRequestContext[Any, Any] | None) -> dict[str, Any] | None:
    client = ctx.session.client_params if ctx is not None else None
    return client.client_info.model_dump() if client is not None else None


def refused_result(refusal: Refusal, name: str, catalogue: Catalogue) -> types.CallToolResult:
    """Return a refusal as an SDK result; raise MCPError if the protocol has an error for it."""
    if refusal.code.startswith(("discover.", "authenticate.")):
        raise protocol_error(refusal)
    tool = catalogue.find(name)
    problem = refusal.problem(failure=tool is not None and tool.failure_names)
    return result_of(fit_to_listing(error_result(problem), {} if tool is None else tool.definition))


def answered_result(answer: Answer, name: str, catalogue: Catalogue) -> types.CallToolResult:
    tool = catalogue.find(name)
    return result_of(fit_to_listing(answer.on_wire(), {} if tool is None else tool.definition))


def protocol_error(refusal: Refusal) -> MCPError:
    """Return the error: the protocol's own text for an unknown tool, and a problem for the rest."""
    if refusal.code == "discover.unknown_tool":
        return MCPError(types.INVALID_PARAMS, refusal.detail)
    return MCPError(_PROTOCOL_CODE - refusal.status, refusal.problem()["title"], refusal.problem())


def result_of(raw: dict[str, Any]) -> types.CallToolResult:
    return types.CallToolResult.model_validate(raw)


def raw_of(result: Any) -> dict[str, Any]:
    """Return a handler's result in wire form."""
    if isinstance(result, dict):
        return result
    raw = cast("dict[str, Any]", result.model_dump(mode="json", by_alias=True, exclude_none=True))
    raw.setdefault("content", [])
    return raw


def text_of(result: Mapping[str, Any]) -> str:
    return " ".join(str(block.get("text", "")) for block in result.get("content", []))[:1000]
