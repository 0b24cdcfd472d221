"""Forwards the log messages of a process that several callers share.

The messages do not say which call they belong to. While only one principal has used the process, they go to that
principal. From the second principal on they could reveal one to the other, so they go to none.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from assent.mcp.protocol import LOG_LEVEL_META_KEY, LOG_LEVELS
from assent.mcp.requests import Era, McpRequest

logger = logging.getLogger(__name__)

_DEFAULT_LEVEL = "info"
MOST_SENDING = 256


class StdioLogs:
    """The running requests at one process, and the only principal that has used it so far."""

    def __init__(self) -> None:
        self._running: dict[int, McpRequest] = {}
        self._owner: Hashable = None
        self._is_shared = False
        self._sending: set[asyncio.Future[None]] = set()

    @contextmanager
    def during(self, mcp_request: McpRequest) -> Iterator[None]:
        """Register this request while it runs."""
        principal = mcp_request.caller
        owner = (principal.tenant, principal.id)
        self._owner = self._owner or owner
        self._is_shared = self._is_shared or owner != self._owner
        self._running[id(mcp_request)] = mcp_request
        try:
            yield
        finally:
            self._running.pop(id(mcp_request), None)

    def forward(self, message: dict[str, Any]) -> None:
        """Forward a log message to the clients that may and want to see it."""
        if self._is_shared:
            logger.debug("dropped a log message: several callers share the process")
            return
        params = message.get("params")
        level = params.get("level") if isinstance(params, dict) else None
        for mcp_request in self._running.values():
            if len(self._sending) < MOST_SENDING and wants(mcp_request, level):  # Slow readers do not get a flood.
                self._sending.add(task := asyncio.ensure_future(mcp_request.reply.notify(message)))
                task.add_done_callback(self._sending.discard)


def wants(mcp_request: McpRequest, level: Any) -> bool:
    """Whether a request's client wants messages of this level; a modern client says so with each request."""
    if mcp_request.era is Era.MODERN:
        meta = mcp_request.params.get("_meta")
        least = meta.get(LOG_LEVEL_META_KEY) if isinstance(meta, dict) else None
    else:
        least = (mcp_request.session.log_level or _DEFAULT_LEVEL) if mcp_request.session is not None else None
    return least in LOG_LEVELS and level in LOG_LEVELS and LOG_LEVELS.index(level) >= LOG_LEVELS.index(least)


def lower_log_level(one: str, other: str | None) -> str:
    if other not in LOG_LEVELS:
        return one
    return one if one in LOG_LEVELS and LOG_LEVELS.index(one) < LOG_LEVELS.index(other) else other
