"""The approval inbox, the page of one approval, and decisions about one or several."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from assent.core.approval import MOST_REASON, Approval
from assent.core.outcome import Refusal
from assent.core.principal import person_key
from assent.core.question import counted
from assent.people.api.approvals import (
    MOST_AT_ONCE,
    STATES,
    approve_approval,
    compare_approvals,
    decide_several,
    deny_approval,
    list_approvals,
    reopen_approval,
    show_approval,
)
from assent.people.console.argument_rows import argument_rows, changes_in, compared_rows
from assent.people.console.page import DECIDERS, EVERYONE, PageError, PageRequest, on
from assent.people.console.pages.step_up import step_up_first
from assent.people.console.templating import as_duration
from assent.pipeline.approve import approver_shortfall, find, step_ups_of

ROWS = 50
RECENT = 15 * 60.0
_PARTS = "title activity upstream requester_kind actors why price side_effects arguments preview targets warnings"
_NO_DETAILS: dict[str, Any] = dict.fromkeys([*_PARTS.split(), "words", "records"])
"""Stands for the parts of an approval of an earlier version, which has its text only."""
_MUCH = ("amount", "total", "price", "sum", "quantity", "count")
_WHOM = ("to", "recipient", "recipients", "payee", "email", "user", "customer", "account", "channel", "iban")
_DONE = {
    "approved": "Approved. The agent's next identical call runs. Until then you can take it back.",
    "pending": "Your decision is recorded. The call waits for further approvals.",
    "declined": "Denied. The call does not run, and the agent is told.",
}


@on("GET", "/approvals", EVERYONE, "Approvals")
async def show_inbox(page: PageRequest) -> Response:
    """Pending approvals, the most urgent first, and what was decided just now; `?state=` shows others."""
    state = page.query.get("state", "pending")
    if state not in (*STATES, "all"):
        raise PageError(400, "There is no such state.", "Choose one of the tabs.")
    if state != "pending":
        return await _show_listed(page, state)
    number = _page_number(page)
    found = await page.api(list_approvals, query={"order": "urgent", "limit": ROWS, "skip": (number - 1) * ROWS})
    links = {
        "previous": f"/console/approvals?page={number - 1}" if number > 1 else "",
        "next": f"/console/approvals?page={number + 1}" if found["count"] > number * ROWS else "",
    }
    return _inbox(page, found["approvals"], state, links, found["count"], await _decided_just_now(page))


async def _show_listed(page: PageRequest, state: str) -> Response:
    query = {"limit": ROWS, **page.filters(list_approvals, also=("page",))}
    found = await page.api(list_approvals, query=query)
    more = f"/console/approvals?{urlencode({'state': state, 'cursor': found['next']})}" if found["next"] else ""
    return _inbox(page, found["approvals"], state, {"previous": "", "next": more}, None, [])


def _inbox(
    page: PageRequest,
    shown: list[dict[str, Any]],
    state: str,
    links: dict[str, str],
    total: int | None,
    recent: list[dict[str, Any]],
) -> Response:
    return page.render(
        "approvals.html",
        approvals=shown,
        state=state,
        states=("pending", *(one for one in STATES if one != "pending"), "all"),
        links=links,
        total=total,
        recent=recent,
        may_decide=page.may(DECIDERS),
        most=MOST_AT_ONCE,
    )


async def _decided_just_now(page: PageRequest) -> list[dict[str, Any]]:
    """What was decided in the last minutes, by whomever and wherever, the newest decision first."""
    found = await page.api(list_approvals, query={"state": "decided", "limit": ROWS})
    since = page.ports.now() - RECENT
    recent = [one for one in found["approvals"] if one.get("decisions") and one["decisions"][-1]["at"] >= since]
    return sorted(recent, key=lambda one: -one["decisions"][-1]["at"])[:5]


@on("GET", "/approvals/{id}", EVERYONE)
async def show_one(page: PageRequest, problem: str = "", status: int = 200) -> Response:
    """One approval; with the problem of a decision that was not taken, where there is one."""
    approval = await page.api(show_approval, names={"approval": page.path["id"]})
    record = await find(page.principal, page.path["id"], page.ports)
    return page.render(
        "approval.html",
        status,
        **_page_values(page, approval, record),
        sign_in=_sign_in(page, record),
        problem=problem,
        most_reason=MOST_REASON,
    )


def _page_values(page: PageRequest, approval: dict[str, Any], record: Approval) -> dict[str, Any]:
    details, last = {**_NO_DETAILS, **(approval["details"] or {})}, approval.get("last")
    earlier = last["details"] if last and approval["details"] else None
    return {
        "approval": approval,
        "details": details,
        "last": last,
        "rows": argument_rows(details["arguments"] or {}),
        "since_last": compared_rows(earlier["arguments"], details["arguments"]) if earlier else [],
        "preview": argument_rows(details["preview"]) if details["preview"] is not None else [],
        "changes": list(changes_in(details["preview"])),
        "covers": _covers(approval),
        "much": details["price"] or _first(details["arguments"], _MUCH, "currency"),
        "whom": _first(details["arguments"], _WHOM),
        "twice": approval["facts"].get("risk") in ("critical", "forbidden"),
        "yes": len(_who_said_yes(record)),
        "cannot": _cannot(page, record),
        "may_decide": page.may(DECIDERS),
    }


def _first(arguments: Any, names: tuple[str, ...], beside: str = "") -> str:
    """The first argument of these names as a short text, with the one `beside` it."""
    given = arguments if isinstance(arguments, dict) else {}
    found = next((given[name] for name in names if given.get(name) not in (None, "", [])), None)
    parts = found if isinstance(found, list) else [found]
    if found is None or not all(isinstance(one, str | int | float) for one in parts):
        return ""
    shown = ", ".join(map(str, parts[:3])) + (f" and {len(parts) - 3} more" if len(parts) > 3 else "")
    unit = given.get(beside)
    return f"{shown[:120]} {unit}" if isinstance(unit, str) and len(unit) < 12 else shown[:120]


def _sign_in(page: PageRequest, record: Approval) -> dict[str, Any] | None:
    """How recently this person must have signed in to approve, and whether they lack it; None if that is not asked."""
    if record.state_at(page.ports.now()).value != "pending" or not page.may(DECIDERS):
        return None
    ages = [one.max_age for one in step_ups_of(record, page.principal, page.ports) if one.max_age]
    lacking = approver_shortfall(page.principal, record, page.ports) is not None
    return {"within": as_duration(min(ages)), "lacking": lacking} if ages else None


def _covers(approval: dict[str, Any]) -> str:
    """What an approval allows."""
    calls = (
        "This call runs once" if approval["uses"] == 1 else f"{approval['uses']} calls with exactly these arguments run"
    )
    return f"{calls}, within {as_duration(approval['lasts'])}"


def _who_said_yes(record: Approval) -> set[str]:
    """The people whose yes counts."""
    return {person_key(one.person) for one in record.standing if one.verdict == "approve"}


def _cannot(page: PageRequest, record: Approval) -> str:
    """Why this person cannot decide this approval; empty if they can."""
    me = person_key(page.principal.id)
    if record.by == "approver" and person_key(record.requester) == me:
        return "You asked for this call yourself. Somebody else must decide."
    if record.state_at(page.ports.now()).value == "pending" and me in _who_said_yes(record):
        return "You have said yes. The call waits for somebody else."
    return ""


@on("POST", "/approvals/{id}/approve", DECIDERS)
async def approve_one(page: PageRequest) -> Response:
    if (elsewhere := await step_up_first(page, page.path["id"])) is not None:
        return elsewhere
    return await _decide(page, approve_approval)


@on("POST", "/approvals/{id}/deny", DECIDERS)
async def deny_one(page: PageRequest) -> Response:
    return await _decide(page, deny_approval)


@on("POST", "/approvals/{id}/reopen", DECIDERS)
async def reopen_one(page: PageRequest) -> Response:
    return await _decide(page, reopen_approval, "The decision is taken back. The call waits for a decision again.")


async def _decide(page: PageRequest, handler: Any, notice: str = "") -> Response:
    """Take a decision; one that comes too late shows the approval as it stands now."""
    try:
        names, body = {"approval": page.path["id"]}, {"reason": page.field("reason")}
        decided = await page.api(handler, names=names, body=body)
    except Refusal as refusal:
        if refusal.code == "approve.unknown":
            raise
        if refusal.code == "approve.already_decided" and await _is_sent_twice(page, handler):
            return page.redirect(f"/console/approvals/{page.path['id']}", "Your decision was taken. You sent it twice.")
        said = refusal.problem()
        return await show_one(page, f"Your decision was not taken. {said['detail']}", refusal.status)
    return page.redirect(f"/console/approvals/{page.path['id']}", notice or _DONE.get(decided["state"], "Done."))


async def _is_sent_twice(page: PageRequest, handler: Any) -> bool:
    """Whether the last decision is this very one: a button was pressed twice, and the first press counted."""
    approval = await page.api(show_approval, names={"approval": page.path["id"]})
    last = (approval.get("decisions") or [{"person": "", "verdict": ""}])[-1]
    sent = "approve" if handler is approve_approval else "decline"
    return (last["person"], last["verdict"]) == (page.principal.id, sent)


@on("GET", "/approvals/batch", EVERYONE)
async def show_batch(page: PageRequest) -> Response:
    """Calls of one tool side by side: what all have in common once, and what differs in columns."""
    ids = list(dict.fromkeys(page.request.query_params.getlist("id")))
    if not ids:
        raise PageError(400, "No approval is selected.", "Select calls of the same tool in the inbox.")
    found = await page.api(compare_approvals, query={"ids": ids})
    approvals = [one for one in found["approvals"] if one["state"] == "pending"]
    values = [
        {row.name: row for row in argument_rows((one["details"] or {}).get("arguments", {}))} for one in approvals
    ]
    names = list(dict.fromkeys(name for one in values for name in one))
    shown = {name: {one[name].shown if name in one else None for one in values} for name in names}
    common = [values[0][name] for name in names if len(shown[name]) == 1]
    differing = [name for name in names if len(shown[name]) > 1]
    calls = list(zip(approvals, values, strict=True))
    return page.render(
        "approvals_batch.html",
        calls=calls,
        common=common,
        differing=differing,
        gone=len(found["approvals"]) - len(approvals),
        complete=all(one["details"] for one in approvals),
        may_decide=page.may(DECIDERS),
        most_reason=MOST_REASON,
    )


@on("POST", "/approvals/batch", DECIDERS)
async def decide_batch(page: PageRequest) -> Response:
    verdict, ids = page.field("verdict"), page.form.get("id", [])
    if verdict not in ("approve", "decline"):
        raise PageError(400, "There is no such decision.", "Press one of the buttons of the page.")
    body = {"approvals": ids, "verdict": verdict, "reason": page.field("reason")}
    said = await page.api(decide_several, body=body)
    word = "approved" if verdict == "approve" else "denied"
    notice = f"{counted(len(said['decided']), 'call')} {word}."
    if said["refused"]:
        why = said["refused"][0]["problem"]["detail"]
        notice += f" {counted(len(said['refused']), 'decision')} not taken: {why}"
    return page.redirect("/console/approvals", notice)


def _page_number(page: PageRequest) -> int:
    given = page.query.get("page", "1")
    return max(1, int(given)) if given.isascii() and given.isdigit() and len(given) <= 4 else 1
