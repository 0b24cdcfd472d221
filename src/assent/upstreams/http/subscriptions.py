"""Subscribes to changes of lists and resources at an upstream behind a URL."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from contextlib import suppress
from typing import Any

from assent.mcp.channel import ACKNOWLEDGED
from assent.mcp.jsonrpc import RpcError
from assent.mcp.protocol import INVALID_PARAMS, LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS
from assent.mcp.server_identity import Described
from assent.upstreams.errors import ProtocolViolation, SessionLost, Unreachable, UpstreamError
from assent.upstreams.http.client import HttpUpstream
from assent.upstreams.http.sessions import SessionContext
from assent.upstreams.http.streams import stream_messages
from assent.upstreams.subscriptions import LISTS, Notice, ResourceInterest, strip_subscription_meta


class HttpSubscriptions:
    """One shared subscription per upstream for list changes and watched resources.

    `listen` is run again whenever it ends; resources that were requested meanwhile are subscribed again.
    """

    def __init__(self, server: HttpUpstream, notice: Notice, *, per_user: bool = False) -> None:
        self._server, self._notice, self._per_user = server, notice, per_user
        self._resource_interest = ResourceInterest()
        self._watches: dict[str, asyncio.Task[None]] = {}
        self._peer: SessionContext | None = None
        self._described: Described | None = None
        self._open = asyncio.Event()
        self.was_heard = False
        """Whether the last stream started at all."""

    async def listen(self, described: Described) -> None:
        """Listen until the stream ends. Raises UpstreamError if it breaks; returns if there is nothing to listen to."""
        self._described = described
        try:
            if described.version in MODERN_PROTOCOL_VERSIONS:
                await self._listen_modern()
            else:
                await self._listen_in_session()
        finally:
            self.was_heard = self._open.is_set()
            self._open.clear()
            self._peer = None

    async def watch(self, uri: str, caller: Hashable = None) -> None:
        """Watch one more resource. Raises the upstream's refusal, or UpstreamError if it cannot be reached.

        The subscription uses the shared connection, so where each person has their own, nobody watches with it.
        """
        if self._per_user:
            raise RpcError(INVALID_PARAMS, "Its resources cannot be watched: each person has their own account")
        await self._resource_interest.add(uri, self._begin_watch, caller)

    async def leave(self, uri: str, caller: Hashable = None) -> None:
        """Remove one watcher; after the last one, unsubscribe at the upstream."""
        await self._resource_interest.remove(uri, self._end_watch, caller)

    def close(self) -> None:
        for task in self._watches.values():
            task.cancel()
        self._watches.clear()

    async def _begin_watch(self, uri: str) -> None:
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
            await acknowledged
        except BaseException:
            self._watches.pop(uri).cancel()
            await asyncio.gather(task, return_exceptions=True)
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

    async def _listen_modern(self) -> None:
        assert self._described is not None
        has = self._described.capabilities
        wanted = {flag: True for kind, flag in LISTS.items() if isinstance(has.get(kind), dict)}
        acknowledged: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        acknowledged.add_done_callback(lambda _: self._open.set())
        await self._stream_modern(wanted, acknowledged)

    async def _stream_modern(self, wanted: dict[str, Any], acknowledged: asyncio.Future[None]) -> None:
        peer = SessionContext(LATEST_MODERN_VERSION, capabilities={})
        response = await self._server.open_stream("subscriptions/listen", {"notifications": wanted}, peer)
        async for message in stream_messages(self._server.pool.name, response):
            if message.get("method") == ACKNOWLEDGED:
                if not acknowledged.done():
                    acknowledged.set_result(None)
            elif "method" in message:
                self._on_message(message)
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
                self._on_message(message)
        finally:
            self._peer = None
            await asyncio.shield(self._server.close_session(peer))

    def _on_message(self, message: dict[str, Any]) -> None:
        if (notification := strip_subscription_meta(message)) is not None:
            self._notice(notification)
