"""Login during a call: the caller's hook gets the server's challenge, and the request is sent again."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import httpx2

from assent.client.challenges import Challenged
from assent.client.events import Journal

T = TypeVar("T")
Login = Callable[[Challenged], Any]
"""Plain or `async`. Returns an access token, True if it renewed the credentials itself, None without a login."""


class LoginHook:
    """Calls the hook, one login at a time, and keeps the token that it returned."""

    def __init__(self, hook: Login | None, journal: Journal, within: float, on_login: Callable[[], None]) -> None:
        self._hook, self._journal, self._within, self._on_login = hook, journal, within, on_login
        self._token: str | None = None
        self._sends_tokens = False
        self._turn = asyncio.Lock()
        self._logins = 0

    async def retry(self, send: Callable[[], Awaitable[T]], tool: str = "") -> T:
        """Send a request; after a challenge log in and send it again, once for each kind of challenge."""
        tried: set[str] = set()
        while True:
            before = self._logins
            try:
                return await send()
            except Challenged as challenged:
                if self._hook is None or challenged.login_tried:
                    raise
                if challenged.code in tried or not await self._log_in(challenged, tool, before, tried):
                    challenged.login_tried = True
                    raise

    async def _log_in(self, challenged: Challenged, tool: str, before: int, tried: set[str]) -> bool:
        async with self._turn:
            if self._logins > before:
                return True  # Another call logged in meanwhile; its login may be enough for this one.
            tried.add(challenged.code)
            said, why = await self._call_hook(challenged)
            self._journal.note("logged_in", tool, code=challenged.code, done=said, why=why)
            if said:
                self._logins += 1
                self._on_login()
            return said

    async def _call_hook(self, challenged: Challenged) -> tuple[bool, str]:
        """Whether there are new credentials, and why not."""
        assert self._hook is not None
        try:
            async with asyncio.timeout(self._within):
                said = self._hook(challenged)
                said = await said if inspect.isawaitable(said) else said
        except TimeoutError:
            return False, "the login timed out"
        except Exception as error:
            return False, f"the login failed with {type(error).__name__}"
        if isinstance(said, str) and said:
            if not self._sends_tokens:
                raise TypeError("login= returned a token, but connect= made the client: put it there and return True")
            self._token = said
        return bool(said), "" if said else "the hook returned no credentials"

    def bearer_for(self, url: str) -> Callable[[httpx2.Request], Awaitable[None]]:
        """Return a request hook that sends the token to the server at this URL and to no other host."""
        origin, self._sends_tokens = _origin(httpx2.URL(url)), True

        async def authorize(request: httpx2.Request) -> None:
            if self._token is not None and _origin(request.url) == origin:
                request.headers["Authorization"] = f"Bearer {self._token}"

        return authorize


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
