"""Approvals: list them, show one, decide one or several of a kind, take a decline back."""

from __future__ import annotations

from typing import Any

from assent.core.approval import MOST_REASON, Approval, ApprovalState, Verdict
from assent.core.principal import Principal
from assent.core.record_scope import record_scope_of
from assent.people.api.problems import ApiProblem
from assent.people.api.routes import (
    LIMIT,
    ApiRequest,
    Route,
    Schema,
    choice,
    cursor,
    integer,
    listed,
    written,
)
from assent.pipeline.approve import approve, find
from assent.ports import Cursor

STATES = tuple(state.value for state in ApprovalState)
PAGE = 200
MOST_LOOKED_AT = 2000
MOST_SKIPPED = 1_000_000
PATH = "/api/approvals"

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
        "uses": {"type": "integer", "description": "How many calls a yes is good for; each is exactly this one."},
        "used": {"type": "integer", "description": "How many of them were made."},
        "lasts": {"type": "number", "description": "Seconds for which a yes can be used."},
        "outcome": {"type": "string", "description": "How the last call that used it ended: a state of a claim."},
        "details": {
            "type": ["object", "null"],
            "description": "The parts of the text: sentence, arguments, preview, price, targets, warnings and more."
            " Values are as sent, not escaped. Null for approvals of earlier versions.",
        },
        "decisions": {
            "type": "array",
            "description": "Who said what; left out for agents.",
            "items": {
                "type": "object",
                "required": ["person", "verdict", "at", "channel"],
                "properties": {
                    "person": {"type": "string"},
                    "decider": {
                        "type": "string",
                        "description": "Who decided, for people: the person, or the client with the time it took.",
                    },
                    "verdict": {
                        "type": "string",
                        "enum": ["approve", "decline", "reopen", "too_fast"],
                        "description": "too_fast: the client's yes came before a person could read; it does not count.",
                    },
                    "at": {"type": "number"},
                    "channel": {"type": "string"},
                    "reason": {"type": "string", "description": "The person's own words."},
                    "client": {"type": "string", "description": "The client's own name, if the client answered."},
                    "seconds": {"type": "number", "description": "How long the question was open at the client."},
                    "claimed": {
                        "type": "number",
                        "description": "How long the client says that its own question was open.",
                    },
                },
            },
        },
    },
}


async def list_approvals(asked: ApiRequest) -> dict[str, Any]:
    """A page of approvals, newest first. A state is read off each record, so a page may hold fewer than its limit."""
    if _is_urgent(asked):
        return await _urgent(asked)
    if asked.query.get("state") == "decided":
        return await _decided(asked)
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


def _is_urgent(asked: ApiRequest) -> bool:
    query = asked.query
    return query.get("order") == "urgent" and query.get("state", "pending") == "pending" and "cursor" not in query


async def _urgent(asked: ApiRequest) -> dict[str, Any]:
    """Pending approvals, those that expire first at the top, then the riskiest."""
    now, reach, query = asked.ports.now(), record_scope_of(asked.principal), asked.query
    whose: dict[str, Any] = {"tenant": reach.tenant, "requester": reach.principal}
    skip, limit = query.get("skip", 0), query.get("limit", 100)
    found = await asked.ports.store.urgent_approvals(now, **whose, skip=skip, limit=limit)
    count, _ = await asked.ports.store.count_pending(now, **whose)
    return {**_listed(found, asked.principal, now, None), "count": count}


async def _decided(asked: ApiRequest) -> dict[str, Any]:
    reach = record_scope_of(asked.principal)
    found = await asked.ports.store.decided_approvals(
        tenant=reach.tenant, requester=reach.principal, limit=asked.query.get("limit", 100)
    )
    return _listed(found, asked.principal, asked.ports.now(), None)


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
    """One approval, how the call it let through ended, and the last one that this requester used for this tool."""
    found = await find(asked.principal, asked.names["approval"], asked.ports)
    shown = await _with_outcome(asked, found)
    last = await asked.ports.store.last_used_approval(found.tenant, found.requester, found.tool, found.asked_at)
    return shown if last is None else {**shown, "last": await _with_outcome(asked, last)}


