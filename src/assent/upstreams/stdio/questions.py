"""Finds the caller that a shared stdio server asks.

A question over stdio does not say to which call it belongs. It goes to a caller if only requests of that caller are
running. While requests of several callers run, it is refused, so that no caller is asked about the call of another.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from assent.mcp.channel import StreamListener
from assent.mcp.requests import McpRequest

logger = logging.getLogger(__name__)


class StdioQuestions:
    """The running requests at one process, by caller."""

    def __init__(self, name: str) -> None:
        self._name, self._warned = name, False
        self._running: dict[int, tuple[Hashable, StreamListener]] = {}
        self._asking: dict[asyncio.Future[dict[str, Any] | None], int] = {}

    @property
    def is_open(self) -> bool:
        """Whether a question waits for an answer."""
        return bool(self._asking)

    @contextmanager
    def during(self, mcp_request: McpRequest, stream_listener: StreamListener) -> Iterator[None]:
        """While this request runs its caller can be asked; its questions end with it."""
        number = id(stream_listener)
        self._running[number] = _client_of(mcp_request), stream_listener
        try:
            yield
        finally:
            self._running.pop(number, None)
            for asking in [one for one, asked in self._asking.items() if asked == number]:
                asking.cancel()

    async def answer(self, question: dict[str, Any]) -> dict[str, Any] | None:
        """The caller's answer; None if no caller can be asked, or it is unclear which one."""
        if len({caller for caller, _ in self._running.values()}) != 1:
            self._warn()
            return None
        number, (_, stream_listener) = list(self._running.items())[-1]
        asking = asyncio.ensure_future(stream_listener.answer(question))
        self._asking[asking] = number
        try:
            await asyncio.wait([asking])
            return None if asking.cancelled() else asking.result()
        finally:
            del self._asking[asking]
            asking.cancel()

    def _warn(self) -> None:
        if self._running and not self._warned:
            self._warned = True
            logger.warning(
                "upstream %s asked a question while several callers used its process; it was refused, because it does"
                " not say whom it asks. Tools that ask need an upstream with a URL, or one client each (assent wrap)",
                self._name,
            )


def _client_of(mcp_request: McpRequest) -> Hashable:
    """One client: its session, or its principal in the modern era, which has no sessions."""
    if mcp_request.session is not None:
        return mcp_request.session.id
    principal = mcp_request.caller
    return principal.tenant, principal.id
