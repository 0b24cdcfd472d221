"""Ends a long-lived stream when its caller loses access.

Every call is authenticated anew. A stream could outlive a revoked key or an expired token, so its caller is
re-authenticated every few seconds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from assent.web.asgi import Send

logger = logging.getLogger(__name__)

EVERY = 5.0


async def end_when_unauthorized(
    stream: Awaitable[object], is_authorized: Callable[[], Awaitable[bool]], send: Send, given_up: asyncio.Event
) -> None:
    """Runs a stream until its caller is no longer authorized or its place is given up; then ends the response.

    If a check raises, the stream stays open and the next check follows at the next interval.
    """
    serving, ended = asyncio.current_task(), False

    async def check() -> None:
        nonlocal ended
        authorized = True
        while authorized and not given_up.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY):
                    await given_up.wait()
            try:
                authorized = given_up.is_set() or await is_authorized()
            except Exception:
                logger.exception("re-authentication of a stream failed; it is tried again")
        ended = True
        assert serving is not None
        serving.cancel()

    checking = asyncio.ensure_future(check())
    try:
        await stream
    except asyncio.CancelledError:
        if not ended:
            raise
        with suppress(RuntimeError):  # The response has not started, so there is nothing to end.
            await send({"type": "http.response.body", "body": b""})
    finally:
        checking.cancel()
