"""Sends requests to an upstream behind a URL, in either era of both ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from typing import Any, TypeVar

from assent.core.principal import Principal
from assent.mcp.channel import ACKNOWLEDGED, StreamListener, asks_of
from assent.mcp.jsonrpc import RpcError
from assent.mcp.protocol import LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS
from assent.mcp.requests import Era, McpRequest
from assent.mcp.server_identity import Described
from assent.ports import NotReached
from assent.upstreams.credentials import SHARED, CredentialOwner, owner_of
from assent.upstreams.errors import NotConnected, ProtocolViolation, SessionLost, Unreachable, UpstreamError, setting_of
from assent.upstreams.http.client import HttpUpstream
from assent.upstreams.http.sessions import SessionContext
from assent.upstreams.http.streams import stream_messages
from assent.upstreams.link import McpLink, Result, suspended_call, with_log_level
from assent.upstreams.resources import ListedResources
from assent.upstreams.subscriptions import Notice, Subscriptions, lists_of
from assent.web.asgi import Headers

T = TypeVar("T")
ACKNOWLEDGES_WITHIN = 30.0
"""Seconds that an upstream may take to accept a subscription."""


class HttpLink(McpLink):
    """An upstream behind a URL, with its test endpoint if it has one."""

    def __init__(
        self,
        name: str,
        live: HttpUpstream,
        test: HttpUpstream | None = None,
        *,
        per_user: bool = False,
    ) -> None:
        super().__init__(name)
        self.per_user, self.live, self._test = per_user, live, test

    @property
    def described(self) -> Described | None:
        return self.live.described

    @property
    def streams(self) -> bool:  # type: ignore[override]
        return self.live.streams

    def subscriptions(self, notice: Notice) -> Subscriptions:
        return HttpSubscriptions(self.live, notice, per_user=self.per_user)

    async def load(self) -> list[dict[str, Any]]:
        self.live.described = await self._describe()
        return await self.conditional_tools.load()

    async def _list_as(self, capabilities: dict[str, Any]) -> list[dict[str, Any]]:
        return await self.live.list_tools(await self.live.ensure_described(), capabilities)

    async def _describe(self) -> Described:
        """Raise an error that names the setting, if the server speaks the older transport."""
        try:
            return await self.live.describe()
        except ProtocolViolation as refused:
            from assent.upstreams.http.sse_server import find_older_transport

            if await find_older_transport(self.live, refused) is None:
                raise
            advice = f"It speaks the older HTTP+SSE transport: write `transport: sse` at `{setting_of(self.name)}`"
            raise ProtocolViolation(self.name, refused.detail, sent=True, advice=advice) from None

    def _request(
        self, method: str, params: dict[str, Any], fields: Headers, mcp_request: McpRequest, *, safe: bool
    ) -> Result:
        server = self._server_for(mcp_request.caller)
        if not server.is_modern or mcp_request.session is not None:  # It may ask, and resume, in a session only.
            return self._request_in_session(server, method, params, fields, mcp_request, safe)
        capabilities = asks_of(mcp_request.capabilities) if mcp_request.capabilities else {}
        peer = SessionContext(LATEST_MODERN_VERSION, None, capabilities, self._owner(mcp_request.caller))
        sent = with_log_level(params, mcp_request)
        return server.request(method, sent, peer, fields=fields, stream_listener=mcp_request.reply, safe=safe)

    async def _request_in_session(
        self,
        server: HttpUpstream,
        method: str,
        params: dict[str, Any],
        fields: Headers,
        mcp_request: McpRequest,
        safe: bool,
    ) -> dict[str, Any]:
        """Send one request to an upstream that may keep sessions."""

        async def request(stream_listener: StreamListener) -> dict[str, Any]:
            async def run(peer: SessionContext) -> dict[str, Any]:
                modern = peer.version in MODERN_PROTOCOL_VERSIONS
                request_params = with_log_level(params, mcp_request) if modern else params
                return await server.request(
                    method, request_params, peer, fields=fields, stream_listener=stream_listener, safe=safe
                )

            return await self._in_session(mcp_request, run)

        if mcp_request.era is Era.MODERN and not (await server.ensure_described()).is_modern:
            return await suspended_call(server.suspended_calls, method, params, mcp_request, request)
        return await request(mcp_request.reply)

    async def _in_session(self, mcp_request: McpRequest, run: Callable[[SessionContext], Awaitable[T]]) -> T:
        """Run a request in the upstream's session for this caller, if the upstream keeps sessions."""
        principal, session = mcp_request.caller, mcp_request.session
        server = self._server_for(principal)
        described = await server.ensure_described()
        if described.is_modern and (session is None or not await server.takes_handshake(self._owner(principal))):
            capabilities = asks_of(mcp_request.capabilities)
            return await run(SessionContext(LATEST_MODERN_VERSION, None, capabilities, self._owner(principal)))
        # A modern client states its capabilities with each request, and one without a session has none.
        capabilities = asks_of(mcp_request.capabilities) if mcp_request.era is Era.MODERN else {}
        caller, credential = (principal.tenant, principal.id), self._owner(principal)
        # Callers of one name may have accounts of their own, so a session belongs to an account too.
        owner: Hashable = (credential, caller, repr(sorted(capabilities.items())))
        if session is not None:
            owner, capabilities = (credential, session.id), asks_of(mcp_request.capabilities)
            session.at_end[f"{self.name} {credential}"] = lambda: server.sessions.end(owner)
        try:
            for last in (False, True):
                async with server.sessions.in_use(owner, capabilities, caller, credential) as peer:
                    try:
                        return await run(peer)
                    except SessionLost:  # Nothing was done, so try once more in a new session.
                        server.sessions.forget(owner, peer)
                        if last:
                            raise NotReached(f"upstream {self.name!r} drops every session at once") from None
        finally:
            if session is not None and session.is_over:  # It ended meanwhile, perhaps before this one was opened.
                session.when_over(self.name, lambda: server.sessions.end(owner))
        raise AssertionError

    async def close(self) -> None:
        """Give up the calls that wait for an answer of their callers."""
        for server in (self.live, self._test):
            if server is not None:
                await server.suspended_calls.close()

    # Requests other than calls.

    def serves(self, principal: Principal) -> bool:
        return principal.mode != "test" or self._test is not None

    def listed_resources(self, principal: Principal) -> ListedResources:
        owner = self._owner(principal)
        return self._server_for(principal).listed_resources.of((owner.tenant, owner.id))

    async def list(self, method: str, key: str, mcp_request: McpRequest) -> list[dict[str, Any]]:
        server = self._server_for(mcp_request.caller)
        return await self._in_session(mcp_request, lambda peer: server.list_all(method, key, peer))

    async def missing_connection(self, principal: Principal) -> str | None:
        """What a person must allow before this caller can be served: a scope, or "" for any; None if nothing."""
        if not self.serves(principal):
            return None
        try:
            await self._server_for(principal).check_credential(self._owner(principal))
        except NotConnected as missing:
            return missing.scope
        except UpstreamError:
            return None  # The call itself will say what is wrong.
        return None

    def _owner(self, principal: Principal) -> CredentialOwner:
        """Whose credential a call of this caller uses."""
        return owner_of(principal) if self.per_user else SHARED

    def _server_for(self, principal: Principal) -> HttpUpstream:
        """Test principals reach only the test endpoint; live ones never do."""
        if principal.mode != "test":
            return self.live
        if self._test is None:
            raise NotReached(f"upstream {self.name!r} has no test endpoint")
        return self._test


