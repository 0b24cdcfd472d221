"""One caller or one stream that takes what all share: streams, sessions, turns of the event loop."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from assent.gateway.fair_share import NoPlace, Places
from assent.gateway.sessions.table import SessionTable, TooManySessions
from assent.upstreams.http.address import UpstreamAddress
from assent.upstreams.http.circuit_breaker import CircuitBreaker
from assent.upstreams.http.client import HttpUpstream
from assent.upstreams.http.pool import Limits, Pool
from assent.upstreams.http.sessions import SessionContext, UpstreamSessions
from assent.upstreams.stdio.process import LaunchSpec, ServerProcess
from assent.upstreams.stdio.stderr import StderrLog
from assent.upstreams.subscriptions import MOST_OF_ONE, ResourceInterest, TooManyResources
from support.gateway.gateways import ANN_KEY, CI, HEADERS, gateway, rpc
from support.servers import careless_server
from support.servers.scripted_server import Conversation, Script, ScriptedServer

STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
}
KEYS = [{"name": name, "key": key, "kind": "agent", "scopes": ["*"]} for name, key in (("ci", CI), ("ann", ANN_KEY))]
LISTEN = rpc("subscriptions/listen", notifications={"toolsListChanged": True}, _meta=META)


async def listened_to(conversation: Conversation) -> None:
    """A modern server whose streams stay open."""
    careless = careless_server.Careless(modern=True)
    while True:
        _, body = await conversation.read_request()
        message = json.loads(body)
        if message["method"] == "subscriptions/listen":
            await conversation.write(STREAM + b": open\n\n")
            return await conversation.ended_by_peer()
        await conversation.answer(json.dumps(careless.hear(message)).encode())


class Listeners:
    """Streams of callers at a gateway, each open until the block ends or the gateway ends it."""

    def __init__(self, url: str, client: httpx2.AsyncClient, stack: AsyncExitStack) -> None:
        self._url, self._client, self._stack = url, client, stack

    async def open(self, key: str) -> httpx2.Response:
        headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen", **HEADERS}
        headers["authorization"] = f"Bearer {key}"
        stream = self._client.stream("POST", self._url, json=LISTEN, headers=headers)
        return await self._stack.enter_async_context(stream)


@asynccontextmanager
async def listeners(folder: Path) -> AsyncIterator[Listeners]:
    limits = httpx2.Limits(max_connections=None)
    async with (
        ScriptedServer(listened_to) as upstream,
        gateway(folder, {"odd": {"url": upstream.url}}, auth={"api_keys": KEYS}) as (url, _),
        httpx2.AsyncClient(trust_env=False, timeout=60, limits=limits) as client,
        AsyncExitStack() as stack,
    ):
        yield Listeners(url, client, stack)


async def test_one_caller_has_a_bounded_number_of_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assent.gateway.runtime.MOST_STREAMS_OF_ONE", 3)
    async with listeners(tmp_path) as callers:
        statuses = [(await callers.open(CI)).status_code for _ in range(5)]
        assert statuses == [200, 200, 200, 429, 429]
        assert (await callers.open(ANN_KEY)).status_code == 200


async def test_who_holds_the_most_streams_gives_one_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assent.gateway.passthrough.non_tool.MOST_STREAMS", 4)
    async with listeners(tmp_path) as callers:
        first, *others = [await callers.open(CI) for _ in range(4)]
        assert {one.status_code for one in (first, *others)} == {200}
        assert (await callers.open(ANN_KEY)).status_code == 200
        async with asyncio.timeout(30):
            await first.aread()  # the gateway ended the oldest
        assert (await callers.open(CI)).status_code == 429
        assert (await callers.open(ANN_KEY)).status_code == 200


async def test_places_go_from_the_largest_holder_to_others_and_never_back() -> None:
    places = Places(per_owner=3)
    with places.hold_place("eve", 4) as oldest, places.hold_place("eve", 4) as second, places.hold_place("eve", 4):
        with pytest.raises(NoPlace), places.hold_place("eve", 4):
            pass
        with places.hold_place("ann", 4), places.hold_place("bob", 4) as bobs:
            assert oldest.given_up.is_set() and not second.given_up.is_set()
            with pytest.raises(NoPlace), places.hold_place("eve", 4):
                pass
            with places.hold_place("cyd", 4):
                assert second.given_up.is_set() and not bobs.given_up.is_set()
                with pytest.raises(NoPlace), places.hold_place("dan", 4):
                    pass
    assert len(places) == 0


async def test_ten_callers_cannot_keep_an_eleventh_out_of_the_session_table() -> None:
    sessions = SessionTable(time.monotonic, iter(map(str, range(100))).__next__, limit=20, per_owner=2)
    for number in range(20):
        sessions.open(f"eve-{number // 2}")
    for name in ("ann", "bob"):
        sessions.open(name)
    held = Counter(session.owner for session in sessions)
    assert (held["ann"], held["bob"], held["eve-0"], sum(held.values())) == (1, 1, 1, 20)
    with pytest.raises(TooManySessions):
        sessions.open("ann")  # nobody has more than ann would have


async def test_a_session_in_use_is_never_given_up() -> None:
    sessions = SessionTable(time.monotonic, iter(map(str, range(100))).__next__, limit=2, per_owner=2)
    first, second = sessions.open("eve"), sessions.open("eve")
    with sessions.using(first):
        sessions.open("ann")
        assert sessions.find(first.id, "eve") is first and sessions.find(second.id, "eve") is None
    busy = SessionTable(time.monotonic, iter(map(str, range(100))).__next__, limit=2, per_owner=2)
    with busy.using(busy.open("eve")), busy.using(busy.open("eve")), pytest.raises(TooManySessions):
        busy.open("ann")


async def test_the_many_upstream_sessions_of_one_caller_end_before_anybody_elses() -> None:
    async def script(conversation: Conversation) -> None:
        while True:
            _, body = await conversation.read_request()
            message = json.loads(body or b"{}")
            result = careless_server.RESULTS["initialize"]
            answer = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": result}).encode()
            fields = b"mcp-session-id: s%d\r\n" % len(conversation.server.requests)
            await conversation.answer(answer, fields=fields)

    async with upstream(script) as server:
        upstream_sessions = UpstreamSessions(server, most=4)
        async with upstream_sessions.in_use("anns", {}, "ann") as anns:
            pass
        for number in range(8):
            async with upstream_sessions.in_use(f"eves-{number}", {}, "eve"):
                pass
        async with upstream_sessions.in_use("anns", {}, "ann") as again:
            assert again is anns
        assert len(upstream_sessions) == 4


async def test_one_caller_watches_a_bounded_number_of_resources() -> None:
    async def told(_uri: str) -> None: ...

    resource_interest = ResourceInterest()
    for number in range(MOST_OF_ONE):
        await resource_interest.add(f"x://{number}", told, "eve")
    with pytest.raises(TooManyResources):
        await resource_interest.add("x://1", told, "eve")
    await resource_interest.add("x://1", told, "ann")
    await resource_interest.remove("x://0", told, "eve")
    await resource_interest.add("x://more", told, "eve")


# Turns of the event loop


class Turns:
    """Counts how much is heard in each turn of the loop; an audience that answers at once."""

    def __init__(self) -> None:
        self.heard: Counter[int] = Counter()
        self._turn = 0

    async def count(self) -> None:
        while True:
            self._turn += 1
            await asyncio.sleep(0)

    def hear(self, _message: Any) -> None:
        self.heard[self._turn] += 1

    async def open(self) -> None: ...

    async def prime(self, retry: int | None) -> None: ...

    async def pause(self) -> None: ...

    async def notify(self, message: dict[str, Any]) -> None:
        self.hear(message)

    async def answer(self, question: dict[str, Any]) -> dict[str, Any] | None:
        return None


@asynccontextmanager
async def counting() -> AsyncIterator[Turns]:
    turns = Turns()
    task = asyncio.ensure_future(turns.count())
    try:
        yield turns
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def upstream(script: Script) -> AsyncIterator[HttpUpstream]:
    async with ScriptedServer(script) as server:
        pool = Pool("shop", UpstreamAddress.of(server.url), Limits(), CircuitBreaker("shop", time.monotonic))
        try:
            yield HttpUpstream(pool, {"name": "assent", "version": "0"}, first_id=1)
        finally:
            await pool.close()


async def test_a_flood_of_events_leaves_the_loop_to_others_in_between() -> None:
    progress = b'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}\n\n'
    done = b'data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n'

    async def flooding(conversation: Conversation) -> None:
        await conversation.read_request()
        await conversation.write(STREAM + progress * 3000 + done)
        await conversation.ended_by_peer()

    async with upstream(flooding) as server, counting() as turns:
        await server.request("tools/call", {"name": "flood"}, SessionContext("2026-07-28"), stream_listener=turns)
    assert turns.heard.total() == 3000
    assert max(turns.heard.values()) <= 16


async def test_a_flood_of_lines_leaves_the_loop_to_others_in_between() -> None:
    line = json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}})
    program = f"import sys; sys.stdout.write({line!r} + chr(10)); sys.stdout.write(({line!r} + chr(10)) * 3000)"
    async with counting() as turns:
        launch = LaunchSpec("flood", (sys.executable, "-c", program), dict(os.environ))
        child = ServerProcess(launch, turns.hear, lambda line: None, StderrLog("flood", time.monotonic))
        await child.start()
        async with asyncio.timeout(60):
            await child.ended.wait()
        await child.stop()
    assert turns.heard.total() == 3001
    assert max(turns.heard.values()) <= 16


async def test_a_flood_of_bytes_is_passed_on_in_bounded_pieces_with_turns_in_between() -> None:
    whole = b"x" * 2_000_000

    async def flooding(conversation: Conversation) -> None:
        await conversation.read_request()
        chunks = b"".join(b"%x\r\n%b\r\n" % (500, whole[at : at + 500]) for at in range(0, len(whole), 500))
        await conversation.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n")
        await conversation.ended_by_peer()

    async with upstream(flooding) as server, counting() as turns:
        response = await server.pool.send(b"GET", safe=True)
        size = 0
        async for piece in response.pieces():
            turns.hear(piece)
            assert len(piece) <= 65536
            size += len(piece)
    assert size == len(whole)
    assert max(turns.heard.values()) <= 2
    assert turns.heard.total() < 400, "small pieces are joined"
