"""The approval inbox and the page of one approval."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from assent.console.page import DECIDERS, EVERYONE, Page, PageRequest
from assent.console.step_up import step_up_first
from assent.gateway.api.approvals import approve_approval, deny_approval, list_approvals, show_approval

_RISKS = ("forbidden", "critical", "high", "medium", "low")


async def show_inbox(page: PageRequest) -> Response:
    """Pending approvals, the most urgent first; `?state=` shows decided ones."""
    state = page.query.get("state", "pending")
    found = await page.api(list_approvals, query={"state": state, "limit": 1000})
    approvals = sorted(found["approvals"], key=_urgency) if state == "pending" else found["approvals"]
    return page.render("approvals.html", approvals=approvals, state=state, may_decide=page.may(DECIDERS))


def _urgency(approval: dict[str, Any]) -> tuple[float, int]:
    risk = approval["facts"].get("risk", "low")
    return approval["expires_at"], _RISKS.index(risk) if risk in _RISKS else len(_RISKS)


async def show_one(page: PageRequest) -> Response:
    approval = await page.api(show_approval, names={"approval": page.path["id"]})
    return page.render("approval.html", approval=approval, may_decide=page.may(DECIDERS))


async def approve_one(page: PageRequest) -> Response:
    if (elsewhere := await step_up_first(page, page.path["id"])) is not None:
        return elsewhere
    await page.api(approve_approval, names={"approval": page.path["id"]})
    return page.redirect(f"/console/approvals/{page.path['id']}", "Approved. The agent's next identical call runs.")


async def deny_one(page: PageRequest) -> Response:
    await page.api(deny_approval, names={"approval": page.path["id"]})
    return page.redirect(f"/console/approvals/{page.path['id']}", "Denied. The call does not run.")


PAGES = (
    Page("GET", "/approvals", show_inbox, EVERYONE, "Approvals"),
    Page("GET", "/approvals/{id}", show_one, EVERYONE),
    Page("POST", "/approvals/{id}/approve", approve_one, DECIDERS),
    Page("POST", "/approvals/{id}/deny", deny_one, DECIDERS),
)
