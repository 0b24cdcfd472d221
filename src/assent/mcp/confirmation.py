"""Asks the user of a client to confirm a call, in both protocol eras.

Modern (2026-07-28): the question is the result, and the client sends the call again with the answer. Handshake
revisions: the question goes out on the open stream, and the call waits for the answer.
"""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from assent.core.approval import Approval
from assent.core.call import Resume, UserAnswer

CONFIRM = "dev.assent/confirm"
LONGEST_WAIT = 300.0
_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}


def is_modern(protocol_version: str) -> bool:
    return protocol_version in MODERN_PROTOCOL_VERSIONS


def can_ask(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Whether the client can show a form to a person and return the answer."""
    capabilities = ctx.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities else None
    if elicitation is None:
        return False
    if elicitation.form is None and elicitation.url is not None:
        return False
    return is_modern(ctx.protocol_version) or ctx.session.can_send_request


def as_result(approval: Approval) -> types.InputRequiredResult:
    """The confirmation question as the result of the call."""
    ask = types.ElicitRequest(params=types.ElicitRequestFormParams(message=approval.text, requested_schema=_SCHEMA))
    return types.InputRequiredResult(input_requests={CONFIRM: ask}, request_state=json.dumps({"approval": approval.id}))


async def on_stream(approval: Approval, ctx: ServerRequestContext[Any, Any]) -> UserAnswer | None:
    """Asks on the open stream and returns the answer, or None if the client could not be asked."""
    try:
        ask = types.ElicitRequest(params=types.ElicitRequestFormParams(message=approval.text, requested_schema=_SCHEMA))
        from mcp.shared.message import ServerMessageMetadata

        answer = await ctx.session.send_request(
            ask,
            types.ElicitResult,
            request_read_timeout_seconds=LONGEST_WAIT,
            metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
        )
    except (MCPError, ValueError):
        return None
    return UserAnswer(approval.id, answer.action)


def wrap_state(resume: Resume | None, state: str | None) -> str:
    """Wraps the tool's request state together with the claim, if any, that continues after the answer."""
    claim = {"claim": resume.claim, "epoch": resume.epoch} if resume else {"claim": None}
    return json.dumps({**claim, "state": state})


def unwrap(params: types.CallToolRequestParams) -> tuple[UserAnswer | None, Resume | None]:
    """Takes Assent's own state and answer out of a retry, so that the tool sees only its own."""
    responses = dict(params.input_responses or {})
    answer = responses.pop(CONFIRM, None)
    state = _parse_state(params.request_state)
    if state is None:
        return None, None
    params.request_state = state.get("state")
    params.input_responses = responses or None
    if isinstance(state.get("claim"), str):
        return None, Resume(state["claim"], int(state.get("epoch", 0)))
    action = getattr(answer, "action", None)
    if isinstance(state.get("approval"), str) and action is not None:
        return UserAnswer(state["approval"], action), None
    return None, None


def _parse_state(text: str | None) -> dict[str, Any] | None:
    """Assent's state, or None: a tool's own state from before it was governed is left alone."""
    if text is None:
        return None
    try:
        state = json.loads(text)
    except ValueError:
        return None
    return state if isinstance(state, dict) and ("approval" in state or "claim" in state) else None