async def _with_outcome(asked: ApiRequest, approval: Approval) -> dict[str, Any]:
    now = asked.ports.now()
    shown = as_json(approval, asked.principal, now)
    record = await asked.ports.store.claim_by_id(approval.claim) if approval.claim is not None else None
    return shown if record is None else {**shown, "outcome": record.state_at(now).value}


async def approve_approval(asked: ApiRequest) -> dict[str, Any]:
    return await _decide(asked, "approve")


async def deny_approval(asked: ApiRequest) -> dict[str, Any]:
    return await _decide(asked, "decline")


async def reopen_approval(asked: ApiRequest) -> dict[str, Any]:
    return await _decide(asked, "reopen")


async def _decide(asked: ApiRequest, verdict: Verdict) -> dict[str, Any]:
    decided = await approve(
        asked.principal, asked.names["approval"], verdict, asked.ports, asked.channel, reason_of(asked), asked.signed
    )
    return as_json(decided, asked.principal, asked.ports.now())


def reason_of(asked: ApiRequest) -> str:
    reason = str(asked.body.get("reason", "")).strip()
    if len(reason) > MOST_REASON:
        raise ApiProblem("api.invalid", f"The reason has {len(reason)} characters; at most {MOST_REASON} are kept.")
    return reason


def as_json(approval: Approval, principal: Principal, now: float) -> dict[str, Any]:
    """An approval as this caller may see it: agents and services do not learn who decided."""
    shown = approval.as_json(now)
    if record_scope_of(principal).principal is not None:
        del shown["decisions"]
    return shown


_ONE: Schema = {"$ref": "#/components/schemas/Approval"}
_PAGE = listed("approvals", "Approval")
_COUNT: Schema = {"type": "integer", "description": "With order=urgent: how many are pending in all."}
_LIST: Schema = {**_PAGE, "properties": {**_PAGE["properties"], "count": _COUNT}}
REASON: Schema = {
    "type": "string",
    "maxLength": MOST_REASON,
    "description": "Why. The agent receives the reason of a no.",
}
_BODY: Schema = {"type": "object", "properties": {"reason": REASON}, "additionalProperties": False}
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
        PATH,
        "list_approvals",
        "List approvals, newest first.",
        "operators: all; people: their tenant's; others: their own",
        list_approvals,
        _LIST,
        (
            choice(
                "state",
                "Only those in this state; decided: the last ones that people decided, on one page.",
                (*STATES, "decided", "all"),
                "pending",
            ),
            choice(
                "order", "urgent: pending ones by the minute they expire, then by risk.", ("newest", "urgent"), "newest"
            ),
            LIMIT,
            cursor(),
            integer("skip", "With order=urgent: how many to leave out at the top.", 0, MOST_SKIPPED, 0),
        ),
    ),
    Route(
        "GET",
        PATH + "/{approval}",
        "show_approval",
        "Show everything an approval is about.",
        "as for the list",
        show_approval,
        {
            "allOf": [
                _ONE,
                {
                    "type": "object",
                    "properties": {
                        "last": {**_ONE, "description": "The last one that this requester used for this tool."}
                    },
                },
            ]
        },
        refusals=("approve.unknown",),
        missing="approve.unknown",
    ),
    Route(
        "POST",
        PATH + "/{approval}/approve",
        "approve",
        "Say yes, once, to exactly what the approval shows.",
        "people of the tenant (`by: approver`: with the role approver, never the requester), and operators",
        approve_approval,
        _ONE,
        body=_BODY,
        refusals=_DECIDING,
        missing="approve.unknown",
    ),
    Route(
        "POST",
        PATH + "/{approval}/deny",
        "deny",
        "Say no.",
        "as for approve",
        deny_approval,
        _ONE,
        body=_BODY,
        refusals=_DECIDING,
        missing="approve.unknown",
    ),
    Route(
        "POST",
        PATH + "/{approval}/reopen",
        "reopen",
        "Take a no back: the call waits for a decision again.",
        "as for approve",
        reopen_approval,
        _ONE,
        body=_BODY,
        refusals=(
            "approve.unknown",
            "approve.not_entitled",
            "approve.own_request",
            "approve.not_declined",
            "approve.expired",
        ),
        missing="approve.unknown",
    ),
)
