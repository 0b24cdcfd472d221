"""The sessions that we hold at one upstream, one for each owner."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager, suppress
from typing import Any

from assent.upstreams.errors import UpstreamError
from assent.upstreams.http.server import HttpUpstream
from assent.upstreams.http.transport import SessionContext

MOST_SESSIONS = 1024


class UpstreamSessions:
    """Our sessions at one upstream, one for each owner and never shared.

    When there are too many, the idlest of the caller who has the most ends for a new one.
    """

    def __init__(self, server: HttpUpstream, most: int = MOST_SESSIONS) -> None:
        self._server, self._most = server, most
        self._open: OrderedDict[Hashable, asyncio.Task[SessionContext]] = OrderedDict()
        self._busy: Counter[Hashable] = Counter()
        self._callers: dict[Hashable, Hashable] = {}

    def __len__(self) -> int:
        return len(self._open)

    @asynccontextmanager
    async def speaking(
        self, owner: Hashable, capabilities: dict[str, Any], caller: Hashable = None
    ) -> AsyncIterator[SessionContext]:
        """The owner's session, opened where there is none; nobody ends it meanwhile but the owner.

        A caller may be behind several owners, such as sessions with different capabilities.
        """
        self._busy[owner] += 1
        self._callers[owner] = owner if caller is None else caller
        try:
            yield await self._peer(owner, capabilities)
        finally:
            self._busy[owner] -= 1
            if not self._busy[owner]:
                del self._busy[owner]
                if owner not in self._open:
                    self._callers.pop(owner, None)

    def forget(self, owner: Hashable, peer: SessionContext) -> None:
        """The upstream no longer knows this session; a newer one of the same owner stays."""
        opened = self._open.get(owner)
        if opened is not None and opened.done() and not opened.exception() and opened.result() is peer:
            self._drop(owner)

    async def end(self, owner: Hashable) -> None:
        """The owner is gone, and so is the session."""
        opened = self._drop(owner)
        if opened is not None:
            with suppress(Exception):
                await self._server.close_session(await opened)

    def _drop(self, owner: Hashable) -> asyncio.Task[SessionContext] | None:
        if not self._busy[owner]:
            self._callers.pop(owner, None)
        return self._open.pop(owner, None)

    async def _peer(self, owner: Hashable, capabilities: dict[str, Any]) -> SessionContext:
        opened = self._open.get(owner)
        if opened is None or (opened.done() and opened.exception() is not None):
            opened = self._open[owner] = asyncio.ensure_future(self._begin(capabilities))
            opened.add_done_callback(_heard)
            await self._make_room()
        self._open.move_to_end(owner)
        # Others may wait for the same session: whoever leaves first must not take it along.
        return await asyncio.shield(opened)

    async def _begin(self, capabilities: dict[str, Any]) -> SessionContext:
        _, peer = await self._server.open_session(capabilities)
        return peer

    async def _make_room(self) -> None:
        while len(self._open) > self._most:
            idle = [owner for owner in self._open if not self._busy[owner]]
            if not idle:
                return
            held = Counter(self._callers[owner] for owner in self._open)
            with suppress(UpstreamError):
                await self.end(max(idle, key=lambda owner: held[self._callers[owner]]))


def _heard(task: asyncio.Task[SessionContext]) -> None:
    """Its failure is told to whoever waits; with nobody left it is nobody's."""
    if not task.cancelled():
        task.exception()
