"""Approvals: list them, show one, decide one or several of a kind, reopen a denied one."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from annotated_types import Len
from pydantic import AfterValidator, StringConstraints
from typing_extensions import TypedDict

from assent.core.approval import MOST_REASON, Approval, ApprovalState, Verdict
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.core.record_scope import record_scope_of
from assent.core.shown_records import approval_as_json
from assent.people.api.fields import ID, Limit, OneOf, PlaceInList, WholeNumber, closed, cursor_text
from assent.people.api.operation import ApiRequest, get, post
from assent.people.api.problems import ApiProblem
from assent.pipeline.approve import approve, find
from assent.ports import Cursor

STATES = tuple(state.value for state in ApprovalState)
PAGE = 200
MOST_LOOKED_AT = 2000
MOST_SKIPPED = 1_000_000
MOST_AT_ONCE = 50
PATH = "/api/approvals"


_LISTED_STATES = (*STATES, "decided", "all")


@closed
class ApprovalFilter(TypedDict, total=False):
    state: Annotated[
        str,
        OneOf(_LISTED_STATES, "pending"),
        "Only those in this state; decided: the last ones that people decided, on one page.",
    ]
    order: Annotated[
        str, OneOf(("newest", "urgent"), "newest"), "urgent: pending ones by the minute they expire, then by risk."
    ]
    limit: Limit
    cursor: PlaceInList
    skip: Annotated[int, WholeNumber(0, MOST_SKIPPED, 0), "With order=urgent: how many to leave out at the top."]


@closed
class ComparedApprovals(TypedDict, total=False):
    ids: Annotated[
        str,
        StringConstraints(pattern=rf"^{ID}(,{ID}){{0,{MOST_AT_ONCE - 1}}}$"),
        AfterValidator(lambda given: list(dict.fromkeys(given.split(",")))),
        "Their ids, separated by commas.",
    ]


_Reason = Annotated[str, StringConstraints(max_length=MOST_REASON), "Why. The agent receives the reason of a denial."]


@closed
class DecisionReason(TypedDict):
    reason: NotRequired[_Reason]


@closed
class SeveralDecisions(TypedDict):
    approvals: Annotated[list[Annotated[str, StringConstraints(pattern=f"^{ID}$")]], Len(1, MOST_AT_ONCE)]
    verdict: Annotated[str, OneOf(("approve", "decline"))]
    reason: NotRequired[_Reason]


_DECIDERS = "people of the tenant (`by: approver`: with the role approver, never the requester), and operators"
_UNKNOWN: dict[str, Any] = {"refusals": ("approve.unknown",), "missing": "approve.unknown"}
_ANY = ("approve.unknown", "approve.not_entitled", "approve.own_request")
_DECIDING: dict[str, Any] = {
    "refusals": (*_ANY, "approve.step_up_required", "approve.already_decided", "approve.expired"),
    "missing": "approve.unknown",
}
_REOPENING: dict[str, Any] = {
    "refusals": (*_ANY, "approve.not_declined", "approve.expired"),
    "missing": "approve.unknown",
}


@get(PATH, "ApprovalList", ApprovalFilter, who="operators: all; people: their tenant's; others: their own")
async def list_approvals(request: ApiRequest) -> dict[str, Any]:
    """List approvals, newest first."""
    # A state is read off each record, so a page may have fewer than its limit.
    if _is_urgent(request):
        return await _list_urgent(request)
    if request.query.get("state") == "decided":
        return await _list_decided(request)
    now, limit, state = request.ports.now(), request.query.get("limit", 100), request.query.get("state", "pending")
    found: list[Approval] = []
    place: Cursor | None = request.query.get("cursor")
    for _ in range(MOST_LOOKED_AT // PAGE):
        page = await _page(request, place, now if state == "pending" else None)
        for one in page:
            place = (one.asked_at, one.id)
            if state in ("all", one.state_at(now).value):
                found.append(one)
            if len(found) == limit:
                return _page_as_json(found, request.principal, now, place)
        if len(page) < PAGE:
            return _page_as_json(found, request.principal, now, None)
    return _page_as_json(found, request.principal, now, place)


def _is_urgent(request: ApiRequest) -> bool:
    query = request.query
    return query.get("order") == "urgent" and query.get("state", "pending") == "pending" and "cursor" not in query


async def _list_urgent(request: ApiRequest) -> dict[str, Any]:
    """Pending approvals, those that expire first at the top, then the riskiest."""
    now, reach, query = request.ports.now(), record_scope_of(request.principal), request.query
    whose: dict[str, Any] = {"tenant": reach.tenant, "requester": reach.principal}
    skip, limit = query.get("skip", 0), query.get("limit", 100)
    found = await request.ports.store.urgent_approvals(now, **whose, skip=skip, limit=limit)
    count, _ = await request.ports.store.count_pending(now, **whose)
    return {**_page_as_json(found, request.principal, now, None), "count": count}


async def _list_decided(request: ApiRequest) -> dict[str, Any]:
    reach = record_scope_of(request.principal)
    found = await request.ports.store.decided_approvals(
        tenant=reach.tenant, requester=reach.principal, limit=request.query.get("limit", 100)
    )
    return _page_as_json(found, request.principal, request.ports.now(), None)


async def _page(request: ApiRequest, after: Cursor | None, pending_at: float | None) -> list[Approval]:
    reach = record_scope_of(request.principal)
    return await request.ports.store.approvals(
        tenant=reach.tenant, requester=reach.principal, pending_at=pending_at, after=after, limit=PAGE
    )


def _page_as_json(found: list[Approval], principal: Principal, now: float, place: Cursor | None) -> dict[str, Any]:
    return {
        "approvals": [as_json(one, principal, now) for one in found],
        "next": cursor_text(place) if place is not None else None,
    }


@get(PATH + "/{approval}", "ShownApproval", who="as for the list", **_UNKNOWN)
async def show_approval(request: ApiRequest) -> dict[str, Any]:
    """Show everything an approval is about."""
    # With how the call that it let through ended, and the last one that this requester used for this tool.
    found = await find(request.principal, request.names["approval"], request.ports)
    shown = await _with_outcome(request, found)
    last = await request.ports.store.last_used_approval(found.tenant, found.requester, found.tool, found.asked_at)
    return shown if last is None else {**shown, "last": await _with_outcome(request, last)}


async def _with_outcome(request: ApiRequest, approval: Approval) -> dict[str, Any]:
    now = request.ports.now()
    shown = as_json(approval, request.principal, now)
    record = await request.ports.store.claim_by_id(approval.claim) if approval.claim is not None else None
    return shown if record is None else {**shown, "outcome": record.state_at(now).value}


@post(PATH + "/{approval}/approve", "Approval", DecisionReason, who=_DECIDERS, name="approve", **_DECIDING)
async def approve_approval(request: ApiRequest) -> dict[str, Any]:
    """Approve, once, exactly what the approval shows."""
    return await _decide(request, "approve")


@post(PATH + "/{approval}/deny", "Approval", DecisionReason, who="as for approve", name="deny", **_DECIDING)
async def deny_approval(request: ApiRequest) -> dict[str, Any]:
    """Deny the call."""
    return await _decide(request, "decline")


@post(PATH + "/{approval}/reopen", "Approval", DecisionReason, who="as for approve", name="reopen", **_REOPENING)
async def reopen_approval(request: ApiRequest) -> dict[str, Any]:
    """Take a denial back, or an approval that no call has used: the call waits for a decision again."""
    return await _decide(request, "reopen")


async def _decide(request: ApiRequest, verdict: Verdict) -> dict[str, Any]:
    decided = await approve(
        request.principal,
        request.names["approval"],
        verdict,
        request.ports,
        request.channel,
        reason_of(request),
        request.signed,
    )
    return as_json(decided, request.principal, request.ports.now())


def reason_of(request: ApiRequest) -> str:
    reason = str(request.body.get("reason", "")).strip()
    if len(reason) > MOST_REASON:
        raise ApiProblem("api.invalid", f"The reason has {len(reason)} characters; at most {MOST_REASON} are kept.")
    return reason


def as_json(approval: Approval, principal: Principal, now: float) -> dict[str, Any]:
    """An approval as this caller may see it: agents and services do not learn who decided."""
    shown = approval_as_json(approval, now)
    if record_scope_of(principal).principal is not None:
        del shown["decisions"]
    return shown


@post(
    PATH + "/decide",
    "Decisions",
    SeveralDecisions,
    who="as for approve",
    refusals=("approve.unknown",),
    name="decide_approvals",
)
async def decide_several(request: ApiRequest) -> dict[str, Any]:
    """Decide several calls of one tool alike; each is decided by itself."""
    names, verdict, reason = list(dict.fromkeys(request.body["approvals"])), request.body["verdict"], reason_of(request)
    await several_of_a_kind(request, names)
    decided, refused = list[dict[str, Any]](), list[dict[str, Any]]()
    for name in names:
        try:
            one = await approve(request.principal, name, verdict, request.ports, request.channel, reason)
            decided.append(as_json(one, request.principal, request.ports.now()))
        except Refusal as refusal:
            refused.append({"id": name, "problem": refusal.problem()})
    return {"decided": decided, "refused": refused}


async def several_of_a_kind(request: ApiRequest, names: list[str]) -> list[Approval]:
    """These approvals, if all are about one tool of one upstream under one contract; otherwise an ApiProblem.

    One button for different calls would invite a yes to something that was not read.
    """
    if not 1 <= len(names) <= MOST_AT_ONCE:
        raise ApiProblem("api.invalid", f"Choose 1 to {MOST_AT_ONCE} approvals.")
    found = [await find(request.principal, name, request.ports) for name in names]
    kinds = {(one.tenant, one.tool, one.facts.get("upstream"), one.facts.get("contract")) for one in found}
    if len(kinds) > 1:
        raise ApiProblem("api.invalid", "Only calls of the same tool under the same contract are decided together.")
    return found


@get(
    PATH + "/compare",
    "ApprovalComparison",
    ComparedApprovals,
    who="as for the list",
    refusals=("approve.unknown", "api.invalid"),
)
async def compare_approvals(request: ApiRequest) -> dict[str, Any]:
    """Show several approvals of one tool."""
    names, now = request.query.get("ids", []), request.ports.now()
    found = await several_of_a_kind(request, names) if names else []
    return {"approvals": [as_json(one, request.principal, now) for one in found]}
