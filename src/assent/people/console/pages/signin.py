"""Sign-in and sign-out pages."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.responses import Response

from assent.core.api_keys import KeyRecord
from assent.core.audit import Entry, principal_values
from assent.core.principal import Principal
from assent.people.accounts import Account, find_account, own_account
from assent.people.api.keys import MOST_LOOKED_AT, revoke_key
from assent.people.console.page import (
    EVERYONE,
    KEEPERS,
    PUBLIC,
    PageError,
    PageRequest,
    address_of,
    clear_session_cookie,
    on,
    set_session_cookie,
)
from assent.people.console.passkeys import ceremony_of, new_challenge, request_options
from assent.people.console.start import redeem_link_token
from assent.people.passkey_records import passkeys_of


@on("GET", "/signin", PUBLIC)
async def show_sign_in(page: PageRequest) -> Response:
    """The ways to sign in. A link's token travels in the form only when the person presses the button."""
    if page.session is not None and not page.query.get("link"):
        return page.redirect(next_page(page.query.get("next", "")))
    oidc, context, printed = page.context.oidc(), page.context, False
    if context.offer_link is not None and not page.query.get("link"):
        client = (page.request.scope.get("client") or ("unknown", 0))[0]
        printed = await context.offer_link(address_of(page), client)
    return page.render(
        "signin.html",
        token=page.query.get("link", ""),
        next=next_page(page.query.get("next", "")),
        provider=urlsplit(oidc.settings.issuer).hostname if oidc else "",
        accounts=page.site.settings.accounts,
        command=context.command,
        printed=printed,
        gateway=context.gateway is not None,
        passkey=_passkey_options(page),
    )


def _passkey_options(page: PageRequest) -> str:
    """What the browser needs to sign in with a passkey; empty where the console is open under a bare address."""
    at, ports = ceremony_of(page), page.ports
    return "" if at is None else request_options(at, new_challenge(ports.keyed_hash, "sign-in", ports.now()), [])


@on("POST", "/signin/link", PUBLIC)
async def sign_in_by_link(page: PageRequest) -> Response:
    """Use up a one-time link."""
    principal = await redeem_link_token(page.ports.store, page.field("link"), page.ports.now())
    if principal is None:
        page.context.count_failure("console.link", page.request.scope)
        detail = f"A link works once, for ten minutes. Run `{page.context.command}` to get a new one."
        raise PageError(403, "This sign-in link was used or has expired.", detail)
    return await start_session(page, principal, "link", principal.id.rpartition(":")[2], page.field("next"))


async def start_session(page: PageRequest, person: Principal, method: str, who: str | Account, next: str) -> Response:
    """Sign a person in, write it down, and send them where they wanted to go. A changed account stays out."""
    ports = page.ports
    values = {**principal_values(person), "address": (page.request.scope.get("client") or ("unknown", 0))[0]}
    ports.store.append(Entry("authentication", ports.now(), {"event": "console.signed_in", "channel": method}, values))
    if page.session is not None:
        await page.context.sessions.end(page.session)
    name = who.name if isinstance(who, Account) else who
    token, _ = await page.context.sessions.start(person, method, name, page.session)
    if isinstance(who, Account) and getattr(await find_account(ports, who.name), "version", 0) != who.version:
        raise PageError(403, "The account was changed meanwhile.", "Sign in again.")
    response = page.redirect(next_page(next))
    set_session_cookie(response, token, page.site.public_url)
    return response


@on("GET", "/signin/again", EVERYONE)
async def ask_to_sign_in(page: PageRequest, status: int = 200) -> Response:
    """Where a person is led whose sign-in is too old for what they want to do."""
    back = page.query.get("next", "") or "/".join(page.request.url.path.split("/")[:3])
    reason = "What you want to do lasts beyond this session, so it needs a sign-in of the last five minutes."
    return await sign_in_again(page, next_page(back), reason, 1, status=status)


async def sign_in_again(
    page: PageRequest, back: str, reason: str, max_age: int, acr: Sequence[str] = (), status: int = 200
) -> Response:
    """The page with the ways to authenticate anew, in the way the person signed in."""
    assert page.session is not None
    ports, person = page.ports, page.principal
    account, options = await own_account(ports, person), ""
    if account is not None and await passkeys_of(ports, person):
        options = _passkey_options(page)
    return page.render(
        "sign_in_again.html",
        status,
        back=back,
        reason=reason,
        max_age=max_age,
        acr=acr,
        account=account,
        options=options,
        method=page.session.method,
    )


@on("POST", "/signout", EVERYONE)
async def sign_out(page: PageRequest) -> Response:
    """End the session. Keys that were made in it outlive it, so the person says whether they should."""
    sessions = page.context.sessions
    assert page.session is not None
    ended = await sessions.of(page.principal) if page.field("everywhere") else [page.session]
    made = await keys_made_in(page, {one.chain for one in ended})
    if made and page.field("keys") not in ("keep", "revoke"):
        return page.render("sign_out.html", keys=made, everywhere=page.field("everywhere"))
    if page.field("keys") == "revoke":
        for one in made:
            await page.api(revoke_key, names={"key": one.start})
    if page.field("everywhere"):
        await sessions.end_all(page.principal)
    await sessions.end(page.session)
    response = page.redirect("/console/signin")
    clear_session_cookie(response)
    return response


async def keys_made_in(page: PageRequest, sessions: set[str]) -> list[KeyRecord]:
    """The keys that a person made in these sessions and that still let somebody in."""
    if not page.may(KEEPERS):
        return []
    now, found = page.ports.now(), await page.ports.store.keys(limit=MOST_LOOKED_AT)
    return [one for one in found if one.made_in in sessions and one.is_good(now)]


def next_page(path: str) -> str:
    """A page of the console to go on to. Anything else could lead to another site."""
    inside = path.startswith("/console/") and not path.startswith("/console/signin") and "\\" not in path
    return path if inside else "/console/approvals"
