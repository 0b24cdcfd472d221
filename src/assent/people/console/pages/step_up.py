"""The page on which an approver authenticates again, or signs a decision with a passkey."""

from __future__ import annotations

from starlette.responses import Response

from assent.core.approval import Approval, decision_digest
from assent.people.api.approvals import approve_approval
from assent.people.console.address import passkey_domain
from assent.people.console.page import DECIDERS, Page, PageRequest
from assent.people.console.pages.passkeys import ceremony
from assent.people.console.passkeys import request_options
from assent.people.console.step_up import signed_decision
from assent.people.passkey_records import passkeys_of
from assent.pipeline.approve import approver_shortfall, find, step_ups_of


async def show_step_up(page: PageRequest) -> Response:
    """Everything that is approved, what is still missing, and the ways to bring it."""
    ports = page.context.ports()
    approval = await find(page.principal, page.path["id"], ports)
    asked = step_ups_of(approval, page.principal, ports)
    assert page.session is not None
    return page.render(
        "step_up.html",
        approval=approval,
        state=approval.state_at(ports.now()).value,
        lacking=approver_shortfall(page.principal, approval, ports),
        options=await _options(page, approval),
        domain=passkey_domain(page),
        method=page.session.method,
        max_age=min((one.max_age for one in asked if one.max_age), default=300),
        acr=[name for one in asked for name in one.acr],
    )


async def _options(page: PageRequest, approval: Approval) -> str:
    """What the browser needs to sign a yes; empty for somebody without a passkey, or under a bare address."""
    kept = await passkeys_of(page.context.ports(), page.principal)
    if not kept or passkey_domain(page) is None:
        return ""
    return request_options(ceremony(page), decision_digest(approval, "approve"), kept)


async def approve_signed(page: PageRequest) -> Response:
    """Say yes with a passkey's signature on what the page showed."""
    approval = await find(page.principal, page.path["id"], page.context.ports())
    signed = await signed_decision(page, approval, "approve")
    await page.api(approve_approval, names={"approval": approval.id}, signed=signed)
    done = "Approved and signed. The agent's next identical call runs."
    return page.redirect(f"/console/approvals/{approval.id}", done)


PAGES = (
    Page("GET", "/approvals/{id}/sign", show_step_up, DECIDERS),
    Page("POST", "/approvals/{id}/sign", approve_signed, DECIDERS),
)
