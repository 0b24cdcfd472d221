"""How the pool behaves towards upstreams that behave, misbehave, hang and disappear."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from assent.upstreams.errors import (
    CircuitOpen,
    ConnectionLost,
    Oversized,
    PoolExhausted,
    ProtocolViolation,
    TimedOut,
    Unreachable,
)
from assent.upstreams.http.address import UpstreamAddress
from assent.upstreams.http.circuit_breaker import CircuitBreaker
from assent.upstreams.http.connection import UpstreamResponse
from assent.upstreams.http.pool import Limits, Pool
from support.servers.scripted_server import Conversation, Script, ScriptedServer, echo

Opened = tuple[ScriptedServer, Pool]


@asynccontextmanager
async def opened(script: Script, limits: Limits | None = None) -> AsyncIterator[Opened]:
    async with ScriptedServer(script) as server:
        pool = pool_for(server.url, limits)
        try:
            yield server, pool
        finally:
            await pool.close()


def pool_for(url: str, limits: Limits | None = None, clock: Callable[[], float] = lambda: 0.0) -> Pool:
    return Pool("shop", UpstreamAddress.of(url), limits or Limits(), CircuitBreaker("shop", clock))


async def post(pool: Pool, body: bytes = b"{}", *, safe: bool = False) -> bytes:
    response = await pool.send(b"POST", (), body, safe=safe)
    return await response.read(1 << 20)


async def gather_pieces(response: UpstreamResponse) -> bytes:
    return b"".join([piece async for piece in response.pieces()])


async def test_one_connection_carries_many_requests() -> None:
    async with opened(echo) as (server, pool):
        assert [await post(pool, b"%d" % n) for n in range(5)] == [b"0", b"1", b"2", b"3", b"4"]
        assert len(server.conversations) == 1


async def test_configured_headers_are_sent_and_framing_is_ours() -> None:
    async with ScriptedServer(echo) as server:
        target = UpstreamAddress.of(server.url, {"Authorization": "Bearer up"})
        pool = Pool("shop", target, Limits(), CircuitBreaker("shop", lambda: 0.0))
        await (await pool.send(b"POST", [(b"accept", b"application/json")], b"hi")).read(10)
        await pool.close()
        head = server.requests[0][0]
        assert head == (
            b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:%d\r\nAuthorization: Bearer up\r\n"
            b"accept: application/json\r\ncontent-length: 2\r\n\r\n" % server.port
        )


async def test_calls_beyond_the_connection_limit_wait_and_are_served_in_order() -> None:
    async with opened(echo, Limits(connections=2)) as (server, pool):
        done: list[int] = []

        async def call(number: int) -> None:
            await post(pool)
            done.append(number)

        await asyncio.gather(*(call(n) for n in range(20)))
        assert done == sorted(done)
        assert len(server.conversations) == 2


async def test_more_waiting_calls_than_allowed_are_refused_at_once() -> None:
    async def never(conversation: Conversation) -> None:
        await conversation.read_request()
        await conversation.ended_by_peer()

    async with opened(never, Limits(connections=1, waiting=1)) as (server, pool):
        first, second = asyncio.ensure_future(post(pool)), asyncio.ensure_future(post(pool))
        await server.received.wait()
        with pytest.raises(PoolExhausted) as refused:
            await post(pool)
        assert not refused.value.sent
        first.cancel()
        second.cancel()
        await asyncio.gather(first, second, return_exceptions=True)


async def test_a_cancelled_call_ends_its_connection_and_the_next_waiter_goes_on() -> None:
    async def first_hangs(conversation: Conversation) -> None:
        if conversation.number == 0:
            await conversation.read_request()
            await conversation.ended_by_peer()
        else:
            await echo(conversation)

    async with opened(first_hangs, Limits(connections=1)) as (server, pool):
        hanging = asyncio.ensure_future(post(pool))
        await server.received.wait()
        waiting = asyncio.ensure_future(post(pool, b"next"))
        await asyncio.sleep(0)
        hanging.cancel()
        assert await waiting == b"next"
        assert hanging.cancelled()


async def test_a_waiter_that_is_cancelled_as_it_is_served_passes_the_connection_on() -> None:
    async with opened(echo, Limits(connections=1)) as (_, pool):
        busy = asyncio.ensure_future(pool.send(b"POST"))
        waiting = asyncio.ensure_future(post(pool, b"gone"))
        last = asyncio.ensure_future(post(pool, b"last"))
        response = await busy
        await response.read(10)
        waiting.cancel()
        assert await last == b"last"


async def test_a_chunked_answer_is_put_together() -> None:
    async def chunked(conversation: Conversation) -> None:
        while True:
            await conversation.read_request()
            await conversation.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n")
            await conversation.write(b"2\r\nde\r\n0\r\nx-trailer: 1\r\n\r\n")

    async with opened(chunked) as (server, pool):
        assert [await post(pool), await post(pool)] == [b"abcde", b"abcde"]
        assert len(server.conversations) == 1


async def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    async def until_close(conversation: Conversation) -> None:
        await conversation.read_request()
        await conversation.write(b"HTTP/1.1 200 OK\r\n\r\nall of it")

    async with opened(until_close) as (server, pool):
        assert [await post(pool), await post(pool)] == [b"all of it", b"all of it"]
        assert len(server.conversations) == 2


async def test_interim_answers_are_skipped() -> None:
    async def interim(conversation: Conversation) -> None:
        await conversation.read_request()
        await conversation.write(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n")
        await conversation.answer(b"final")

    async with opened(interim) as (_, pool):
        response = await pool.send(b"POST")
        assert (response.status, response.header(b"link")) == (200, None)
        assert await response.read(10) == b"final"


async def test_pieces_of_a_stream_arrive_before_it_ends() -> None:
    more = asyncio.Event()

    async def stream(conversation: Conversation) -> None:
        await conversation.read_request()
        await conversation.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n")
        await more.wait()
        await conversation.write(b"6\r\nsecond\r\n0\r\n\r\n")

    async with opened(stream) as (_, pool):
        pieces = (await pool.send(b"GET")).pieces()
        assert await anext(pieces) == b"first"
        more.set()
        assert [piece async for piece in pieces] == [b"second"]


async def test_a_stream_nobody_reads_is_held_back() -> None:
    written = 0

    async def flood(conversation: Conversation) -> None:
        nonlocal written
        await conversation.read_request()
        await conversation.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        for _ in range(1000):
            await conversation.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            written += 65536
        await conversation.write(b"0\r\n\r\n")

    async with opened(flood) as (_, pool):
        response = await pool.send(b"GET")
        for _ in range(200):
            await asyncio.sleep(0)
        assert written < 32 * 1024 * 1024
        assert len(await gather_pieces(response)) == 1000 * 65536


async def test_a_connection_that_died_while_idle_is_noticed_and_not_used() -> None:
    async def once(conversation: Conversation) -> None:
        await conversation.read_request()
        await conversation.answer(b"ok")

    async with opened(once) as (server, pool):
        assert await post(pool) == b"ok"
        while pool._idle:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert await post(pool) == b"ok"
        assert len(server.conversations) == 2


async def closing_on_second(conversation: Conversation) -> None:
    """Keep-alive promised, then broken: the second request is read and never answered."""
    await conversation.read_request()
    await conversation.answer(b"ok")
    if conversation.number == 0:
        await conversation.read_request()
        conversation.reset()
    else:
        await echo(conversation)


async def test_a_safe_request_is_sent_again_when_a_kept_connection_breaks() -> None:
    async with opened(closing_on_second) as (server, pool):
        await post(pool)
        assert await post(pool, safe=True) == b"ok"
        assert len(server.requests) == 3


async def test_an_unsafe_request_is_never_sent_twice() -> None:
    async with opened(closing_on_second) as (server, pool):
        await post(pool)
        with pytest.raises(ConnectionLost) as lost:
            await post(pool)
        assert lost.value.sent
        assert len(server.requests) == 2


async def test_a_safe_request_is_not_repeated_on_a_fresh_connection() -> None:
    async def slam(conversation: Conversation) -> None:
        await conversation.read_request()

    async with opened(slam) as (server, pool):
        with pytest.raises(ConnectionLost):
            await post(pool, safe=True)
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    "garbage",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"<html><body>no</body></html>\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nbad header\x00: x\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
    ],
)
async def test_an_answer_that_is_not_http_is_a_fault_of_its_own(garbage: bytes) -> None:
    async def talk(conversation: Conversation) -> None:
        await conversation.read_request()
        await conversation.write(garbage)
        await conversation.ended_by_peer()

    async with opened(talk) as (_, pool):
        with pytest.raises(ProtocolViolation):
            await post(pool)


async def test_a_second_answer_nobody_asked_for_ends_the_connection_and_reaches_nobody() -> None:
    async def doubled(conversation: Conversation) -> None:
        _, body = await conversation.read_request()
        answer = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
        await conversation.write(answer + b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil")
        await conversation.ended_by_peer()

    async with opened(doubled, Limits(connections=1)) as (server, pool):
        assert await asyncio.gather(*(post(pool, b"%d" % n) for n in range(3))) == [b"0", b"1", b"2"]
        assert len(server.conversations) == 3


async def test_headers_without_end_are_cut_off() -> None:
    async def endless(conversation: Conversation) -> None:
        await conversation.read_request()
        await conversation.write(b"HTTP/1.1 200 OK\r\nx: ")
        while True:
            await conversation.write(b"y" * 65536)

    async with opened(endless) as (_, pool):
        with pytest.raises(Oversized):
            await post(pool)


@pytest.mark.parametrize("framing", [b"content-length: 9000000", b"transfer-encoding: chunked"])
async def test_a_body_beyond_the_limit_is_cut_off(framing: bytes) -> None:
    async def huge(conversation: Conversation) -> None:
        await conversation.read_request()
        await conversation.write(b"HTTP/1.1 200 OK\r\n" + framing + b"\r\n\r\n")
        while True:
            await conversation.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")

    async with opened(huge) as (_, pool):
        response = await pool.send(b"POST")
        with pytest.raises(Oversized):
            await response.read(1_000_000)


async def test_an_answer_found_too_large_after_its_end_leaves_the_next_one_on_its_connection_alone() -> None:
    hold = asyncio.Event()

    async def second_waits(conversation: Conversation) -> None:
        await conversation.read_request()
        await conversation.answer(b"x" * 5000)
        await conversation.read_request()
        await hold.wait()
        await conversation.answer(b"ok")

    async with opened(second_waits, Limits(connections=1)) as (server, pool):
        first = await pool.send(b"POST")
        while not first._complete:  # noqa: ASYNC110
            await asyncio.sleep(0)
        second = asyncio.ensure_future(post(pool))
        await asyncio.sleep(0)
        with pytest.raises(Oversized):
            await first.read(1000)
        with first.held():
            first.close()
        hold.set()
        assert await second == b"ok"
        assert len(server.conversations) == 1


async def test_an_answer_that_breaks_off_is_lost() -> None:
    async def half(conversation: Conversation) -> None:
        await conversation.read_request()
        await conversation.write(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")

    async with opened(half) as (_, pool):
        response = await pool.send(b"POST")
        with pytest.raises(ConnectionLost):
            await response.read(100)


async def test_a_silent_upstream_times_out() -> None:
    async def silent(conversation: Conversation) -> None:
        await conversation.read_request()
        await conversation.ended_by_peer()

    async with opened(silent, Limits(silence=0.02)) as (_, pool):
        with pytest.raises(TimedOut) as late:
            await post(pool)
        assert late.value.sent


async def test_a_dripping_upstream_times_out_in_total() -> None:
    async def drip(conversation: Conversation) -> None:
        await conversation.read_request()
        await conversation.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        while True:
            await conversation.write(b"1\r\nx\r\n")
            await asyncio.sleep(0)

    async with opened(drip, Limits(silence=0.1, total=0.15)) as (_, pool):
        with pytest.raises(TimedOut, match="no complete response"):
            await gather_pieces(await pool.send(b"POST"))


async def test_nobody_listening_is_unreachable_and_nothing_was_sent() -> None:
    async with ScriptedServer(echo) as server:
        url = server.url
    pool = pool_for(url)
    with pytest.raises(Unreachable) as down:
        await post(pool)
    assert not down.value.sent
    assert "127.0.0.1" not in str(down.value)


async def test_after_repeated_failures_the_upstream_is_left_alone_then_probed_once() -> None:
    now = [0.0]
    async with ScriptedServer(echo) as server:
        url, port = server.url, server.port
    pool = pool_for(url, clock=lambda: now[0])
    for _ in range(5):
        with pytest.raises(Unreachable):
            await post(pool)
    with pytest.raises(CircuitOpen):
        await post(pool)
    assert pool.health.state == "open"
    now[0] = 1.5
    revived = await asyncio.start_server(lambda r, w: ScriptedServer(echo)._serve(r, w), "127.0.0.1", port)
    assert await post(pool, b"back") == b"back"
    assert pool.health.state == "closed"
    await pool.close()
    revived.close()
    await revived.wait_closed()


async def test_a_full_pool_says_nothing_about_the_upstreams_health() -> None:
    async def never(conversation: Conversation) -> None:
        await conversation.read_request()
        await conversation.ended_by_peer()

    async with opened(never, Limits(connections=1, waiting=0)) as (server, pool):
        first = asyncio.ensure_future(post(pool))
        await server.received.wait()
        for _ in range(10):
            with pytest.raises(PoolExhausted):
                await post(pool)
        assert pool.health.state == "closed"
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)


async def test_a_thousand_calls_in_flight_when_the_upstream_dies_fail_alone() -> None:
    waiting: list[Conversation] = []
    everyone = asyncio.Event()

    async def dies(conversation: Conversation) -> None:
        await conversation.read_request()
        waiting.append(conversation)
        if len(waiting) == 100:
            everyone.set()
        await conversation.ended_by_peer()

    async with opened(dies, Limits(connections=100)) as (_, doomed), opened(echo) as (_, healthy):
        calls = [asyncio.ensure_future(post(doomed)) for _ in range(1000)]
        await everyone.wait()
        doomed._circuit_breaker = CircuitBreaker("shop", lambda: 0.0, threshold=1)
        for conversation in waiting:
            conversation.reset()
        outcomes = await asyncio.gather(*(asyncio.wait_for(post(healthy, b"ok"), 5) for _ in range(200)))
        assert outcomes == [b"ok"] * 200
        for call in calls:
            call.cancel()
        ended = await asyncio.gather(*calls, return_exceptions=True)
        assert sum(isinstance(result, ConnectionLost) for result in ended) >= 100
        assert len(doomed._open) + doomed._connecting <= 100


async def test_closing_the_pool_ends_calls_under_way_and_waiting() -> None:
    async def never(conversation: Conversation) -> None:
        await conversation.read_request()
        await conversation.ended_by_peer()

    async with opened(never, Limits(connections=1)) as (server, pool):
        calls = [asyncio.ensure_future(post(pool)) for _ in range(2)]
        await server.received.wait()
        await pool.close()
        ended = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(result) for result in ended] == [ConnectionLost, Unreachable]
