"""Holds requests back until the tools are known.

A gateway listens before the servers behind it have answered. Until each has answered or was given up, nobody knows
which tools exist, and to say that one does not would be false.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import orjson

from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.gateway.auth.challenges import Challenge
from assent.web.asgi import Headers, Scope, Send
from assent.web.http import respond

PATIENCE = 20.0
"""Seconds that a request waits for the end of the start. Clients wait half a minute and more for a response."""
Authenticate = Callable[[Headers, Scope], Awaitable[Principal]]


class StartGate:
    """Closed until the start is over."""

    def __init__(self) -> None:
        self.is_open = False
        self._over = asyncio.Event()

    def open(self) -> None:
        self.is_open = True
        self._over.set()

    def give_up(self) -> None:
        """Answer what waits: the start will not end."""
        self._over.set()

    async def admits(self, authenticate: Authenticate, scope: Scope, send: Send) -> bool:
        """Whether a request may go on now, after a wait; otherwise it is answered."""
        try:
            await authenticate(scope["headers"], scope)
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await self._over.wait()
            if not self.is_open:
                starting = Refusal("discover.not_ready")
                raise Challenge(starting.status, starting.problem(), [(b"retry-after", b"2")])
        except Challenge as challenge:
            await respond(send, challenge.status, orjson.dumps(challenge.problem), challenge.fields)
            return False
        return True
