"""Refreshes the tools of each upstream and passes on its notifications."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

from assent.gateway.sessions.notifications import TOOLS_CHANGED
from assent.mcp.jsonrpc import RpcError
from assent.upstreams.errors import SessionLost, UpstreamError, safe_error_text
from assent.upstreams.link import UpstreamLink
from assent.upstreams.subscriptions import Subscriptions

logger = logging.getLogger(__name__)

REFRESH = 30.0
RETRY = 2.0
PAUSE = 1.0
"""The shortest time between two refreshes of one upstream, however often it announces changes."""
SHARE = 10
"""After a refresh, the pause is at least this many times the CPU time it took."""
LISTEN_AGAIN = 1.0
LISTEN_AT_LAST = 60.0


class UpstreamMonitor:
    """Reloads an upstream's tools at intervals and when it announces a change; passes on other notifications."""

    def __init__(
        self,
        refresh: Callable[[str, bool], Awaitable[float]],
        is_troubled: Callable[[str], bool],
        notice: Callable[[dict[str, Any], str], None],
        rest: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`refresh` loads the tools of an upstream, and is told whether the upstream announced a change."""
        self._refresh, self._is_troubled, self._notice = refresh, is_troubled, notice
        self._rest = rest
        self._stale: dict[str, asyncio.Event] = {}
        self._announced: set[str] = set()
        self._tasks: dict[str, list[asyncio.Task[Any]]] = {}
        self.subscriptions: dict[str, Subscriptions] = {}

    def begin(self, name: str, link: UpstreamLink) -> None:
        """Starts to monitor one upstream; an MCP upstream is also subscribed to."""
        self._stale[name] = asyncio.Event()
        self._tasks[name] = [asyncio.create_task(self._keep_fresh(name))]
        if (found := link.subscriptions(partial(self._on_notification, name))) is not None:
            self.subscriptions[name] = found
            self._tasks[name].append(asyncio.create_task(self._keep_listening(link, found)))

    async def leave(self, name: str) -> None:
        tasks = self._tasks.pop(name, [])
        if (upstream_subscriptions := self.subscriptions.pop(name, None)) is not None:
            upstream_subscriptions.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def refresh_now(self, name: str) -> None:
        """Reloads an upstream's tools now, because its settings may have changed."""
        if name in self._tasks:
            self._stale[name].set()

    async def end(self) -> None:
        for name in list(self._tasks):
            await self.leave(name)

    def _on_notification(self, name: str, message: dict[str, Any]) -> None:
        """Reloads the tools on a change, which is announced after the reload; passes on other notifications."""
        if message["method"] == TOOLS_CHANGED["method"]:
            self._announced.add(name)
            self._stale[name].set()
        else:
            self._notice(message, name)

    async def _keep_fresh(self, name: str) -> None:
        stale = self._stale[name]
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(RETRY if self._is_troubled(name) else REFRESH):
                    await stale.wait()
            stale.clear()
            announced = name in self._announced
            self._announced.discard(name)
            busy = await self._refresh(name, announced)
            await self._rest(pause(busy))

    async def _keep_listening(self, link: UpstreamLink, upstream_subscriptions: Subscriptions) -> None:
        """Subscribes again whenever a stream ends; waits longer and longer if the upstream does not support it."""
        pause = LISTEN_AGAIN
        while True:
            if link.described is not None:
                try:
                    await upstream_subscriptions.listen(link.described)
                except (UpstreamError, RpcError, SessionLost) as error:
                    logger.debug("the subscription to upstream %s failed: %s", link.name, safe_error_text(error))
                pause = LISTEN_AGAIN if upstream_subscriptions.was_heard else min(pause * 2, LISTEN_AT_LAST)
            await asyncio.sleep(pause)


def pause(busy: float) -> float:
    """The pause after a refresh that took this much CPU time."""
    return min(max(PAUSE, SHARE * busy), REFRESH)
