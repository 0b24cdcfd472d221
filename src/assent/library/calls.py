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
"""Problems that are JSON-RPC errors have this code less their status, outside the range the protocol keeps."""


def request_of(
    params: types.CallToolRequestParams, ctx: ServerRequestContext[Any, Any] | None, meta: Mapping[str, Any] | None
) -> Request:
    """What is asked for; without a context, by nobody. Our part of a retry's state is taken out of the parameters."""
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
    """One call through the sentence, asking on the stream where the era has it so."""
    outcome = await govern(request, ports)
    if ctx is None or confirmation.is_modern(ctx.protocol_version):
        return outcome
    return await confirm_on_stream(request, outcome, ports, lambda approval: confirmation.on_stream(approval, ctx))


def on_wire(outcome: Outcome, name: str, catalogue: Catalogue) -> types.CallToolResult | types.InputRequiredResult:
    """The outcome as the protocol has it; raises MCPError for what is no result."""
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
    """An unknown tool answers with the protocol's own words and no data; the rest carry their problem."""
    if refusal.code == "discover.unknown_tool":
        return MCPError(types.INVALID_PARAMS, refusal.detail)
    return MCPError(_PROTOCOL_CODE - refusal.status, refusal.problem()["title"], refusal.problem())


def result_of(raw: dict[str, Any]) -> types.CallToolResult:
    return types.CallToolResult.model_validate(raw)


def raw_of(result: Any) -> dict[str, Any]:
    """A handler's result in wire form."""
    if isinstance(result, dict):
        return result
    raw = cast("dict[str, Any]", result.model_dump(mode="json", by_alias=True, exclude_none=True))
    raw.setdefault("content", [])
    return raw


def text_of(result: Mapping[str, Any]) -> str:
    return " ".join(str(block.get("text", "")) for block in result.get("content", []))[:1000]
