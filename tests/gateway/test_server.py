"""What a hostile peer can hold of the server."""

import asyncio
import random
import socket
from contextvars import ContextVar
from typing import Any

import pytest
import uvicorn

from assent.web import server
from assent.web.http import respond, whole_body
from support.gateway.open_gateway import nowhere
from support.servers.loopback_server import serving


async def connect(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = url.removeprefix("http://").removesuffix("/mcp").split(":")
    return await asyncio.open_connection(host, int(port))


async def answer_to(url: str, *pieces: bytes) -> bytes:
    reader, writer = await connect(url)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        return await reader.read(65536)
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def test_headers_without_end_are_cut_off_with_a_json_answer() -> None:
    async with serving(nowhere) as url:
        got = await answer_to(url, b"GET / HTTP/1.1\r\nhost: localhost\r\n", *[b"x: " + b"y" * 8000 + b"\r\n"] * 10)
        assert got.startswith(b"HTTP/1.1 400") or got == b""
        assert b"application/json" in got or got == b""


async def test_one_header_without_end_is_cut_off() -> None:
    async with serving(nowhere) as url:
        got = await answer_to(url, b"GET / HTTP/1.1\r\nhost: localhost\r\nx: ", *[b"y" * 8000] * 10)
        assert got.startswith(b"HTTP/1.1 400") or got == b""


@pytest.mark.parametrize("cut", [1, 40, 3000, 3031, 3034])
async def test_a_small_head_in_two_pieces_is_not_too_large_because_a_large_body_follows_it(cut: int) -> None:
    received = Received()
    head = b"POST /mcp HTTP/1.1\r\nContent-Length: 200000\r\nX: ".ljust(3031, b"x") + b"\r\n\r\n"
    received.send(head[:cut], head[cut:] + b"b" * 200_000)
    assert [body for _, body in received.requests] == [b"b" * 200_000]
    assert not any(b" 400 " in one for one in received.written)


@pytest.mark.parametrize("size", [65_536, 65_537])
@pytest.mark.parametrize("cut", [None, 1, 65_530, 65_539])
async def test_a_head_has_the_same_limit_in_one_piece_and_in_two(size: int, cut: int | None) -> None:
    received = Received()
    head = b"POST /mcp HTTP/1.1\r\nContent-Length: 90000\r\nX: ".ljust(size, b"x") + b"\r\n\r\n"
    sent = head + b"b" * 90_000
    received.send(*([sent] if cut is None else [sent[:cut], sent[cut:]]))
    assert len(received.requests) == (size == 65_536)
    assert (b"closed" in received.written) is (size > 65_536)


@pytest.mark.parametrize("pieces", [1, 2])
async def test_what_follows_a_chunked_body_is_no_header(pieces: int) -> None:
    received = Received()
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = b"2;a=b\r\n{}\r\n0\r\nAuthorization: Bearer smuggled\r\nHost: other\r\n\r\n"
    received.send(*([head + body] if pieces == 1 else [head, body]))
    [(scope, sent)] = received.requests
    assert sent == b"{}"
    assert scope["headers"] == [(b"host", b"localhost"), (b"transfer-encoding", b"chunked")]


@pytest.mark.parametrize(
    "noise",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\ncontent-length: -5\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nhost : x\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
)
async def test_what_is_not_http_gets_a_json_answer_and_the_door(noise: bytes) -> None:
    async with serving(nowhere) as url:
        got = await answer_to(url, noise)
        assert got.startswith(b"HTTP/1.1 400")
        assert b"content-type: application/json" in got


async def test_what_follows_a_request_does_not_answer_it() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            assert whole_body(receive, 9) == b"{}"
            await respond(send, 200, b'{"said":"all"}')

    async with serving(app) as url, asyncio.timeout(60):
        answer = await answer_to(url, b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}nonsense\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 OK") and answer.endswith(b'{"said":"all"}')
    assert b"connection: close" in answer


@pytest.mark.parametrize("noise", [b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nx: " + b"y" * 70_000])
async def test_what_follows_a_running_request_is_not_read(noise: bytes) -> None:
    received = Received()
    for piece in (b"POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}", noise, b"POST / HTTP/1.1\r\n\r\n"):
        received.protocol.data_received(piece)
    assert received.written == []
    assert len(received.requests) == 1
    assert received.protocol.cycle.keep_alive is False


async def test_a_request_that_waited_inherits_nothing_from_the_one_before_it() -> None:
    current: ContextVar[str] = ContextVar("current", default="nothing")

    async def remember(scope: Any, receive: Any, send: Any) -> None:
        seen = current.get()
        current.set(scope["path"])
        await respond(send, 200, seen.encode())

    async with serving(remember) as url:
        reader, writer = await connect(url)
        first, last = (b"GET /%d HTTP/1.1\r\nhost: localhost\r\n" % number for number in (1, 2))
        writer.write(first + b"\r\n" + last + b"connection: close\r\n\r\n")
        got = await reader.read()
        writer.close()
    assert got.count(b"nothing") == 2


async def test_a_peer_that_never_sends_its_headers_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_HEAD_PATIENCE", 0.02)
    async with serving(nowhere) as url:
        assert await answer_to(url) == b""
        assert await answer_to(url, b"GET / HTTP/1.1\r\nhost") == b""


async def test_a_peer_that_never_sends_its_body_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_BODY_PATIENCE", 0.02)
    told: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            message = await receive()
            while message["type"] == "http.request" and message["more_body"]:
                message = await receive()
            told.append(message["type"])

    async with serving(app) as url:
        head = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n"
        assert await answer_to(url, head) == b""
        assert await answer_to(url, head, b"part") == b""
    assert told == ["http.disconnect", "http.disconnect"]


class Clock:
    """An event loop's time and timers, moved by hand."""

    def __init__(self) -> None:
        self.now, self.timers = 0.0, list[tuple[float, Any]]()

    def time(self) -> float:
        return self.now

    def call_later(self, seconds: float, call: Any) -> asyncio.TimerHandle:
        self.timers.append((self.now + seconds, call))
        return asyncio.TimerHandle(self.now + seconds, call, (), asyncio.get_running_loop())

    def move_to(self, now: float) -> None:
        self.now = now
        due = [timer for timer in self.timers if timer[0] <= now]
        self.timers = [timer for timer in self.timers if timer[0] > now]
        for _, call in due:
            call()


async def test_an_idle_connection_is_closed_and_a_busy_one_is_not() -> None:
    closed: list[float] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await respond(send, 200, b"{}")

    config = server.make_server(app, keep_alive=75, lifespan="off").config
    config.load()
    clock = Clock()

    class Peer(asyncio.Transport):
        def write(self, data: Any) -> None: ...

        def is_closing(self) -> bool:
            return False

        def close(self) -> None:
            closed.append(clock.now)

    protocol = server.BoundedProtocol(config, uvicorn.server.ServerState(), {}, asyncio.get_running_loop())
    protocol.connection_made(Peer())
    protocol.loop = clock  # type: ignore[assignment]
    protocol._stop_timer()
    protocol._start_asgi_task = lambda cycle, app: None  # type: ignore[method-assign]
    for at in (0.0, 50.0, 100.0):  # Each request comes before the time is up.
        clock.move_to(at)
        protocol.data_received(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert protocol.cycle.send_whole(200, b"{}")  # type: ignore[attr-defined]
    assert len(clock.timers) == 1
    clock.move_to(174.0)
    assert closed == []
    clock.move_to(175.0)
    assert closed == [175.0]
    protocol.data_received(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
    clock.move_to(1000.0)
    assert closed == [175.0]  # A request that runs is not idle.


async def test_blanks_around_a_header_value_are_no_part_of_it() -> None:
    seen: list[tuple[bytes, bytes]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            seen.extend(scope["headers"])
        await nowhere(scope, receive, send)

    async with serving(app) as url:
        await answer_to(url, b"GET / HTTP/1.1\r\nhost: localhost\r\nmcp-name:  echo \t \r\nconnection: close\r\n\r\n")
    assert (b"mcp-name", b"echo") in seen


def test_the_listening_socket_says_it_is_tcp_so_that_no_answer_waits_for_an_acknowledgement() -> None:
    listener = server.bind("127.0.0.1", 0)
    assert listener.proto == socket.IPPROTO_TCP
    listener.close()


def test_a_taken_port_is_an_error_at_once() -> None:
    first = server.bind("127.0.0.1", 0)
    with pytest.raises(OSError, match="in use"):
        server.bind("127.0.0.1", first.getsockname()[1])
    first.close()


async def test_the_head_of_a_stream_that_has_nothing_to_say_yet_arrives_alone() -> None:
    heard = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
            await heard.wait()
            await send({"type": "http.response.body", "body": b"late"})

    async with serving(app) as url, asyncio.timeout(60):
        reader, writer = await connect(url)
        writer.write(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert b"content-length: 4" in await reader.readuntil(b"\r\n\r\n")
        heard.set()
        assert await reader.readexactly(4) == b"late"
        writer.close()


async def test_an_answer_that_is_ready_leaves_in_one_write() -> None:
    written: list[bytes] = []

    class Transport(asyncio.Transport):
        def write(self, data: Any) -> None:
            written.append(bytes(data))

    joined = server.JoinedTransport(Transport(), asyncio.get_running_loop())
    joined.write(b"head ")
    joined.write(b"body")
    await asyncio.sleep(0)
    joined.write(b"more")
    assert written == [b"head body", b"more"]


async def whole_answer(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        await respond(send, 200, b'{"said":"all at once"}', [(b"x-more", b"1")] if scope["path"] == "/more" else None)


@pytest.mark.parametrize("path", [b"/", b"/more"])
async def test_a_whole_answer_is_complete_and_its_connection_serves_the_next_request(path: bytes) -> None:
    async with serving(whole_answer) as url, asyncio.timeout(60):
        reader, writer = await connect(url)
        for _ in range(2):
            writer.write(b"GET %b HTTP/1.1\r\nhost: localhost\r\n\r\n" % path)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 22\r\n")
            assert (b"x-more: 1" in head) is (path == b"/more")
            assert await reader.readexactly(22) == b'{"said":"all at once"}'
        writer.close()


async def test_a_whole_answer_to_head_has_no_body_and_one_without_keep_alive_ends_its_connection() -> None:
    async with serving(whole_answer) as url, asyncio.timeout(60):
        headless = await answer_to(url, b"HEAD / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        assert headless.endswith(b"\r\n\r\n")
        ended = await answer_to(url, b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        assert b"connection: close" in ended and ended.endswith(b'{"said":"all at once"}')


class Received:
    """A connection whose requests are noted and answered at once."""

    def __init__(self) -> None:
        self.requests: list[tuple[Any, bytes]] = []
        self.written: list[bytes] = []
        config = server.make_server(nowhere, lifespan="off").config
        config.load()
        received = self

        class Peer(asyncio.Transport):
            def write(self, data: Any) -> None:
                received.written.append(data)

            def is_closing(self) -> bool:
                return received.written[-1:] == [b"closed"]

            def close(self) -> None:
                received.written.append(b"closed")

            def pause_reading(self) -> None: ...

            def resume_reading(self) -> None: ...

        self.protocol = server.BoundedProtocol(config, uvicorn.server.ServerState(), {}, asyncio.get_running_loop())
        self.protocol.connection_made(Peer())
        self.protocol._start_asgi_task = self._take  # type: ignore[method-assign, assignment]

    def _take(self, cycle: Any, app: Any) -> None:
        self.requests.append((cycle.scope, b""))

    def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            if self.written[-1:] != [b"closed"]:
                self.protocol.data_received(piece)
        cycle: Any = self.protocol.cycle
        if isinstance(cycle, server.JoinedCycle) and (body := cycle.take_body()) is not None:
            self.requests[-1] = self.requests[-1][0], body
            cycle.send_whole(200, b"{}")


_FIELDS = [
    b"Host: localhost",
    b"host:localhost",
    b"HOST:\tlocalhost \t",
    b"Content-Type: application/json",
    b"Accept: application/json, text/event-stream",
    b"Mcp-Name: save note",
    b"Mcp-Name: save",
    b"mcp-name: \xc3\xa9",
    b"Authorization: Bearer one",
    b"Authorization: Bearer two",
    b"X-Empty:",
    b"X-Bad Name: x",
    b"X-Colon : x",
    b" folded",
    b"Connection: keep-alive",
    b"Connection: close",
    b"Connection: upgrade",
    b"Upgrade: websocket",
    b"Expect: 100-continue",
    b"Transfer-Encoding: chunked",
    b"Content-Length: 7",
    b"Content-Length: 007",
    b"Content-Length: +7",
    b"Content-Length: 8",
    b"Content-Length: 7 ",
    b"Content-Length: seven",
    b"Content-Length: 6, 7",
    b"X-Null: a\0b",
    b"X-Feed: a\nb",
    b"X-Return: a\rb",
]
_STARTS = [
    *[b"POST /mcp HTTP/1.1"] * 30,
    b"POST /mcp?a=b HTTP/1.1",
    b"POST /m%63p HTTP/1.1",
    b"POST /mcp HTTP/1.0",
    b"POST  /mcp HTTP/1.1",
    b"POST http://localhost/mcp HTTP/1.1",
    b"GET /mcp HTTP/1.1",
    b"POST * HTTP/1.1",
    b"POST /mcp#part HTTP/1.1",
    b"POST /mcp HTTP/2.0",
    b"POST mcp HTTP/1.1",
]


async def test_a_request_in_one_piece_is_read_as_the_parser_reads_it() -> None:
    dice = random.Random(36)
    plain = 0
    for _ in range(3000):
        whole, split = Received(), Received()
        for _ in range(3):
            fields = [*dice.choices(_FIELDS[:7], k=3), *dice.choices(_FIELDS, k=dice.choice((0, 0, 0, 1, 3)))]
            fields += [b"Content-Length: 7"] * dice.choice((1, 1, 1, 1, 1, 1, 0, 2))
            dice.shuffle(fields)
            head = b"\r\n".join([dice.choice(_STARTS), *fields, b"", b""])
            sent = head + dice.choice((*[b'{"a":1}'] * 9, b"", b'{"a":12}'))
            whole.send(sent)
            split.send(sent[:1], sent[1:])
            plain += isinstance(whole.protocol.cycle, server.WholeCycle)
            assert not isinstance(split.protocol.cycle, server.WholeCycle)
            if whole.written[-1:] == [b"closed"]:
                break
        assert whole.requests == split.requests
        assert whole.written == split.written
    assert plain > 1500


async def test_a_caller_that_leaves_is_noticed_after_its_request_was_read_in_one_piece() -> None:
    received = Received()
    received.protocol.data_received(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
    cycle = received.protocol.cycle
    assert await cycle.receive() == {"type": "http.request", "body": b"{}", "more_body": False}
    waiting = asyncio.ensure_future(cycle.receive())
    await asyncio.sleep(0)
    assert not waiting.done()
    received.protocol.connection_lost(None)
    assert await waiting == {"type": "http.disconnect"}
