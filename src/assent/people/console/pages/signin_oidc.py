"""Sign-in through the identity provider, and its answer."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.responses import Response

from assent.core.audit import Entry, principal_values
from assent.people.console.address import address_of
from assent.people.console.cookies import set_session_cookie
from assent.people.console.oidc import OidcClient, display_name, principal_of
from assent.people.console.page import EVERYONE, PUBLIC, Page, PageError, PageRequest
from assent.people.console.pages.signin import next_page, start_session
from assent.people.console.signin_state import (
    LASTS,
    PendingSignIn,
    forget_pending,
    keep_pending,
    new_request,
    pending_of,
)

CALLBACK = "/console/signin/oidc/callback"


async def begin_sign_in(page: PageRequest) -> Response:
    """Send the person's browser to the identity provider."""
    return await go_to_provider(page, page.field("next"))


async def begin_step_up(page: PageRequest) -> Response:
    """Send a signed-in person to the identity provider, to authenticate anew."""
    max_age, acr = page.field("max_age"), tuple(page.form.get("acr", ()))
    seconds = int(max_age) if max_age.isdigit() and len(max_age) < 8 else 0
    return await go_to_provider(page, page.field("next"), seconds, acr)


async def go_to_provider(
    page: PageRequest, next: str, max_age: int | None = None, acr: tuple[str, ...] = ()
) -> Response:
    """A page that leads on to the provider. It is no redirect: `form-action` would then have to allow every place that
    the provider itself redirects to."""
    ports, address = page.context.ports(), address_of(page)
    asked = new_request(address + CALLBACK, max_age, acr)
    url = await client_of(page).authorization_url(asked)
    session = page.session.id if page.session is not None and max_age is not None else ""
    pending = PendingSignIn(asked, next_page(next), ports.now() + LASTS, session)
    response = page.render("signin_continue.html", url=url, host=urlsplit(url).netloc)
    keep_pending(response, pending, ports.keyed_hash, address.startswith("https://"))
    return response


async def finish_sign_in(page: PageRequest) -> Response:
    """The provider's answer. Only the browser that began this sign-in can bring it, and only once."""
    ports, state = page.context.ports(), page.query.get("state", "")
    pending = pending_of(page.request, state, ports.keyed_hash, ports.now())
    if pending is None:
        page.context.count_failure("console.state", page.request.scope)
        detail = "It took more than ten minutes, was finished already, or began in another browser. Sign in again."
        raise PageError(403, "This sign-in cannot be finished.", detail)
    response = await _answered(page, pending)
    forget_pending(response, state)
    return response


async def _answered(page: PageRequest, pending: PendingSignIn) -> Response:
    client = client_of(page)
    try:
        _check_answer(page, client)
        claims = await client.claims(page.query["code"], pending.request)
        principal = principal_of(claims, client.settings, page.context.ports().now())
    except PageError:
        page.context.count_failure("console.oidc", page.request.scope)
        raise
    if not pending.session:
        return await start_session(page, principal, "oidc", display_name(claims), pending.next)
    session = page.session
    if session is None or session.id != pending.session or session.principal.identity != principal.identity:
        raise PageError(403, "You authenticated as somebody else.", "Sign out, then sign in as the right person.")
    if not await page.context.sessions.end(session):
        raise PageError(403, "Your session has ended.", "Sign in again.")
    ports = page.context.ports()
    facts = {"event": "console.stepped_up", "channel": "oidc"}
    ports.store.append(Entry("authentication", ports.now(), facts, principal_values(principal)))
    # A new cookie: whoever has a copy of the old one must not gain by this sign-in.
    token, _ = await page.context.sessions.start(principal, "oidc", session.name, session)
    response = page.redirect(pending.next, "You have authenticated again.")
    set_session_cookie(response, token, page.context.public_url())
    return response


def _check_answer(page: PageRequest, client: OidcClient) -> None:
    if page.query.get("iss", client.settings.issuer) != client.settings.issuer:
        raise PageError(403, "Another identity provider answered.", "Sign in again.")
    if "error" in page.query or not page.query.get("code"):
        said = page.query.get("error", "nothing")[:100]
        raise PageError(403, "The identity provider did not sign you in.", f"It said: {said}. Try again.")


def client_of(page: PageRequest) -> OidcClient:
    client = page.context.oidc()
    if client is None:
        raise PageError(404, "This console has no identity provider.", "Sign in another way.")
    return client


PAGES = (
    Page("POST", "/signin/oidc", begin_sign_in, PUBLIC),
    Page("GET", "/signin/oidc/callback", finish_sign_in, PUBLIC),
    Page("POST", "/signin/oidc/again", begin_step_up, EVERYONE),
)
