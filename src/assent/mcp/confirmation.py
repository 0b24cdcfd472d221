"""How is the person at the client asked, in either era of the protocol?

Modern (2026-07-28): the question is a result, and the same call comes again with the answer. Handshake revisions: the
question goes out on the open stream, and the call waits for it. Nothing else in Assent knows the difference.
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
    """Whether the client can show a form to a person and bring the answer back."""
    capabilities = ctx.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities else None
    if elicitation is None:
        return False
    if elicitation.form is None and elicitation.url is not None:
        return False
    return is_modern(ctx.protocol_version) or ctx.session.can_send_request


def as_result(approval: Approval) -> types.InputRequiredResult:
    """The question as a result of the call."""
    ask = types.ElicitRequest(params=types.ElicitRequestFormParams(message=approval.text, requested_schema=_SCHEMA))
    return types.InputRequiredResult(input_requests={CONFIRM: ask}, request_state=json.dumps({"approval": approval.id}))


async def on_stream(approval: Approval, ctx: ServerRequestContext[Any, Any]) -> UserAnswer | None:
    """The answer to a question asked on the open stream; None if the client could not be asked after all."""
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
    """Our own state around the tool's: which claim, if any, goes on when its question is answered."""
    claim = {"claim": resume.claim, "epoch": resume.epoch} if resume else {"claim": None}
    return json.dumps({**claim, "state": state})


def unwrap(params: types.CallToolRequestParams) -> tuple[UserAnswer | None, Resume | None]:
    """Our part of a retry's state and answers, taken out so that the tool sees only its own."""
    responses = dict(params.input_responses or {})
    answer = responses.pop(CONFIRM, None)
    said = _state(params.request_state)
    if said is None:
        return None, None
    params.request_state = said.get("state")
    params.input_responses = responses or None
    if isinstance(said.get("claim"), str):
        return None, Resume(said["claim"], int(said.get("epoch", 0)))
    action = getattr(answer, "action", None)
    if isinstance(said.get("approval"), str) and action is not None:
        return UserAnswer(said["approval"], action), None
    return None, None


def _state(text: str | None) -> dict[str, Any] | None:
    """Our state, if that is what it is; a tool's own state from before we governed it is left alone."""
    if text is None:
        return None
    try:
        said = json.loads(text)
    except ValueError:
        return None
    return said if isinstance(said, dict) and ("approval" in said or "claim" in said) else None
