"""Step-up: an approver authenticates again, or signs with a passkey, before a yes that asks for it.

`approve()` of the pipeline refuses a yes without it, whichever way it comes. This module leads a person of the console
to what is missing.
"""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from assent.core.approval import Approval, SignedDecision, Verdict, decision_digest, text_digest
from assent.people.console.page import PageRequest
from assent.people.console.pages.passkeys import ceremony
from assent.people.console.passkey_store import find_passkey, keep_count
from assent.people.console.passkeys import checked_assertion, sent_credential, unknown_passkey, use_once
from assent.people.passkey_records import Passkey, plain_key
from assent.pipeline.approve import approver_shortfall, find

FORMAT = "assent-signed-decision/1"


async def step_up_first(page: PageRequest, approval_id: str) -> Response | None:
    """Where the person must go before they can say yes to this approval; None if nothing is missing.

    Call it before a yes, and answer with what it returns.
    """
    ports = page.context.ports()
    approval = await find(page.principal, approval_id, ports)
    if approver_shortfall(page.principal, approval, ports) is None:
        return None
    return page.redirect(f"/console/approvals/{approval.id}/sign")


async def signed_decision(page: PageRequest, approval: Approval, verdict: Verdict) -> SignedDecision:
    """The decision that the form carries, signed by one of the person's passkeys; each signature counts once."""
    ports, at = page.context.ports(), ceremony(page)
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
