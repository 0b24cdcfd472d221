"""The gateway's sessions at one upstream, one for each owner."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from assent.upstreams.credentials import SHARED, CredentialOwner
from assent.upstreams.errors import UpstreamError

if TYPE_CHECKING:
    from assent.upstreams.http.client import HttpUpstream

MOST_SESSIONS = 1024


class SessionContext(NamedTuple):
    """The revision, the session if there is one, the client's capabilities, and whose credential is sent."""

    version: str
    session: str | None = None
    capabilities: dict[str, Any] | None = None
    owner: CredentialOwner = SHARED


class UpstreamSessions:
    """The sessions at one upstream, one for each owner and never shared.

    If there are too many, the least recently used one of the caller with the most sessions ends.
    """

    def __init__(self, server: HttpUpstream, most: int = MOST_SESSIONS) -> None:
        self._server, self._most = server, most
        self._open: OrderedDict[Hashable, asyncio.Task[SessionContext]] = OrderedDict()
        self._busy: Counter[Hashable] = Counter()
        self._callers: dict[Hashable, Hashable] = {}

    def __len__(self) -> int:
        return len(self._open)

    @asynccontextmanager
    async def in_use(
        self,
        owner: Hashable,
        capabilities: dict[str, Any],
        caller: Hashable = None,
        credential: CredentialOwner = SHARED,
    ) -> AsyncIterator[SessionContext]:
        """The owner's session, opened if there is none; only the owner ends it meanwhile.

        A caller may have several owners, such as sessions with different capabilities.
        """
        self._busy[owner] += 1
        self._callers[owner] = owner if caller is None else caller
        try:
            yield await self._peer(owner, capabilities, credential)
        finally:
            self._busy[owner] -= 1
            if not self._busy[owner]:
                del self._busy[owner]
                if owner not in self._open:
                    self._callers.pop(owner, None)

    def forget(self, owner: Hashable, peer: SessionContext) -> None:
        """Drop a session that the upstream no longer knows; a newer one of the same owner stays."""
        opened = self._open.get(owner)
        if opened is not None and opened.done() and not opened.exception() and opened.result() is peer:
            self._drop(owner)

    async def end(self, owner: Hashable) -> None:
        """End the session of an owner that is gone."""
        opened = self._drop(owner)
        if opened is not None:
            with suppress(Exception):
                await self._server.close_session(await opened)

    def _drop(self, owner: Hashable) -> asyncio.Task[SessionContext] | None:
        if not self._busy[owner]:
            self._callers.pop(owner, None)
        return self._open.pop(owner, None)

    async def _peer(self, owner: Hashable, capabilities: dict[str, Any], credential: CredentialOwner) -> SessionContext:
        opened = self._open.get(owner)
        if opened is None or (opened.done() and opened.exception() is not None):
            opened = self._open[owner] = asyncio.ensure_future(self._begin(capabilities, credential))
            # Waiters get the exception, and without waiters asyncio would log it.
            opened.add_done_callback(lambda task: task.cancelled() or task.exception())
            await self._make_room()
        self._open.move_to_end(owner)
        # Others may wait for the same session, so cancelling one waiter must not cancel it.
        return await asyncio.shield(opened)

    async def _begin(self, capabilities: dict[str, Any], credential: CredentialOwner) -> SessionContext:
        _, peer = await self._server.open_session(capabilities, credential)
        return peer

    async def _make_room(self) -> None:
        while len(self._open) > self._most:
            idle = [owner for owner in self._open if not self._busy[owner]]
            if not idle:
                return
            held = Counter(self._callers[owner] for owner in self._open)
            with suppress(UpstreamError):
                await self.end(max(idle, key=lambda owner: held[self._callers[owner]]))
