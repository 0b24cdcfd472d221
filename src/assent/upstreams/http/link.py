"""Sends requests to an upstream behind a URL, whichever eras the two ends speak."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar

from mcp_types.version import LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS

from assent.core.principal import Principal
from assent.mcp.channel import StreamListener
from assent.mcp.requests import Era, McpRequest
from assent.ports import NotReached
from assent.upstreams.base import McpLink, caller_of, suspended_call, with_log_level
from assent.upstreams.http.server import CAN_BE_ASKED, Described, HttpUpstream
from assent.upstreams.http.sessions import UpstreamSessions
from assent.upstreams.http.transport import SessionContext, SessionLost
from assent.upstreams.resources import ListedResources
from assent.upstreams.suspended_calls import SuspendedCalls, asks_of
from assent.web.asgi import Headers

T = TypeVar("T")


class Endpoint:
    """One address of an upstream, and what it said of itself when it was last asked."""

    def __init__(self, server: HttpUpstream) -> None:
        self.server = server
        self.described: Described | None = None
        self.upstream_sessions = UpstreamSessions(server)
        self.suspended_calls = SuspendedCalls()
        self.listed_resources = ListedResources()

    @property
    def modern(self) -> bool:
        return self.described is not None and self.described.version in MODERN_PROTOCOL_VERSIONS

    async def ensure_described(self) -> Described:
        if self.described is None:
            self.described = await self.server.describe()
        return self.described


class HttpLink(McpLink):
    """An upstream behind a URL, with its test endpoint where it has one."""

    def __init__(
        self, name: str, live: HttpUpstream, test: HttpUpstream | None = None, *, relayed: bool = False
    ) -> None:
        super().__init__(name)
        self._live, self._test = Endpoint(live), Endpoint(test) if test is not None else None
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
            return await self._live.server.list_all(
                "tools/list", "tools", SessionContext(described.version, capabilities={})
            )
        _, peer = await self._live.server.open_session(CAN_BE_ASKED)
        try:
            return await self._live.server.list_all("tools/list", "tools", peer)
        finally:
            await self._live.server.close_session(peer)

    async def _once(
        self, method: str, params: dict[str, Any], fields: Headers, mcp_request: McpRequest, *, safe: bool
    ) -> dict[str, Any]:
        end = self._end(caller_of(mcp_request))
        if end.modern and (mcp_request.session is None or not self.relayed):
            peer, said = (
                SessionContext(LATEST_MODERN_VERSION, None, asks_of(mcp_request.parsed_request.capabilities)),
                with_log_level(params, mcp_request),
            )
            return await end.server.request(
                method, said, peer, fields=fields, stream_listener=mcp_request.reply, safe=safe
            )

        async def request(stream_listener: StreamListener) -> dict[str, Any]:
            async def say(peer: SessionContext) -> dict[str, Any]:
                modern = peer.version in MODERN_PROTOCOL_VERSIONS
                said = with_log_level(params, mcp_request) if modern else params
                return await end.server.request(
                    method, said, peer, fields=fields, stream_listener=stream_listener, safe=safe
                )

            return await self._speak(mcp_request, say)

        if (
            mcp_request.parsed_request.era is Era.MODERN
            and not end.modern
            and (await end.ensure_described())
            and not end.modern
        ):
            return await suspended_call(end.suspended_calls, method, params, mcp_request, request)
        return await request(mcp_request.reply)

    async def _speak(self, mcp_request: McpRequest, say: Callable[[SessionContext], Awaitable[T]]) -> T:
        """Say something to the upstream in the session it has for this caller, where it keeps sessions."""
        principal, session, parsed_request = caller_of(mcp_request), mcp_request.session, mcp_request.parsed_request
        end = self._end(principal)
        if self.relayed and session is not None:
            return await say(SessionContext(parsed_request.version, session.id, parsed_request.capabilities))
        if not end.modern:
            await end.ensure_described()
        if end.modern:
            return await say(SessionContext(LATEST_MODERN_VERSION, None, asks_of(parsed_request.capabilities)))
        # A client of the new era says anew with each request what it can be asked, one without a session never.
        capabilities = asks_of(parsed_request.capabilities) if parsed_request.era is Era.MODERN else {}
        owner: Hashable = (principal.tenant, principal.id, repr(sorted(capabilities.items())))
        if session is not None:
            owner, capabilities = session.id, asks_of(parsed_request.capabilities)
            session.at_end.setdefault(self.name, lambda: end.upstream_sessions.end(owner))
        for last in (False, True):
            async with end.upstream_sessions.speaking(owner, capabilities, (principal.tenant, principal.id)) as peer:
                try:
                    return await say(peer)
                except SessionLost:  # nothing was done, so once more in a new session
                    end.upstream_sessions.forget(owner, peer)
                    if last:
                        raise NotReached(f"upstream {self.name!r} keeps forgetting our session") from None
        raise AssertionError

    async def close(self) -> None:
        """Give up the calls that wait for an answer of their callers."""
        for end in (self._live, self._test):
            if end is not None:
                await end.suspended_calls.close()

    # What is not a call

    def serves(self, principal: Principal) -> bool:
        """Whether there is an end of it for this caller at all."""
        return principal.mode != "test" or self._test is not None

    def listed_resources(self, principal: Principal) -> ListedResources:
        """What it last said it has, to this kind of caller."""
        return self._end(principal).listed_resources

    async def list(self, method: str, key: str, mcp_request: McpRequest) -> list[dict[str, Any]]:
        """Every entry of one of its lists."""
        server = self._end(caller_of(mcp_request)).server
        return await self._speak(mcp_request, lambda peer: server.list_all(method, key, peer))

    def _end(self, principal: Principal) -> Endpoint:
        """Test principals reach the test endpoint and nothing else; live ones never do."""
        if principal.mode != "test":
            return self._live
        if self._test is None:
            raise NotReached(f"upstream {self.name!r} has no test endpoint")
        return self._test
