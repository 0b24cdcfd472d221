"""Pages on which people sign in with a passkey, enrol one, add one and remove one."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from assent.core.principal import Principal
from assent.people.accounts import find_account, own_account
from assent.people.api.recent_sign_in import check_recent
from assent.people.console.address import address_of, passkey_domain
from assent.people.console.attempts import count_attempt
from assent.people.console.page import EVERYONE, PUBLIC, Page, PageError, PageRequest
from assent.people.console.pages.enrolment import enrolled_account, enrolment_of, finish_enrolment, needs_accounts
from assent.people.console.pages.signin import start_session
from assent.people.console.passkey_store import add_passkey, find_passkey, keep_count
from assent.people.console.passkeys import (
    CHALLENGE_LASTS,
    Ceremony,
    check_challenge,
    checked_assertion,
    made_passkey,
    sent_challenge,
    sent_credential,
    unknown_passkey,
    use_once,
)
from assent.people.passkey_records import Passkey, remove_passkey


async def sign_in_by_passkey(page: PageRequest) -> Response:
    """Sign in to a local account with one of its passkeys."""
    needs_accounts(page)
    ports = page.context.ports()
    address = str((page.request.scope.get("client") or ("unknown", 0))[0])
    await count_attempt(ports.store, address, ports.now())
    try:
        said = sent_credential(page.field("credential"))
        challenge = await _answered_challenge(page, said, "sign-in")
        passkey = await find_passkey(ports, said)
        await keep_count(ports, passkey, checked_assertion(said, ceremony(page), passkey, challenge))
        principal = await _account_principal(page, passkey)
    except PageError:
        page.context.count_failure("console.passkey", page.request.scope)
        raise
    return await start_session(page, principal, "passkey", passkey.person, page.field("next"))


async def _account_principal(page: PageRequest, passkey: Passkey) -> Principal:
    ports = page.context.ports()
    account = await find_account(ports, passkey.person) if passkey.account else None
    if account is None or account.disabled or account.tenant != passkey.tenant:
        raise unknown_passkey()
    return account.principal(ports.now())


async def _answered_challenge(page: PageRequest, said: dict[str, Any], purpose: str) -> bytes:
    """The challenge, if it is ours, for this purpose, still fresh, and answered for the first time."""
    ports, challenge = page.context.ports(), sent_challenge(said)
    ours = check_challenge(ports.keyed_hash, purpose, challenge, ports.now())
    if not ours or not await use_once(ports, challenge, ports.now() + CHALLENGE_LASTS):
        raise PageError(403, "This page is too old.", "Reload it and use the passkey again.")
    return challenge


def ceremony(page: PageRequest) -> Ceremony:
    domain = passkey_domain(page)
    if domain is None:
        detail = "Passkeys belong to a host name. Open the console under its name, for instance localhost."
        raise PageError(409, "Passkeys do not work under a bare address.", detail)
    return Ceremony(domain, address_of(page))


async def enrol_passkey(page: PageRequest) -> Response:
    """Set up an account with a passkey, and sign in."""
    token = page.field("token")
    enrolment = await enrolment_of(page, token)
    said = sent_credential(page.field("credential"))
    challenge = await _answered_challenge(page, said, f"enrol {enrolment.account}")
    made = made_passkey(said, ceremony(page), challenge)
    account = await enrolled_account(page, enrolment, token)
    await add_passkey(page.context.ports(), enrolment.owner, True, *made, page.field("label"))
    return await finish_enrolment(page, account, "account.enrol_passkey", "passkey")


async def add_own_passkey(page: PageRequest) -> Response:
    """Add a passkey to the signed-in person's."""
    check_recent(page.principal, page.context.ports())
    said = sent_credential(page.field("credential"))
    challenge = await _answered_challenge(page, said, f"add {page.principal.id}")
    made = made_passkey(said, ceremony(page), challenge)
    ports = page.context.ports()
    local = await own_account(ports, page.principal) is not None
    await add_passkey(ports, page.principal, local, *made, page.field("label"))
    return page.redirect("/console/account", "The passkey was added.")


async def remove_own_passkey(page: PageRequest) -> Response:
    check_recent(page.principal, page.context.ports())
    if not await remove_passkey(page.context.ports(), page.principal, page.path["id"], page.principal):
        raise PageError(404, "There is no such passkey.", "It may have been removed already.")
    return page.redirect("/console/account", "The passkey was removed.")


PAGES = (
    Page("POST", "/signin/passkey", sign_in_by_passkey, PUBLIC),
    Page("POST", "/enrol/passkey", enrol_passkey, PUBLIC),
    Page("POST", "/account/passkeys", add_own_passkey, EVERYONE),
    Page("POST", "/account/passkeys/{id}/remove", remove_own_passkey, EVERYONE),
)
