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

from assent.edges.gateway import Incoming
from assent.edges.inbound import Era
from assent.edges.links import caller_of

logger = logging.getLogger(__name__)

LOGGED = "notifications/message"
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_UNLESS_SAID = "info"
MOST_TELLING = 256


class StdioLogs:
    """The requests under way at one process, and the principal whose it has been so far."""

    def __init__(self) -> None:
        self._under_way: dict[int, Incoming] = {}
        self._owner: Hashable = None
        self._is_shared = False
        self._telling: set[asyncio.Future[None]] = set()

    @contextmanager
    def speaking(self, incoming: Incoming) -> Iterator[None]:
        """While this request is under way."""
        principal = caller_of(incoming)
        owner = (principal.tenant, principal.id)
        self._owner = self._owner or owner
        self._is_shared = self._is_shared or owner != self._owner
        self._under_way[id(incoming)] = incoming
        try:
            yield
        finally:
            self._under_way.pop(id(incoming), None)

    def hear(self, message: dict[str, Any]) -> None:
        """Pass a log message to whoever may and wants to hear it."""
        if self._is_shared:
            logger.debug("a log message of a process that several callers share is passed to none of them")
            return
        params = message.get("params")
        level = params.get("level") if isinstance(params, dict) else None
        for incoming in self._under_way.values():
            if len(self._telling) < MOST_TELLING and wants(incoming, level):  # a flood is not kept for slow readers
                self._telling.add(task := asyncio.ensure_future(incoming.reply.notify(message)))
                task.add_done_callback(self._telling.discard)


def wants(incoming: Incoming, level: Any) -> bool:
    """Whether a request's client asked for messages of this level; in the new era it says so with each request."""
    if incoming.inbound.era is Era.MODERN:
        meta = incoming.inbound.params.get("_meta")
        least = meta.get(LOG_LEVEL_META_KEY) if isinstance(meta, dict) else None
    else:
        least = (incoming.session.log_level or _UNLESS_SAID) if incoming.session is not None else None
    return least in LEVELS and level in LEVELS and LEVELS.index(level) >= LEVELS.index(least)


def most_talkative(one: str, other: str | None) -> str:
    return one if other not in LEVELS or (one in LEVELS and LEVELS.index(one) < LEVELS.index(other)) else other
