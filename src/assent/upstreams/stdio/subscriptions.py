"""Subscribes to changes of lists and resources at a server that is a child process."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from assent.mcp.channel import ACKNOWLEDGED, SUBSCRIPTION_ID
from assent.mcp.jsonrpc import RpcError
from assent.mcp.server_identity import Described
from assent.upstreams.errors import ProtocolViolation, UpstreamError
from assent.upstreams.stdio.server import StdioUpstream
from assent.upstreams.subscriptions import Notice, Subscriptions, lists_of


class StdioSubscriptions(Subscriptions):
    """One shared subscription per process.

    A handshake-era server sends notifications by itself and is told each resource. A modern server needs requests
    that stay open: one for its lists and one for each resource. A restarted process is subscribed to again.
    """

    own_thing = "process"

    def __init__(self, server: StdioUpstream, notice: Notice, *, per_user: bool = False) -> None:
        super().__init__(notice, per_user=per_user)
        self._server = server
        self._streams: dict[str, asyncio.Task[None]] = {}
        self._acknowledged: dict[str, asyncio.Future[None]] = {}
        server.on_notice = self._on_message

    async def listen(self, described: Described) -> None:
        """Listen until the process ends; starts it if it does not run."""
        self.was_heard = False
        described = await self._server.ready()
        try:
            async with self._resource_interest.turn:
                if self._server.is_modern and (lists := lists_of(described)):
                    await self._open("", lists)
                for uri in self._resource_interest:
                    with suppress(RpcError):
                        await self._begin_watch(uri)
            self.was_heard = True
            await self._server.wait_until_ended()
        finally:
            self.close()

    def close(self) -> None:
        for stream in self._streams.values():
            stream.cancel()
        self._streams.clear()

    async def _first_watch(self, uri: str) -> None:
        await self._server.ready()
        await self._begin_watch(uri)

    async def _end_watch(self, uri: str) -> None:
        if (stream := self._streams.pop(uri, None)) is not None:
            stream.cancel()
        elif self._server.described is not None and not self._server.is_modern:
            with suppress(UpstreamError, RpcError):
                await self._server.exchange("resources/unsubscribe", {"uri": uri})

    async def _begin_watch(self, uri: str) -> None:
        if self._server.is_modern:
            await self._open(uri, {"resourceSubscriptions": [uri]})
        else:
            await self._server.exchange("resources/subscribe", {"uri": uri})

    async def _open(self, name: str, wanted: dict[str, Any]) -> None:
        """Open a subscription at a modern server and wait for its acknowledgement."""
        request_id = self._server.new_id()
        acknowledged = self._acknowledged[request_id] = asyncio.get_running_loop().create_future()
        stream = asyncio.ensure_future(self._hold_open(request_id, wanted, acknowledged))
        try:
            async with asyncio.timeout(self._server.patience):
                await acknowledged
        except BaseException as error:
            stream.cancel()
            await asyncio.gather(stream, return_exceptions=True)
            if isinstance(error, TimeoutError):
                raise self._not_accepted() from None
            raise
        finally:
            del self._acknowledged[request_id]
        self._streams[name] = stream

    async def _hold_open(self, request_id: str, wanted: dict[str, Any], acknowledged: asyncio.Future[None]) -> None:
        params = self._server.enveloped({"notifications": wanted}, {})
        try:
            await self._server.exchange("subscriptions/listen", params, request_id=request_id, endless=True)
        except (UpstreamError, RpcError) as error:
            if not acknowledged.done():
                acknowledged.set_exception(error)
        if not acknowledged.done():
            acknowledged.set_exception(self._not_accepted())

    def _not_accepted(self) -> ProtocolViolation:
        return ProtocolViolation(self._server.name, "did not accept the subscription", sent=True)

    def _on_message(self, message: dict[str, Any]) -> None:
        if message["method"] == ACKNOWLEDGED:
            params = message.get("params")
            meta = params.get("_meta") if isinstance(params, dict) else None
            named = meta.get(SUBSCRIPTION_ID) if isinstance(meta, dict) else None
            acknowledged = self._acknowledged.get(str(named))
            if acknowledged is not None and not acknowledged.done():
                acknowledged.set_result(None)
        else:
            self._pass_on(message)
