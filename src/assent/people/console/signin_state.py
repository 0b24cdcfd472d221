"""What a browser keeps while its person is at the identity provider.

A cookie for each sign-in under way holds what the answer must match. It carries a keyed hash, so it cannot be made up
or changed; the store holds nothing, so nobody can fill it.
"""

from __future__ import annotations

import base64
import hmac
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from assent.people.console.oidc import SignInRequest

LASTS = 600
PATH = "/console/signin"
_PURPOSE = "console sign-in state v1\n"


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """A sign-in, or a step-up of a session, that waits for the identity provider."""

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
    response.set_cookie(name, value, max_age=LASTS, path=PATH, httponly=True, samesite="lax", secure=secure)


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
    response.delete_cookie(_cookie(state), path=PATH)


def _cookie(state: str) -> str:
    return "assent_signin_" + "".join(char for char in state[:12] if char.isalnum())
