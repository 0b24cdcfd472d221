"""Calls inside a server's own process: from the SDK's parameters through the pipeline to the SDK's result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from assent.core.call import Request
from assent.core.catalogue import Catalogue
from assent.core.outcome import INPUT_REQUIRED, Outcome, Pause, Refusal, error_result, fit_to_listing
from assent.mcp import confirmation
from assent.mcp.idempotency_key import header_of, keys_of
from assent.pipeline.ask import confirm_on_stream
from assent.pipeline.govern import govern
from assent.ports import Ports

_PROTOCOL_CODE = -31_000
"""Base of JSON-RPC error codes: the code is this number minus the status, outside the protocol's reserved range."""


def request_of(
    params: types.CallToolRequestParams, ctx: ServerRequestContext[Any, Any] | None, meta: Mapping[str, Any] | None
) -> Request:
    """Return the request; without a context it has no principal. Our part of the retry state is removed from the
    parameters.
    """
    reply, resume = confirmation.unwrap(params)
    return Request(
        tool=params.name,
        arguments=params.arguments,
        credentials=ctx,
        keys=keys_of(header_of(getattr(ctx and ctx.request, "headers", None)), meta),
        reply=reply,
        resume=resume,
        can_ask=ctx is not None and confirmation.can_ask(ctx),
    )


async def govern_in_band(request: Request, ports: Ports, ctx: ServerRequestContext[Any, Any] | None) -> Outcome:
    """Run one call through the pipeline, and ask on the stream if the protocol era does so."""
    outcome = await govern(request, ports)
    if ctx is None or confirmation.is_modern(ctx.protocol_version):
        return outcome
    return await confirm_on_stream(request, outcome, ports, lambda approval: confirmation.on_stream(approval, ctx))


def on_wire(outcome: Outcome, name: str, catalogue: Catalogue) -> types.CallToolResult | types.InputRequiredResult:
    """Return the outcome as an SDK result; raise MCPError if it is not a result."""
    if isinstance(outcome, Pause):
        return confirmation.as_result(outcome.approval)
    tool = catalogue.find(name)
    definition = {} if tool is None else tool.definition
    if isinstance(outcome, Refusal):
        if outcome.code.startswith(("discover.", "authenticate.")):
            raise protocol_error(outcome)
        problem = outcome.problem(failure=tool is not None and tool.failure_names)
        return result_of(fit_to_listing(error_result(problem), definition))
    if outcome.result.get("resultType") == INPUT_REQUIRED:
        asked = types.InputRequiredResult.model_validate(outcome.result)
        return asked.model_copy(update={"request_state": confirmation.wrap_state(outcome.resume, asked.request_state)})
    return result_of(fit_to_listing(outcome.on_wire(), definition))


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
