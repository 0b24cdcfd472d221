"""Sends requests to an upstream behind a URL, whichever eras the two ends speak."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar

from mcp_types.version import LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS

from assent.core.principal import Principal
from assent.edges.gateway import Incoming
from assent.edges.http import Headers
from assent.edges.inbound import Era
from assent.edges.links import McpLink, caller_of, parked, with_log_level
from assent.edges.parking import Parking, asks_of
from assent.edges.shelves import Shelf
from assent.edges.upstreams.http import CAN_BE_ASKED, Described, HttpUpstream
from assent.edges.upstreams.line import Audience, Peer, SessionLost
from assent.edges.upstreams.tenancy import Tenancy
from assent.ports import Unreached

T = TypeVar("T")


class End:
    """One address of an upstream, and what it said of itself when it was last asked."""

    def __init__(self, server: HttpUpstream) -> None:
        self.server = server
        self.described: Described | None = None
        self.tenancy = Tenancy(server)
        self.parking = Parking()
        self.shelf = Shelf()

    @property
    def modern(self) -> bool:
        return self.described is not None and self.described.version in MODERN_PROTOCOL_VERSIONS

    async def know(self) -> Described:
        if self.described is None:
            self.described = await self.server.describe()
        return self.described


class HttpLink(McpLink):
    """An upstream behind a URL, with its test endpoint where it has one."""

    def __init__(
        self, name: str, live: HttpUpstream, test: HttpUpstream | None = None, *, relayed: bool = False
    ) -> None:
        super().__init__(name)
        self._live, self._test = End(live), End(test) if test is not None else None
        self.relayed = relayed

    @property
    def described(self) -> Described | None:
        return self._live.described

    @property
    def live(self) -> HttpUpstream:
        return self._live.server

    @property
    def streams(self) -> bool:
        """Whether a caller in a session of the upstream's own expects its answers as streams."""
        return self.relayed and self._live.server.streams

    async def load(self) -> list[dict[str, Any]]:
        """Every tool definition as the upstream wrote it. Raises a Fault where it cannot be had."""
        described = self._live.described = await self._live.server.describe()
        if described.version in MODERN_PROTOCOL_VERSIONS:
            return await self._live.server.list_all("tools/list", "tools", Peer(described.version, capabilities={}))
        _, peer = await self._live.server.open_session(CAN_BE_ASKED)
        try:
            return await self._live.server.list_all("tools/list", "tools", peer)
        finally:
            await self._live.server.close_session(peer)

    async def _once(
        self, method: str, params: dict[str, Any], fields: Headers, incoming: Incoming, *, safe: bool
    ) -> dict[str, Any]:
        end = self._end(caller_of(incoming))
        if end.modern and (incoming.session is None or not self.relayed):
            peer, said = (
                Peer(LATEST_MODERN_VERSION, None, asks_of(incoming.inbound.capabilities)),
                with_log_level(params, incoming),
            )
            return await end.server.request(method, said, peer, fields=fields, audience=incoming.reply, safe=safe)

        async def request(audience: Audience) -> dict[str, Any]:
            async def say(peer: Peer) -> dict[str, Any]:
                modern = peer.version in MODERN_PROTOCOL_VERSIONS
                said = with_log_level(params, incoming) if modern else params
                return await end.server.request(method, said, peer, fields=fields, audience=audience, safe=safe)

            return await self._speak(incoming, say)

        if incoming.inbound.era is Era.MODERN and not end.modern and (await end.know()) and not end.modern:
            return await parked(end.parking, method, params, incoming, request)
        return await request(incoming.reply)

    async def _speak(self, incoming: Incoming, say: Callable[[Peer], Awaitable[T]]) -> T:
        """Say something to the upstream in the session it has for this caller, where it keeps sessions."""
        principal, session, inbound = caller_of(incoming), incoming.session, incoming.inbound
        end = self._end(principal)
        if self.relayed and session is not None:
            return await say(Peer(inbound.version, session.id, inbound.capabilities))
        if not end.modern:
            await end.know()
        if end.modern:
            return await say(Peer(LATEST_MODERN_VERSION, None, asks_of(inbound.capabilities)))
        # A client of the new era says anew with each request what it can be asked, one without a session never.
        capabilities = asks_of(inbound.capabilities) if inbound.era is Era.MODERN else {}
        owner: Hashable = (principal.tenant, principal.id, repr(sorted(capabilities.items())))
        if session is not None:
            owner, capabilities = session.id, asks_of(inbound.capabilities)
            session.at_end.setdefault(self.name, lambda: end.tenancy.end(owner))
        for last in (False, True):
            async with end.tenancy.speaking(owner, capabilities, (principal.tenant, principal.id)) as peer:
                try:
                    return await say(peer)
                except SessionLost:  # nothing was done, so once more in a new session
                    end.tenancy.forget(owner, peer)
                    if last:
                        raise Unreached(f"upstream {self.name!r} keeps forgetting our session") from None
        raise AssertionError

    async def close(self) -> None:
        """Give up the calls that wait for an answer of their callers."""
        for end in (self._live, self._test):
            if end is not None:
                await end.parking.close()

    # What is not a call

    def serves(self, principal: Principal) -> bool:
        """Whether there is an end of it for this caller at all."""
        return principal.mode != "test" or self._test is not None

    def shelf(self, principal: Principal) -> Shelf:
        """What it last said it has, to this kind of caller."""
        return self._end(principal).shelf

    async def list(self, method: str, key: str, incoming: Incoming) -> list[dict[str, Any]]:
        """Every entry of one of its lists."""
        server = self._end(caller_of(incoming)).server
        return await self._speak(incoming, lambda peer: server.list_all(method, key, peer))

    def _end(self, principal: Principal) -> End:
        """Test principals reach the test endpoint and nothing else; live ones never do."""
        if principal.mode != "test":
            return self._live
        if self._test is None:
            raise Unreached(f"upstream {self.name!r} has no test endpoint")
        return self._test
