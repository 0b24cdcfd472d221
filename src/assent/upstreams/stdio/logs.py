"""Who hears what a process logs that everybody shares?

Its messages do not say whose call they are about. While only one principal has ever used the process they are that
principal's; from the second on they may tell one of the other, so nobody is told.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from mcp_types import LOG_LEVEL_META_KEY

from assent.mcp.requests import Era, McpRequest
from assent.upstreams.base import caller_of

logger = logging.getLogger(__name__)

LOGGED = "notifications/message"
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_UNLESS_SAID = "info"
MOST_TELLING = 256


class StdioLogs:
    """The requests under way at one process, and the principal whose it has been so far."""

    def __init__(self) -> None:
        self._under_way: dict[int, McpRequest] = {}
        self._owner: Hashable = None
        self._is_shared = False
        self._telling: set[asyncio.Future[None]] = set()

    @contextmanager
    def speaking(self, mcp_request: McpRequest) -> Iterator[None]:
        """While this request is under way."""
        principal = caller_of(mcp_request)
        owner = (principal.tenant, principal.id)
        self._owner = self._owner or owner
        self._is_shared = self._is_shared or owner != self._owner
        self._under_way[id(mcp_request)] = mcp_request
        try:
            yield
        finally:
            self._under_way.pop(id(mcp_request), None)

    def hear(self, message: dict[str, Any]) -> None:
        """Pass a log message to whoever may and wants to hear it."""
        if self._is_shared:
            logger.debug("a log message of a process that several callers share is passed to none of them")
            return
        params = message.get("params")
        level = params.get("level") if isinstance(params, dict) else None
        for mcp_request in self._under_way.values():
            if len(self._telling) < MOST_TELLING and wants(mcp_request, level):  # a flood is not kept for slow readers
                self._telling.add(task := asyncio.ensure_future(mcp_request.reply.notify(message)))
                task.add_done_callback(self._telling.discard)


def wants(mcp_request: McpRequest, level: Any) -> bool:
    """Whether a request's client asked for messages of this level; in the new era it says so with each request."""
    if mcp_request.parsed_request.era is Era.MODERN:
        meta = mcp_request.parsed_request.params.get("_meta")
        least = meta.get(LOG_LEVEL_META_KEY) if isinstance(meta, dict) else None
    else:
        least = (mcp_request.session.log_level or _UNLESS_SAID) if mcp_request.session is not None else None
    return least in LEVELS and level in LEVELS and LEVELS.index(level) >= LEVELS.index(least)


def lower_log_level(one: str, other: str | None) -> str:
    return one if other not in LEVELS or (one in LEVELS and LEVELS.index(one) < LEVELS.index(other)) else other
