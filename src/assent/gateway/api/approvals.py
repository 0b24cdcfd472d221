"""What waits for a person, and what do they say?"""

from __future__ import annotations

from typing import Any

from assent.core.approval import Approval, ApprovalState, Verdict
from assent.core.principal import Principal
from assent.core.record_scope import record_scope_of
from assent.gateway.api.routes import LIMIT, ApiRequest, Route, Schema, choice, cursor, listed, written
from assent.pipeline.approve import approve, find
from assent.ports import Cursor

STATES = tuple(state.value for state in ApprovalState)
PAGE = 200
MOST_LOOKED_AT = 2000
_PATH = "/api/approvals"

APPROVAL: Schema = {
    "type": "object",
    "description": "A question bound to one exact call, and the answers to it. Times are seconds since 1970.",
    "required": ["id", "state", "tool", "tenant", "requester", "by", "quorum", "asked_at", "expires_at", "text"],
    "properties": {
        "id": {"type": "string"},
        "state": {"type": "string", "enum": list(STATES)},
        "tool": {"type": "string"},
        "tenant": {"type": "string"},
        "requester": {"type": "string"},
        "by": {"type": "string", "description": "Who may decide: user or approver."},
        "quorum": {"type": "integer"},
        "asked_at": {"type": "number"},
        "expires_at": {"type": "number", "description": "When the question is over; no answer is a no."},
        "text": {"type": "string", "description": "The whole question as the person sees it."},
        "facts": {"type": "object"},
        "decisions": {
            "type": "array",
            "description": "Who said what; left out for agents.",
            "items": {
                "type": "object",
                "required": ["person", "verdict", "at", "channel"],
                "properties": {
                    "person": {"type": "string"},
                    "verdict": {"type": "string", "enum": ["approve", "decline", "reopen"]},
                    "at": {"type": "number"},
                    "channel": {"type": "string"},
                },
            },
        },
    },
}


async def list_approvals(asked: ApiRequest) -> dict[str, Any]:
    """A page of approvals, newest first. A state is read off each record, so a page may hold fewer than its limit."""
    now, limit, state = asked.ports.now(), asked.query.get("limit", 100), asked.query.get("state", "pending")
    found: list[Approval] = []
    place: Cursor | None = asked.query.get("cursor")
    for _ in range(MOST_LOOKED_AT // PAGE):
        page = await _page(asked, place, now if state == "pending" else None)
        for one in page:
            place = (one.asked_at, one.id)
            if state in ("all", one.state_at(now).value):
                found.append(one)
            if len(found) == limit:
                return _listed(found, asked.principal, now, place)
        if len(page) < PAGE:
            return _listed(found, asked.principal, now, None)
    return _listed(found, asked.principal, now, place)


async def _page(asked: ApiRequest, after: Cursor | None, pending_at: float | None) -> list[Approval]:
    reach = record_scope_of(asked.principal)
    return await asked.ports.store.approvals(
        tenant=reach.tenant, requester=reach.principal, pending_at=pending_at, after=after, limit=PAGE
    )


def _listed(found: list[Approval], principal: Principal, now: float, place: Cursor | None) -> dict[str, Any]:
    return {
        "approvals": [as_json(one, principal, now) for one in found],
        "next": written(place) if place is not None else None,
    }


async def show_approval(asked: ApiRequest) -> dict[str, Any]:
    found = await find(asked.principal, asked.names["approval"], asked.ports)
    return as_json(found, asked.principal, asked.ports.now())


async def approve_approval(asked: ApiRequest) -> dict[str, Any]:
    return await _decide(asked, "approve")


async def deny_approval(asked: ApiRequest) -> dict[str, Any]:
    return await _decide(asked, "decline")


async def _decide(asked: ApiRequest, verdict: Verdict) -> dict[str, Any]:
    decided = await approve(asked.principal, asked.names["approval"], verdict, asked.ports, "api", asked.signed)
    return as_json(decided, asked.principal, asked.ports.now())


def as_json(approval: Approval, principal: Principal, now: float) -> dict[str, Any]:
    said: dict[str, Any] = {
        "id": approval.id,
        "state": approval.state_at(now).value,
        "tool": approval.tool,
        "tenant": approval.tenant,
        "requester": approval.requester,
        "by": approval.by,
        "quorum": approval.quorum,
        "asked_at": approval.asked_at,
        "expires_at": approval.expires_at,
        "text": approval.text,
        "facts": approval.facts,
    }
    if record_scope_of(principal).principal is None:
        said["decisions"] = [
            {"person": d.person, "verdict": d.verdict, "at": d.at, "channel": d.channel} for d in approval.decisions
        ]
    return said


_ONE: Schema = {"$ref": "#/components/schemas/Approval"}
_NOTHING: Schema = {"type": "object", "properties": {}, "additionalProperties": False}
_DECIDING = (
    "approve.unknown",
    "approve.not_entitled",
    "approve.own_request",
    "approve.step_up_required",
    "approve.already_decided",
    "approve.expired",
)

ROUTES = (
    Route(
        "GET",
        _PATH,
        "list_approvals",
        "List approvals, newest first.",
        "operators: all; people: their tenant's; others: their own",
        list_approvals,
        listed("approvals", "Approval"),
        (choice("state", "Only those in this state.", (*STATES, "all"), "pending"), LIMIT, cursor()),
    ),
    Route(
        "GET",
        _PATH + "/{approval}",
        "show_approval",
        "Show everything an approval is about.",
        "as for the list",
        show_approval,
        _ONE,
        refusals=("approve.unknown",),
        missing="approve.unknown",
    ),
    Route(
        "POST",
        _PATH + "/{approval}/approve",
        "approve",
        "Say yes, once, to exactly what the approval shows.",
        "people of the tenant (`by: approver`: with the role approver, never the requester), and operators",
        approve_approval,
        _ONE,
        body=_NOTHING,
        refusals=_DECIDING,
        missing="approve.unknown",
    ),
    Route(
        "POST",
        _PATH + "/{approval}/deny",
        "deny",
        "Say no.",
        "as for approve",
        deny_approval,
        _ONE,
        body=_NOTHING,
        refusals=_DECIDING,
        missing="approve.unknown",
    ),
)
