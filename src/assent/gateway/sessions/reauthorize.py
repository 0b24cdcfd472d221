"""Ends streams whose listener may no longer listen.

A call is over soon, and the next one is asked for its credentials again. A stream would outlive a key that was revoked
and a token that has run out, so the credentials of its listener are checked now and then.
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
    stream: Awaitable[object], is_welcome: Callable[[], Awaitable[bool]], send: Send, given_up: asyncio.Event
) -> None:
    """Let a stream go on while its listener is welcome and its place is not given up; then end it as a response ends.

    A look that fails says nothing, and the next one is taken all the same.
    """
    serving, shown_out = asyncio.current_task(), False

    async def look() -> None:
        nonlocal shown_out
        welcome = True
        while welcome and not given_up.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY):
                    await given_up.wait()
            try:
                welcome = given_up.is_set() or await is_welcome()
            except Exception:
                logger.exception("nobody could say whether a listener is still welcome")
        shown_out = True
        assert serving is not None
        serving.cancel()

    looking = asyncio.ensure_future(look())
    try:
        await stream
    except asyncio.CancelledError:
        if not shown_out:
            raise
        with suppress(RuntimeError):  # nothing was sent yet, and nothing will be
            await send({"type": "http.response.body", "body": b""})
    finally:
        looking.cancel()
