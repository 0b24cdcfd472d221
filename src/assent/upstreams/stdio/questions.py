"""Finds the caller that a shared stdio server asks.

A question over standard streams does not say to which call it belongs. It goes to the caller whose requests alone are
under way at that moment. While requests of several callers are under way it is refused, so that no caller is asked
about the call of another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from assent.mcp.channel import StreamListener
from assent.mcp.requests import McpRequest
from assent.upstreams.base import caller_of


class StdioQuestions:
    """The requests under way at one process, by caller."""

    def __init__(self) -> None:
        self._under_way: dict[int, tuple[Hashable, StreamListener]] = {}
        self._asking: dict[asyncio.Future[dict[str, Any] | None], int] = {}

    @property
    def is_open(self) -> bool:
        """Whether a question waits for an answer."""
        return bool(self._asking)

    @contextmanager
    def during(self, mcp_request: McpRequest, stream_listener: StreamListener) -> Iterator[None]:
        """While this request is under way its caller can be asked; its questions end with it."""
        number = id(stream_listener)
        self._under_way[number] = _asked_by(mcp_request), stream_listener
        try:
            yield
        finally:
            self._under_way.pop(number, None)
            for asking in [one for one, asked in self._asking.items() if asked == number]:
                asking.cancel()

    async def answer(self, question: dict[str, Any]) -> dict[str, Any] | None:
        """The caller's answer; None where no caller can be asked, or nobody knows which."""
        if len({caller for caller, _ in self._under_way.values()}) != 1:
            return None
        number, (_, stream_listener) = list(self._under_way.items())[-1]
        asking = asyncio.ensure_future(stream_listener.answer(question))
        self._asking[asking] = number
        try:
            await asyncio.wait([asking])
            return None if asking.cancelled() else asking.result()
        finally:
            del self._asking[asking]
            asking.cancel()


def _asked_by(mcp_request: McpRequest) -> Hashable:
    """One client: its session, or in the modern era, which has none, its principal."""
    if mcp_request.session is not None:
        return mcp_request.session.id
    principal = caller_of(mcp_request)
    return principal.tenant, principal.id