class HttpSubscriptions(Subscriptions):
    """One shared subscription per upstream for list changes and watched resources.

    When `listen` is run again, resources that were requested meanwhile are subscribed again. The subscription uses the
    shared connection, so where each person has their own, nobody watches with it.
    """

    own_thing = "account"

    def __init__(self, server: HttpUpstream, notice: Notice, *, per_user: bool = False) -> None:
        super().__init__(notice, per_user=per_user)
        self._server = server
        self._watches: dict[str, asyncio.Task[None]] = {}
        self._peer: SessionContext | None = None
        self._open = asyncio.Event()
        server.on_notice = self._pass_on

    async def listen(self, described: Described) -> None:
        """Listen until the stream ends. Raises UpstreamError if it breaks; returns if there is nothing to listen to."""
        try:
            if described.version in MODERN_PROTOCOL_VERSIONS:
                await self._listen_modern(described)
            else:
                await self._listen_in_session()
        finally:
            self.was_heard = self._open.is_set()
            self._open.clear()
            self._peer = None

    def close(self) -> None:
        for task in self._watches.values():
            task.cancel()
        self._watches.clear()

    async def _first_watch(self, uri: str) -> None:
        try:
            async with asyncio.timeout(5):
                await self._open.wait()
        except TimeoutError:
            raise Unreachable(self._server.pool.name, "cannot be subscribed to now", sent=False) from None
        if self._peer is not None:
            await self._server.request("resources/subscribe", {"uri": uri}, self._peer, safe=True)
            return
        acknowledged: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._watches[uri] = task = asyncio.ensure_future(self._watch_modern(uri, acknowledged))
        try:
            async with asyncio.timeout(ACKNOWLEDGES_WITHIN):
                await acknowledged
        except BaseException as error:
            self._watches.pop(uri).cancel()
            await asyncio.gather(task, return_exceptions=True)
            if isinstance(error, TimeoutError):
                raise Unreachable(self._server.pool.name, "did not accept the subscription", sent=True) from None
            raise

    async def _end_watch(self, uri: str) -> None:
        if (task := self._watches.pop(uri, None)) is not None:
            task.cancel()
        elif self._peer is not None:
            with suppress(UpstreamError, RpcError, SessionLost):
                await self._server.request("resources/unsubscribe", {"uri": uri}, self._peer)

    async def _watch_modern(self, uri: str, acknowledged: asyncio.Future[None]) -> None:
        """One stream per resource, so that a new one never disturbs the open ones."""
        while True:
            try:
                await self._stream_modern({"resourceSubscriptions": [uri]}, acknowledged)
            except (UpstreamError, RpcError) as error:
                if not acknowledged.done():
                    acknowledged.set_exception(error)
                    return
            if not acknowledged.done():
                acknowledged.set_exception(
                    ProtocolViolation(self._server.pool.name, "did not accept the subscription", sent=True)
                )
                return
            await asyncio.sleep(1)
            await self._open.wait()

    async def _listen_modern(self, described: Described) -> None:
        acknowledged: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        acknowledged.add_done_callback(lambda _: self._open.set())
        await self._stream_modern(lists_of(described), acknowledged)

    async def _stream_modern(self, wanted: dict[str, Any], acknowledged: asyncio.Future[None]) -> None:
        peer = SessionContext(LATEST_MODERN_VERSION, capabilities={})
        response = await self._server.open_stream("subscriptions/listen", {"notifications": wanted}, peer)
        async for message in stream_messages(self._server.pool.name, response):
            if message.get("method") == ACKNOWLEDGED:
                if not acknowledged.done():
                    acknowledged.set_result(None)
            elif "method" in message:
                self._pass_on(message)
            else:
                return

    async def _listen_in_session(self) -> None:
        _, peer = await self._server.open_session({})
        try:
            messages = await self._server.session_messages(peer)
            self._peer = peer
            for uri in self._resource_interest:
                with suppress(RpcError):
                    await self._server.request("resources/subscribe", {"uri": uri}, peer, safe=True)
            self._open.set()
            async for message in messages:
                self._pass_on(message)
        finally:
            self._peer = None
            await asyncio.shield(self._server.close_session(peer))
