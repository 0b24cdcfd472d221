"""Delivers change notifications to sessions and streams."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from assent.gateway.sessions.table import SessionTable
from assent.mcp.channel import UPDATED
from assent.upstreams.subscriptions import LISTS

MOST_WAITING = 256
CHANGES = {f"notifications/{kind}/list_changed": flag for kind, flag in LISTS.items()}
TOOLS_CHANGED, *LISTS_CHANGED = [dict[str, Any](jsonrpc="2.0", method=method) for method in CHANGES]


class NotificationListener:
    """One open modern-era stream and the notifications it requested; a full queue drops its oldest."""

    def __init__(self, wanted: Mapping[str, Any]) -> None:
        self._wanted = wanted
        self._queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue(MOST_WAITING)

    def offer(self, message: dict[str, Any], upstream: str) -> None:
        if self._wants(message, upstream):
            self._put(message)

    def end(self) -> None:
        self._put(None)

    async def next(self) -> dict[str, Any] | None:
        """The next notification; None when the gateway stops."""
        return await self._queue.get()

    def _put(self, message: dict[str, Any] | None) -> None:
        if self._queue.full():
            self._queue.get_nowait()
        self._queue.put_nowait(message)

    def _wants(self, message: dict[str, Any], upstream: str) -> bool:
        if message["method"] == UPDATED:
            return is_about(message, upstream, self._wanted.get("resourceSubscriptions") or {})
        return self._wanted.get(CHANGES[message["method"]]) is True


class Notifications:
    """Sends changes to every handshake-era session and every modern-era stream."""

    def __init__(self, sessions: SessionTable) -> None:
        self._sessions = sessions
        self._listeners: set[NotificationListener] = set()
        self._ended = False

    def publish(self, message: dict[str, Any], upstream: str = "") -> None:
        """Sends a changed list to all, and an updated resource to who watches it at the upstream that says so."""
        if message.get("method") not in CHANGES and message.get("method") != UPDATED:
            return
        for listener in self._listeners:
            listener.offer(message, upstream)
        for session in self._sessions:
            if message["method"] != UPDATED or is_about(message, upstream, session.subscriptions):
                session.tell(message)

    @contextmanager
    def listening(self, wanted: Mapping[str, Any]) -> Iterator[NotificationListener]:
        """While the block runs, a listener; `resourceSubscriptions` holds the upstream of each resource."""
        listener = NotificationListener(wanted)
        self._listeners.add(listener)
        if self._ended:
            listener.end()
        try:
            yield listener
        finally:
            self._listeners.discard(listener)

    def end(self) -> None:
        """Ends every stream and session, because the gateway stops."""
        self._ended = True
        for listener in self._listeners:
            listener.end()
        for session in self._sessions:
            self._sessions.close(session)


def is_about(message: dict[str, Any], upstream: str, watched: Mapping[str, str]) -> bool:
    """Whether an update of this upstream concerns one of its watched resources or something below one."""
    uri = (message.get("params") or {}).get("uri")
    if not isinstance(uri, str):
        return False
    return any(
        owner == upstream and (uri == one or uri.startswith(one.rstrip("/") + "/")) for one, owner in watched.items()
    )
