"""Our sessions at an upstream of the old era."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from assent.upstreams.errors import UpstreamError
from assent.upstreams.http.address import UpstreamAddress
from assent.upstreams.http.circuit_breaker import CircuitBreaker
from assent.upstreams.http.client import HttpUpstream
from assent.upstreams.http.pool import Limits, Pool
from assent.upstreams.http.sessions import UpstreamSessions
from support.servers.scripted_server import Conversation, ScriptedServer


class Lodge:
    """An upstream that gives every handshake a session, and remembers which were ended."""

    def __init__(self) -> None:
        self.opened = 0
        self.ended: list[str] = []
        self.refuses = False

    async def __call__(self, conversation: Conversation) -> None:
        while True:
            head, body = await conversation.read_request()
            if head.startswith(b"DELETE"):
                self.ended.append(head.lower().split(b"mcp-session-id: ")[1].split(b"\r\n")[0].decode())
                await conversation.answer(b"")
            elif b'"initialize"' in body and self.refuses:
                await conversation.answer(b"{}", status=b"500 Internal Server Error")
            elif b'"initialize"' in body:
                self.opened += 1
                result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}}
                said = json.dumps({"jsonrpc": "2.0", "id": json.loads(body)["id"], "result": result}).encode()
                await conversation.answer(said, fields=b"mcp-session-id: s%d\r\n" % self.opened)
            else:
                await conversation.answer(b"", status=b"202 Accepted")


@asynccontextmanager
async def upstream_sessions(most: int = 3) -> AsyncIterator[tuple[UpstreamSessions, Lodge]]:
    lodge = Lodge()
    async with ScriptedServer(lodge) as server:
        pool = Pool("lodge", UpstreamAddress.of(server.url), Limits(), CircuitBreaker("lodge", time.monotonic))
        try:
            yield UpstreamSessions(HttpUpstream(pool, {"name": "t", "version": "1"}), most), lodge
        finally:
            await pool.close()


async def session_of(rooms: UpstreamSessions, owner: str) -> str | None:
    async with rooms.in_use(owner, {}) as peer:
        return peer.session


async def test_a_hundred_at_once_share_the_one_session_of_their_owner() -> None:
    async with upstream_sessions() as (rooms, lodge):
        sessions = await asyncio.gather(*(session_of(rooms, "ann") for _ in range(100)))
        assert set(sessions) == {"s1"}
        assert await session_of(rooms, "bob") == "s2"
        assert lodge.opened == 2


async def test_the_longest_unused_ends_for_a_new_one_but_never_one_in_use() -> None:
    async with upstream_sessions(most=2) as (rooms, lodge):
        async with rooms.in_use("busy", {}):
            await session_of(rooms, "idle")
            await session_of(rooms, "new")
            assert lodge.ended == ["s2"]
            assert await session_of(rooms, "busy") == "s1"


async def test_one_that_was_lost_is_replaced_and_a_newer_one_stays() -> None:
    async with upstream_sessions() as (rooms, lodge):
        async with rooms.in_use("ann", {}) as first:
            rooms.forget("ann", first)
        assert await session_of(rooms, "ann") == "s2"
        rooms.forget("ann", first)
        assert await session_of(rooms, "ann") == "s2"
        await rooms.end("ann")
        await rooms.end("ann")
        assert lodge.ended == ["s2"]
        assert len(rooms) == 0


async def test_one_that_could_not_be_opened_is_tried_anew() -> None:
    async with upstream_sessions() as (rooms, lodge):
        lodge.refuses = True
        with pytest.raises(UpstreamError):
            await session_of(rooms, "ann")
        lodge.refuses = False
        assert await session_of(rooms, "ann") == "s1"
