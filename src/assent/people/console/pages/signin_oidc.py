"""Sign-in through the identity provider, and its answer."""

from __future__ import annotations

import base64
import hmac
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

import orjson
from starlette.requests import Request
from starlette.responses import Response

from assent.core.audit import Entry, principal_values
from assent.people.console.oidc import OidcClient, SignInRequest, display_name, principal_of
from assent.people.console.page import (
    EVERYONE,
    PUBLIC,
    PageError,
    PageRequest,
    address_of,
    on,
    set_session_cookie,
)
from assent.people.console.pages.signin import next_page, start_session

LASTS = 600
COOKIE_PATH = "/console/signin"
_PURPOSE = "console sign-in state v1\n"


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """A sign-in, or a step-up of a session, that waits for the identity provider.

    A cookie keeps it. In the store, any visitor could make such records without limit.
    """

    request: SignInRequest
    next: str
    expires_at: float
    session: str = ""
    """The session that is to be stepped up; empty for a sign-in."""


def new_request(redirect_uri: str, max_age: int | None = None, acr: tuple[str, ...] = ()) -> SignInRequest:
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    return SignInRequest(redirect_uri, state, nonce, verifier, max_age, acr)


def keep_pending(response: Response, pending: PendingSignIn, keyed_hash: Callable[[str], str], secure: bool) -> None:
    text = base64.urlsafe_b64encode(orjson.dumps(asdict(pending))).decode()
    value = f"{text}.{keyed_hash(_PURPOSE + text)}"
    name = _cookie(pending.request.state)
    response.set_cookie(name, value, max_age=LASTS, path=COOKIE_PATH, httponly=True, samesite="lax", secure=secure)


def pending_of(request: Request, state: str, keyed_hash: Callable[[str], str], now: float) -> PendingSignIn | None:
    """The sign-in that this browser began under this state; None if there is none, or it took too long."""
    text, _, mac = request.cookies.get(_cookie(state), "").partition(".")
    if not text or not hmac.compare_digest(keyed_hash(_PURPOSE + text).encode(), mac.encode()):
        return None
    body: dict[str, Any] = orjson.loads(base64.urlsafe_b64decode(text))
    asked = body.pop("request")
    found = PendingSignIn(SignInRequest(**{**asked, "acr": tuple(asked["acr"])}), **body)
    same = hmac.compare_digest(found.request.state.encode(), state.encode("utf-8", "replace"))
    return found if same and now < found.expires_at else None


def forget_pending(response: Response, state: str) -> None:
    response.delete_cookie(_cookie(state), path=COOKIE_PATH)


def _cookie(state: str) -> str:
    return "assent_signin_" + "".join(char for char in state[:12] if char.isalnum())


CALLBACK = "/console/signin/oidc/callback"


@on("POST", "/signin/oidc", PUBLIC)
async def begin_sign_in(page: PageRequest) -> Response:
    """Send the person's browser to the identity provider."""
    return await go_to_provider(page, page.field("next"))


@on("POST", "/signin/oidc/again", EVERYONE)
async def begin_step_up(page: PageRequest) -> Response:
    """Send a signed-in person to the identity provider, to authenticate anew."""
    max_age, acr = page.field("max_age"), tuple(page.form.get("acr", ()))
    seconds = int(max_age) if max_age.isdecimal() and len(max_age) < 8 else 0
    return await go_to_provider(page, page.field("next"), seconds, acr)


async def go_to_provider(
    page: PageRequest, next: str, max_age: int | None = None, acr: tuple[str, ...] = ()
) -> Response:
    """A page that leads on to the provider. It is no redirect: `form-action` would then have to allow every place that
    the provider itself redirects to."""
    ports, address = page.ports, address_of(page)
    asked = new_request(address + CALLBACK, max_age, acr)
    url = await client_of(page).authorization_url(asked)
    session = page.session.id if page.session is not None and max_age is not None else ""
    pending = PendingSignIn(asked, next_page(next), ports.now() + LASTS, session)
    response = page.render("signin_continue.html", url=url, host=urlsplit(url).netloc)
    keep_pending(response, pending, ports.keyed_hash, address.startswith("https://"))
    return response


@on("GET", "/signin/oidc/callback", PUBLIC)
async def finish_sign_in(page: PageRequest) -> Response:
    """The provider's answer. Only the browser that began this sign-in can bring it, and only once."""
    ports, state = page.ports, page.query.get("state", "")
    pending = pending_of(page.request, state, ports.keyed_hash, ports.now())
    if pending is None:
        page.context.count_failure("console.state", page.request.scope)
        detail = "It took more than ten minutes, was finished already, or began in another browser. Sign in again."
        raise PageError(403, "This sign-in cannot be finished.", detail)
    response = await _finish_sign_in(page, pending)
    forget_pending(response, state)
    return response


async def _finish_sign_in(page: PageRequest, pending: PendingSignIn) -> Response:
    client = client_of(page)
    try:
        _check_answer(page, client)
        claims = await client.claims(page.query["code"], pending.request)
        principal = principal_of(claims, client.settings, page.ports.now())
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
    facts = {"event": "console.stepped_up", "channel": "oidc"}
    page.ports.store.append(Entry("authentication", page.ports.now(), facts, principal_values(principal)))
    # A new cookie: whoever has a copy of the old one must not gain by this sign-in.
    token, _ = await page.context.sessions.start(principal, "oidc", session.name, session)
    response = page.redirect(pending.next, "You have authenticated again.")
    set_session_cookie(response, token, page.site.public_url)
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
