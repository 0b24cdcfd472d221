"""What an upstream says unasked, and what we ask it to say."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from assent.mcp.jsonrpc import RpcError
from assent.mcp.server_identity import Described
from assent.upstreams.errors import ProtocolViolation, Unreachable
from assent.upstreams.http import link
from assent.upstreams.http.address import UpstreamAddress
from assent.upstreams.http.circuit_breaker import CircuitBreaker
from assent.upstreams.http.client import HttpUpstream
from assent.upstreams.http.link import HttpSubscriptions
from assent.upstreams.http.pool import Limits, Pool
from assent.upstreams.subscriptions import MOST_RESOURCES, TooManyResources
from support.servers.scripted_server import Conversation, ScriptedServer

STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
MODERN = Described("2026-07-28", {}, {"tools": {}}, None)
OLD = Described("2025-11-25", {}, {"tools": {}}, None)


def event(method: str, **params: Any) -> bytes:
    return b"data: %b\r\n\r\n" % json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()


ACKNOWLEDGED = event("notifications/subscriptions/acknowledged", notifications={})
CHANGED = event("notifications/tools/list_changed", _meta={"io.modelcontextprotocol/subscriptionId": 1})


class Tongue:
    """An upstream of either era: what it was asked, and what it says on its streams."""

    def __init__(self, *words: bytes, refuses: frozenset[str] = frozenset(), listens: bool = True) -> None:
        self.words, self.refuses, self.listens = words, refuses, listens
        self.asked: list[tuple[str, Any]] = []

    async def __call__(self, conversation: Conversation) -> None:
        while True:
            head, body = await conversation.read_request()
            message = json.loads(body) if body else {"method": head.split(b" ")[0].decode()}
            await self._answer(conversation, message)

    async def _answer(self, conversation: Conversation, message: dict[str, Any]) -> None:
        method, params = message["method"], message.get("params", {})
        self.asked.append((method, params.get("uri") or params.get("notifications")))
        if method in ("GET", "subscriptions/listen") and self.listens:
            await conversation.write(STREAM + b"".join(self.words))
            return await conversation.ended_by_peer()
        if method in ("GET", "subscriptions/listen"):
            return await conversation.answer(b"{}", status=b"405 Method Not Allowed")
        if "id" not in message:
            return await conversation.answer(b"", status=b"202 Accepted")
        said: dict[str, Any] = {"result": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}}}
        if params.get("uri") in self.refuses:
            said = {"error": {"code": -32002, "message": "no such thing"}}
        await conversation.answer(json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}).encode())


@asynccontextmanager
async def hearing(tongue: Tongue) -> AsyncIterator[tuple[HttpSubscriptions, asyncio.Queue[dict[str, Any]]]]:
    heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    async with ScriptedServer(tongue) as server:
        pool = Pool("t", UpstreamAddress.of(server.url), Limits(), CircuitBreaker("t", time.monotonic))
        upstream_subscriptions = HttpSubscriptions(HttpUpstream(pool, {"name": "t", "version": "1"}), heard.put_nowait)
        try:
            yield upstream_subscriptions, heard
        finally:
            upstream_subscriptions.close()
            await pool.close()


@asynccontextmanager
async def listening(upstream_subscriptions: HttpSubscriptions, described: Described) -> AsyncIterator[None]:
    task = asyncio.create_task(upstream_subscriptions.listen(described))
    try:
        await upstream_subscriptions._open.wait()
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("described", [MODERN, OLD], ids=["modern", "handshake"])
async def test_a_change_is_heard_as_it_stands_without_the_name_of_our_stream(described: Described) -> None:
    async with (
        hearing(Tongue(ACKNOWLEDGED, CHANGED)) as (upstream_subscriptions, heard),
        listening(upstream_subscriptions, described),
    ):
        notice = await heard.get()
        if notice["method"].endswith("acknowledged"):
            notice = await heard.get()
        assert notice == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


@pytest.mark.parametrize("described", [MODERN, OLD], ids=["modern", "handshake"])
async def test_a_change_nested_too_deeply_to_be_written_reaches_nobody(described: Described) -> None:
    deep = json.loads("[" * 300 + "]" * 300)
    async with hearing(Tongue(ACKNOWLEDGED, event("notifications/x", deep=deep))) as (listener, heard):
        with pytest.raises(ProtocolViolation, match="nested too deeply"):
            await asyncio.wait_for(listener.listen(described), 10)
        assert all(heard.get_nowait()["method"].endswith("acknowledged") for _ in range(heard.qsize()))


async def test_a_subscription_that_is_never_accepted_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "ACKNOWLEDGES_WITHIN", 0.5)
    tongue = Tongue(ACKNOWLEDGED)
    async with hearing(tongue) as (upstream_subscriptions, _), listening(upstream_subscriptions, MODERN):
        tongue.words = ()
        async with asyncio.timeout(10):
            for uri in ("x://a", "x://b"):
                with pytest.raises(Unreachable, match="did not accept"):
                    await upstream_subscriptions.watch(uri)
        tongue.words = (ACKNOWLEDGED,)
        await asyncio.wait_for(upstream_subscriptions.watch("x://a"), 10)


@pytest.mark.parametrize("described", [MODERN, OLD], ids=["modern", "handshake"])
async def test_a_resource_that_many_want_is_asked_for_once_and_let_go_with_the_last(described: Described) -> None:
    tongue = Tongue(ACKNOWLEDGED)
    async with hearing(tongue) as (upstream_subscriptions, _), listening(upstream_subscriptions, described):
        await asyncio.gather(*(upstream_subscriptions.watch("x://a") for _ in range(50)))
        asked = [what for method, what in tongue.asked if what in ("x://a", {"resourceSubscriptions": ["x://a"]})]
        assert len(asked) == 1
        for _ in range(49):
            await upstream_subscriptions.leave("x://a")
        assert ("resources/unsubscribe", "x://a") not in tongue.asked
        await upstream_subscriptions.leave("x://a")
        assert (("resources/unsubscribe", "x://a") in tongue.asked) is (described is OLD)
        assert not upstream_subscriptions._watches


async def test_a_refusal_is_passed_on_and_leaves_nothing_behind() -> None:
    tongue = Tongue(refuses=frozenset({"x://no"}))
    async with hearing(tongue) as (upstream_subscriptions, _), listening(upstream_subscriptions, OLD):
        answers = await asyncio.gather(
            *(upstream_subscriptions.watch("x://no") for _ in range(3)), return_exceptions=True
        )
        assert all(isinstance(answer, RpcError) and answer.code == -32002 for answer in answers)
        assert not upstream_subscriptions._resource_interest._wanted


async def test_the_number_of_resources_is_bounded() -> None:
    async with hearing(Tongue()) as (upstream_subscriptions, _), listening(upstream_subscriptions, OLD):
        upstream_subscriptions._resource_interest._wanted.update(
            {f"x://{number}": 1 for number in range(MOST_RESOURCES)}
        )
        await upstream_subscriptions.watch("x://1")
        with pytest.raises(TooManyResources):
            await upstream_subscriptions.watch("x://more")


@pytest.mark.parametrize("described", [MODERN, OLD], ids=["modern", "handshake"])
async def test_an_upstream_that_cannot_be_listened_to_says_so(described: Described) -> None:
    async with hearing(Tongue(listens=False)) as (upstream_subscriptions, _):
        with pytest.raises(ProtocolViolation):
            await upstream_subscriptions.listen(described)


@pytest.mark.parametrize("word", [b"data: {nonsense\r\n\r\n", b"data: " + b"x" * 2_000_000], ids=["garbage", "endless"])
async def test_garbage_ends_the_listening_and_nothing_else(word: bytes) -> None:
    async with hearing(Tongue(word)) as (upstream_subscriptions, heard):
        with pytest.raises(ProtocolViolation):
            await upstream_subscriptions.listen(MODERN)
        assert heard.empty()
