"""A person's own sessions and passkeys, and the sign-in with a passkey."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from assent.people.accounts import Account, find_account, own_account
from assent.people.console.page import (
    EVERYONE,
    PUBLIC,
    PageError,
    PageRequest,
    on,
    passkey_domain,
)
from assent.people.console.pages.accounts import enrolled_account, enrolment_of, finish_enrolment, needs_accounts
from assent.people.console.pages.signin import keys_made_in, start_session
from assent.people.console.passkeys import (
    CHALLENGE_LASTS,
    Ceremony,
    add_passkey,
    ceremony_of,
    check_challenge,
    checked_assertion,
    count_attempt,
    creation_options,
    find_passkey,
    keep_count,
    made_passkey,
    new_challenge,
    sent_challenge,
    sent_credential,
    unknown_passkey,
    use_once,
)
from assent.people.passkey_records import Passkey, passkeys_of, remove_passkey
from assent.people.sessions import check_recent, is_recent


@on("POST", "/signin/passkey", PUBLIC)
async def sign_in_by_passkey(page: PageRequest) -> Response:
    """Sign in to a local account with one of its passkeys."""
    needs_accounts(page)
    address = str((page.request.scope.get("client") or ("unknown", 0))[0])
    await count_attempt(page.ports.store, address, page.ports.now())
    try:
        said = sent_credential(page.field("credential"))
        challenge = await _answered_challenge(page, said, "sign-in")
        passkey = await find_passkey(page.ports, said)
        await keep_count(page.ports, passkey, checked_assertion(said, ceremony(page), passkey, challenge))
        account = await _account_of(page, passkey)
    except PageError:
        page.context.count_failure("console.passkey", page.request.scope)
        raise
    return await start_session(page, account.principal(page.ports.now()), "passkey", account, page.field("next"))


async def _account_of(page: PageRequest, passkey: Passkey) -> Account:
    account = await find_account(page.ports, passkey.person) if passkey.account else None
    if account is None or account.disabled or account.tenant != passkey.tenant:
        raise unknown_passkey()
    return account


async def _answered_challenge(page: PageRequest, said: dict[str, Any], purpose: str) -> bytes:
    """The challenge, if it is ours, for this purpose, still fresh, and answered for the first time."""
    ports, challenge = page.ports, sent_challenge(said)
    ours = check_challenge(ports.keyed_hash, purpose, challenge, ports.now())
    if not ours or not await use_once(ports, challenge, ports.now() + CHALLENGE_LASTS):
        raise PageError(403, "This page is too old.", "Reload it and use the passkey again.")
    return challenge


def ceremony(page: PageRequest) -> Ceremony:
    if (found := ceremony_of(page)) is None:
        detail = "Passkeys belong to a host name. Open the console under its name, for instance localhost."
        raise PageError(409, "Passkeys do not work under a bare address.", detail)
    return found


@on("POST", "/enrol/passkey", PUBLIC)
async def enrol_passkey(page: PageRequest) -> Response:
    """Set up an account with a passkey, and sign in."""
    token = page.field("token")
    enrolment = await enrolment_of(page, token)
    said = sent_credential(page.field("credential"))
    challenge = await _answered_challenge(page, said, f"enrol {enrolment.account}")
    made = made_passkey(said, ceremony(page), challenge)
    account = await enrolled_account(page, enrolment, token)
    await add_passkey(page.ports, enrolment.owner, True, *made, page.field("label"))
    return await finish_enrolment(page, account, "account.enrol_passkey", "passkey")


@on("POST", "/account/passkeys", EVERYONE)
async def add_own_passkey(page: PageRequest) -> Response:
    """Add a passkey to the signed-in person's."""
    check_recent(page.principal, page.ports)
    said = sent_credential(page.field("credential"))
    challenge = await _answered_challenge(page, said, f"add {page.principal.id}")
    made = made_passkey(said, ceremony(page), challenge)
    local = await own_account(page.ports, page.principal) is not None
    await add_passkey(page.ports, page.principal, local, *made, page.field("label"))
    return page.redirect("/console/account", "The passkey was added.")


@on("POST", "/account/passkeys/{id}/remove", EVERYONE)
async def remove_own_passkey(page: PageRequest) -> Response:
    check_recent(page.principal, page.ports)
    if not await remove_passkey(page.ports, page.principal, page.path["id"], page.principal):
        raise PageError(404, "There is no such passkey.", "It may have been removed already.")
    return page.redirect("/console/account", "The passkey was removed.")


@on("GET", "/account", EVERYONE)
async def show_account(page: PageRequest) -> Response:
    sessions = await page.context.sessions.of(page.principal)
    ports, at, options = page.ports, ceremony_of(page), ""
    passkeys = await passkeys_of(ports, page.principal)
    assert page.session is not None
    if at is not None and is_recent(page.principal, ports):
        challenge = new_challenge(ports.keyed_hash, f"add {page.principal.id}", ports.now())
        options = creation_options(at, page.principal, page.session.name, challenge, passkeys)
    return page.render(
        "account.html",
        sessions=list(reversed(sessions)),
        keys=await keys_made_in(page, {one.chain for one in sessions}),
        passkeys=passkeys,
        options=options,
        domain=passkey_domain(page),
    )


@on("POST", "/account/sessions/{id}/end", EVERYONE)
async def end_session(page: PageRequest) -> Response:
    """End one of the person's own sessions."""
    for session in await page.context.sessions.of(page.principal):
        if session.id == page.path["id"]:
            await page.context.sessions.end(session)
            return page.redirect("/console/account", "The session has ended.")
    raise PageError(404, "There is no such session.", "It may have ended already.")
