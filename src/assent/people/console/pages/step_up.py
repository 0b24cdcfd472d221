"""The page on which an approver authenticates again, or signs a decision with a passkey."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from assent.core.approval import Approval, SignedDecision, Verdict, decision_digest, text_digest
from assent.people.api.approvals import approve_approval
from assent.people.console.page import DECIDERS, PageRequest, on, passkey_domain
from assent.people.console.pages.passkeys import ceremony
from assent.people.console.passkeys import (
    checked_assertion,
    find_passkey,
    keep_count,
    request_options,
    sent_credential,
    unknown_passkey,
    use_once,
)
from assent.people.passkey_records import Passkey, passkeys_of, plain_key
from assent.pipeline.approve import approver_shortfall, find, step_ups_of

FORMAT = "assent-signed-decision/1"


async def step_up_first(page: PageRequest, approval_id: str) -> Response | None:
    """Where the person must go before they can say yes to this approval; None if nothing is missing.

    Call it before a yes, and answer with what it returns.
    """
    approval = await find(page.principal, approval_id, page.ports)
    if approver_shortfall(page.principal, approval, page.ports) is None:
        return None
    return page.redirect(f"/console/approvals/{approval.id}/sign")


async def signed_decision(page: PageRequest, approval: Approval, verdict: Verdict) -> SignedDecision:
    """The decision that the form carries, signed by one of the person's passkeys; each signature counts once."""
    ports, at = page.ports, ceremony(page)
    digest, said = decision_digest(approval, verdict), sent_credential(page.field("credential"))
    passkey = await find_passkey(ports, said, page.principal)
    count = checked_assertion(said, at, passkey, digest)
    if not await use_once(ports, said["response"]["signature"].encode(), approval.expires_at):
        raise unknown_passkey()
    await keep_count(ports, passkey, count)
    return SignedDecision(digest, _assertion(said, passkey, approval, at.domain))


def _assertion(said: dict[str, Any], passkey: Passkey, approval: Approval, domain: str) -> dict[str, Any]:
    """What somebody without our store needs to check the signature (docs/audit-format.md)."""
    response = said["response"]
    return {
        "format": FORMAT,
        "binding": approval.binding,
        "text": text_digest(approval),
        "domain": domain,
        "credential": passkey.credential,
        "public_key": plain_key(passkey),
        "authenticator_data": response["authenticatorData"].rstrip("="),
        "client_data": response["clientDataJSON"].rstrip("="),
        "signature": response["signature"].rstrip("="),
    }


@on("GET", "/approvals/{id}/sign", DECIDERS)
async def show_step_up(page: PageRequest) -> Response:
    """Everything that is approved, what is still missing, and the ways to bring it."""
    approval = await find(page.principal, page.path["id"], page.ports)
    asked = step_ups_of(approval, page.principal, page.ports)
    assert page.session is not None
    return page.render(
        "step_up.html",
        approval=approval,
        state=approval.state_at(page.ports.now()).value,
        lacking=approver_shortfall(page.principal, approval, page.ports),
        options=await _options(page, approval),
        domain=passkey_domain(page),
        method=page.session.method,
        max_age=min((one.max_age for one in asked if one.max_age), default=300),
        acr=[name for one in asked for name in one.acr],
    )


async def _options(page: PageRequest, approval: Approval) -> str:
    """What the browser needs to sign a yes; empty for somebody without a passkey, or under a bare address."""
    kept = await passkeys_of(page.ports, page.principal)
    if not kept or passkey_domain(page) is None:
        return ""
    return request_options(ceremony(page), decision_digest(approval, "approve"), kept)


@on("POST", "/approvals/{id}/sign", DECIDERS)
async def approve_signed(page: PageRequest) -> Response:
    """Say yes with a passkey's signature on what the page showed."""
    approval = await find(page.principal, page.path["id"], page.ports)
    signed = await signed_decision(page, approval, "approve")
    await page.api(approve_approval, names={"approval": approval.id}, signed=signed)
    done = "Approved and signed. The agent's next identical call runs."
    return page.redirect(f"/console/approvals/{approval.id}", done)
