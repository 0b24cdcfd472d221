"""A response in one piece is read as the parser reads the same bytes in two pieces."""

import asyncio
import random
from typing import Any

from assent.upstreams.errors import UpstreamError
from assent.upstreams.http.connection import HttpConnection, KnownHeads, UpstreamResponse

STARTS = [*[b"HTTP/1.1 200 OK"] * 20, b"HTTP/1.1 204 No Content", b"HTTP/1.1 304 Not Modified", b"HTTP/1.0 200 OK"]
STARTS += [b"HTTP/1.1 500 Oh", b"HTTP/1.1 100 Continue", b"HTTP/1.1  200 OK", b"HTTP/2.0 200 OK", b"nonsense"]
FIELDS = [*[b"content-type: application/json"] * 9, b"Content-Type: text/event-stream", b"date: today", b"server: one"]
FIELDS += [b"keep-alive: timeout=5", b"connection: close", b"connection: keep-alive", b"transfer-encoding: chunked"]
FIELDS += [b"x-empty:", b"bad name: x", b" folded", b"content-length: 2", b"content-length: 02", b"content-length: 9"]
BODIES = [*[b"{}"] * 12, b"", b"{}\n", b"2\r\n{}\r\n0\r\n\r\n", b"{}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"]


class Exchanges:
    """One connection and what became of each of its requests."""

    def __init__(self, known_heads: KnownHeads) -> None:
        self.seen: list[Any] = []
        self.known_heads = known_heads
        note = self.seen.append
        loop = asyncio.get_running_loop()
        self.connection = HttpConnection(
            "shop", loop, lambda _: note("free"), lambda _: note("closed"), known_heads=known_heads
        )

        class Peer(asyncio.Transport):
            closing = False

            def write(self, data: Any) -> None: ...

            def get_write_buffer_size(self) -> int:
                return 0

            def is_closing(self) -> bool:
                return self.closing

            def close(self) -> None:
                self.closing = True

            abort = close

        self.connection.connection_made(Peer())

    def exchange(self, *pieces: bytes) -> None:
        if not self.connection.usable:
            return
        response = self.connection.start(b"request", 1.0, 1.0)
        for piece in pieces:
            if self.connection.usable:
                self.connection.data_received(piece)
        if self.connection.usable and not response._complete:
            self.connection.eof_received()
            self.connection.connection_lost(None)
        self.seen += [response.status, response.headers, response.is_json, _body(response)]
        self.seen.append(self.connection.keep_alive_for)


def _body(response: UpstreamResponse) -> Any:
    try:
        return response.whole(1000)
    except UpstreamError as fault:
        return type(fault)


async def test_a_response_in_one_piece_is_read_as_the_parser_reads_it() -> None:
    dice, known_heads, usual = random.Random(36), KnownHeads(), 0
    for _ in range(4000):
        whole, split = Exchanges(known_heads), Exchanges({})
        for _ in range(3):
            fields = [*dice.choices(FIELDS[:12], k=2), *dice.choices(FIELDS, k=dice.choice((0, 0, 0, 1, 2)))]
            fields += [b"content-length: 2"] * dice.choice((1, 1, 1, 1, 0, 2))
            sent = b"\r\n".join([dice.choice(STARTS), *fields, b"", dice.choice(BODIES)])
            usual += sent[: sent.find(b"\r\n\r\n") + 4] in known_heads
            whole.exchange(sent)
            split.exchange(sent[:1], sent[1:])
        assert whole.seen == split.seen
    assert usual > 1000
    assert known_heads


async def test_a_response_with_the_start_of_another_one_ends_its_connection() -> None:
    sent = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 200 O"
    whole, split = Exchanges({}), Exchanges({})
    whole.exchange(sent)
    split.exchange(sent[:-15], sent[-15:])
    assert not whole.connection.usable and not split.connection.usable
    assert whole.seen[2:] == split.seen[2:] and whole.seen[:2] == ["free", "closed"]
