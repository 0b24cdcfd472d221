"""The console's session cookie."""

from __future__ import annotations

from starlette.responses import Response

SESSION_COOKIE = "assent_session"


def set_session_cookie(response: Response, token: str, public_url: str) -> None:
    """The browser sends it to the console only, never to scripts, and over TLS where the console uses it."""
    secure = public_url.startswith("https://")
    response.set_cookie(SESSION_COOKIE, token, path="/console", httponly=True, samesite="lax", secure=secure)


def clear_session_cookie(response: Response) -> None:
    response.delete_cookie(SESSION_COOKIE, path="/console")
