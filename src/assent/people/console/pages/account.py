"""A person's own account: sessions and passkeys."""

from __future__ import annotations

from starlette.responses import Response

from assent.people.api.recent_sign_in import is_recent
from assent.people.console.address import address_of, passkey_domain
from assent.people.console.page import EVERYONE, Page, PageError, PageRequest
from assent.people.console.pages.signin import keys_made_in
from assent.people.console.passkeys import Ceremony, creation_options, new_challenge
from assent.people.passkey_records import passkeys_of


async def show_account(page: PageRequest) -> Response:
    sessions = await page.context.sessions.of(page.principal)
    ports, domain, address = page.context.ports(), passkey_domain(page), address_of(page)
    passkeys = await passkeys_of(ports, page.principal)
    options = ""
    if domain is not None and is_recent(page.principal, ports):
        challenge = new_challenge(ports.keyed_hash, f"add {page.principal.id}", ports.now())
        options = creation_options(Ceremony(domain, address), page.principal, _name(page), challenge, passkeys)
    return page.render(
        "account.html",
        sessions=list(reversed(sessions)),
        keys=await keys_made_in(page, {one.chain for one in sessions}),
        passkeys=passkeys,
        options=options,
        domain=domain,
    )


def _name(page: PageRequest) -> str:
    return page.session.name if page.session is not None else ""


async def end_session(page: PageRequest) -> Response:
    """End one of the person's own sessions."""
    for session in await page.context.sessions.of(page.principal):
        if session.id == page.path["id"]:
            await page.context.sessions.end(session)
            return page.redirect("/console/account", "The session has ended.")
    raise PageError(404, "There is no such session.", "It may have ended already.")


PAGES = (
    Page("GET", "/account", show_account, EVERYONE),
    Page("POST", "/account/sessions/{id}/end", end_session, EVERYONE),
)
