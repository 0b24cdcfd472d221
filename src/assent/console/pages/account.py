"""A person's own account: sessions, password and passkeys."""

from __future__ import annotations

from dataclasses import replace

from starlette.responses import Response

from assent.console.address import address_of, passkey_domain
from assent.console.page import EVERYONE, Page, PageError, PageRequest
from assent.console.pages.passkeys import is_fresh
from assent.console.pages.signin_password import authenticate
from assent.console.passkeys import Ceremony, creation_options, new_challenge
from assent.console.passwords import hash_password, password_fault
from assent.gateway.people.accounts import Account, find_account, keep_account
from assent.gateway.people.passkey_records import passkeys_of


async def show_account(page: PageRequest) -> Response:
    sessions = await page.context.sessions.of(page.principal)
    ports, domain, address = page.context.ports(), passkey_domain(page), address_of(page)
    passkeys = await passkeys_of(ports, page.principal)
    options = ""
    if domain is not None and is_fresh(page):
        challenge = new_challenge(ports.keyed_hash, f"add {page.principal.id}", ports.now())
        options = creation_options(Ceremony(domain, address), page.principal, _name(page), challenge, passkeys)
    return page.render(
        "account.html",
        sessions=list(reversed(sessions)),
        account=await own_account(page),
        passkeys=passkeys,
        options=options,
        domain=domain,
        provider=page.session is not None and page.session.method == "oidc",
    )


def _name(page: PageRequest) -> str:
    return page.session.name if page.session is not None else ""


async def own_account(page: PageRequest) -> Account | None:
    """The local account of the signed-in person; None for somebody who signed in another way."""
    assert page.session is not None
    if page.session.method not in ("password", "passkey"):
        return None
    found = await find_account(page.context.ports(), page.principal.id)
    return found if found is not None and found.tenant == page.principal.tenant else None


async def change_password(page: PageRequest) -> Response:
    """Set another password. The person's other sessions end."""
    if await own_account(page) is None:
        raise PageError(404, "You have no password here.", "You signed in another way.")
    fault = password_fault(page.field("password"), page.principal.id)
    if page.field("password") != page.field("again"):
        fault = "The two passwords differ."
    if fault is not None:
        raise PageError(422, "The password was not changed.", fault)
    account = await authenticate(page, page.principal.id, page.field("current"), page.field("code"))
    changed = replace(account, password=await hash_password(page.field("password")))
    if await keep_account(page.context.ports(), changed, "account.password", page.principal) is None:
        raise PageError(409, "The account was changed meanwhile.", "Try again with the next code.")
    await _end_others(page)
    return page.redirect("/console/account", "The password was changed. Your other sessions have ended.")


async def end_session(page: PageRequest) -> Response:
    """End one of the person's own sessions."""
    for session in await page.context.sessions.of(page.principal):
        if session.id == page.path["id"]:
            await page.context.sessions.end(session)
            return page.redirect("/console/account", "The session has ended.")
    raise PageError(404, "There is no such session.", "It may have ended already.")


async def _end_others(page: PageRequest) -> None:
    assert page.session is not None
    for session in await page.context.sessions.of(page.principal):
        if session.id != page.session.id:
            await page.context.sessions.end(session)


PAGES = (
    Page("GET", "/account", show_account, EVERYONE),
    Page("POST", "/account/password", change_password, EVERYONE),
    Page("POST", "/account/sessions/{id}/end", end_session, EVERYONE),
)
