"""One HTTP/1.1 connection to an upstream, for one request after the other."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import httptools

from assent.upstreams.errors import ConnectionLost, Oversized, ProtocolViolation, TimedOut, UpstreamError

_HEAD_LIMIT = 64 * 1024
_HIGH_WATER = 256 * 1024
_PIECE = 64 * 1024
_MOST_HEADS, _LONGEST_HEAD = 256, 4096
_OWN_FIELDS = frozenset({b"content-length", b"transfer-encoding", b"keep-alive"})


class KnownHead(NamedTuple):
    """What the parser made of the head of a response that arrived in one piece with its body."""

    status: int
    headers: list[tuple[bytes, bytes]]
    is_json: bool
    body_length: int
    keep_alive_for: float | None


KnownHeads = dict[bytes, KnownHead]
"""The heads that one upstream sent lately, by their bytes: equal bytes mean the same, so they are parsed once."""


class UpstreamResponse:
    """A response as it arrives: status and headers first, then the body, whole or in pieces.

    Its holder reads it to the end or calls `close`. Once it is complete, its connection may serve another request.
    """

    __slots__ = (
        "_complete", "_connection", "_fault", "_held", "_is_json", "_limit", "_pieces", "_waiter", "headers", "status",
    )  # fmt: skip

    def __init__(self, connection: "HttpConnection") -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self._connection = connection
        self._pieces: deque[bytes] = deque()
        self._held = 0
        self._limit: int | None = None
        self._complete = False
        self._is_json: bool | None = None
        self._fault: UpstreamError | None = None
        self._waiter: asyncio.Future[None] | None = None

    def header(self, name: bytes) -> bytes | None:
        """The first value of a header, by its lower-case name."""
        for key, value in self.headers:
            if key == name:
                return value
        return None

    @property
    def is_json(self) -> bool:
        """Whether this is a successful answer in plain JSON that has arrived completely."""
        if not self._complete or self.status != 200:
            return False
        if self._is_json is None:
            self._is_json = self.header(b"content-type") == b"application/json"
        return self._is_json

    def whole(self, limit: int) -> bytes | None:
        """The whole body if it has arrived; more than `limit` bytes is an error."""
        if not self._complete:
            return None
        if self._held > limit:
            raise self._oversized(limit)
        self.raise_fault()
        return self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)

    async def read(self, limit: int) -> bytes:
        """The whole body; more than `limit` bytes is an error."""
        self._limit = limit
        self._check_limit()
        while (body := self.whole(limit)) is None:
            self._connection.resume()
            await self._wait()
        return body

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it arrives; the upstream is held back while no one reads.

        Other tasks of the event loop run between two pieces, so that a flood cannot starve them.
        """
        while True:
            while self._pieces:
                yield self._next_piece()
                if self._pieces:
                    await asyncio.sleep(0)
            self.raise_fault()
            if self._complete:
                return
            self._connection.resume()
            await self._wait()

    def _next_piece(self) -> bytes:
        """The data that has arrived, up to a bound: many small pieces would need a turn of the loop each."""
        taken = [self._pieces.popleft()]
        size = len(taken[0])
        while self._pieces and size + len(self._pieces[0]) <= _PIECE:
            taken.append(self._pieces.popleft())
            size += len(taken[-1])
        self._held -= size
        return taken[0] if len(taken) == 1 else b"".join(taken)

    @contextmanager
    def held(self, *, asked: bool = False) -> Iterator[None]:
        """Pause the silence timeout while we keep the upstream waiting; if it asked a question, pause the total
        timeout too.
        """
        self._suspend_timeouts(True, asked)
        try:
            yield
        finally:
            self._suspend_timeouts(False, asked)

    def close(self) -> None:
        """Stop reading. Closing an unfinished response ends its connection, which tells the upstream to stop."""
        if not self._complete:
            self._connection.abort(ConnectionLost(self._connection.upstream, "closed by us", sent=True))

    def _suspend_timeouts(self, silence: bool, asked: bool) -> None:
        if not self._complete:
            self._connection.suspend_timeouts(silence, asked)

    def raise_fault(self) -> None:
        if self._fault is not None:
            raise self._fault

    def next_event(self) -> asyncio.Future[None]:
        """Done when something arrives or the exchange ends. Whoever is cancelled meanwhile calls `close`."""
        self.raise_fault()
        self._waiter = self._connection.loop.create_future()
        return self._waiter

    async def _wait(self) -> None:
        try:
            await self.next_event()
        except asyncio.CancelledError:
            self.close()
            raise
        self.raise_fault()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _append(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._held += len(piece)
        if self._limit is not None:
            self._check_limit()
        elif self._held > _HIGH_WATER:
            self._connection.pause()
        self._wake()

    def _check_limit(self) -> None:
        if self._limit is None or self._held <= self._limit:
            return
        if self._complete:
            self._fault = self._oversized(self._limit)  # Its connection may already serve another request.
        else:
            self._connection.abort(self._oversized(self._limit))

    def _oversized(self, limit: int) -> Oversized:
        return Oversized(self._connection.upstream, f"the response is larger than {limit} bytes", sent=True)

    def take_whole(self, head: KnownHead, body: bytes) -> None:
        """A whole response that arrived in one piece."""
        self.status, self.headers, self._is_json = head.status, head.headers, head.is_json
        if body:
            self._pieces.append(body)
            self._held = len(body)
        self._complete = True
        self._wake()

    def learn(self, body: bytes, keep_alive_for: float | None) -> KnownHead | None:
        """What to remember of the head of a complete response, if the head alone says where the body ends."""
        lengths = [value for name, value in self.headers if name == b"content-length"]
        if lengths != [b"%d" % len(body)] or self.header(b"transfer-encoding") is not None or self._held != len(body):
            return None
        is_json = self.header(b"content-type") == b"application/json"
        return KnownHead(self.status, self.headers, is_json, len(body), keep_alive_for)

    def _end(self, fault: UpstreamError | None) -> None:
        if not self._complete:
            self._complete, self._fault = True, fault
            self._wake()


class HttpConnection(asyncio.Protocol):
    """One connection: at most one request at a time, returned to the pool as soon as its response is complete."""

    def __init__(
        self,
        upstream: str,
        loop: asyncio.AbstractEventLoop,
        on_free: Callable[["HttpConnection"], None],
        on_closed: Callable[["HttpConnection"], None],
        known_heads: KnownHeads | None = None,
    ) -> None:
        self._known_heads: KnownHeads = {} if known_heads is None else known_heads
        self._is_idle = True
        """Whether the parser waits for a response, of which nothing has arrived."""
        self.upstream = upstream
        self.loop = loop
        self.served = 0
        self.idle_since = 0.0
        self.keep_alive_for: float | None = None
        self._on_free = on_free
        self._on_closed = on_closed
        self._parser: Any = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._response: UpstreamResponse | None = None
        self._paused = self._timeouts_suspended = False
        self._closed = False
        self._head_bytes = 0
        self._until_close = False
        self._kept_alive = b""
        self._deadline = self._patience = self._last_data_at = 0.0
        self._asked_at: float | None = None

    # Used by the pool.

    @property
    def usable(self) -> bool:
        return not self._closed and self._transport is not None and not self._transport.is_closing()

    def start(self, request: bytes, patience: float, total: float) -> UpstreamResponse:
        """Send a request. `patience` limits every silence, `total` the whole exchange (seconds)."""
        assert self._response is None and self._transport is not None
        now = self._last_data_at = self.loop.time()
        self._patience, self._deadline = patience, now + total
        self._head_bytes, self._until_close, self._timeouts_suspended, self._asked_at = 0, True, False, None
        self._kept_alive = b""
        self._response = response = UpstreamResponse(self)
        self._transport.write(request)
        return response

    def check_time(self, now: float) -> None:
        """End an overdue exchange; the pool calls this regularly."""
        if self._response is None:
            return
        if now >= self._deadline and self._asked_at is None:
            self.abort(TimedOut(self.upstream, "no complete response in time", sent=True))
        elif not (self._paused or self._timeouts_suspended) and now - self._last_data_at >= self._patience:
            self.abort(TimedOut(self.upstream, f"silent for {self._patience:g} seconds", sent=True))

    def suspend_timeouts(self, silence: bool, asked: bool) -> None:
        now = self.loop.time()
        if self._asked_at is not None:
            self._deadline += now - self._asked_at
        self._timeouts_suspended, self._asked_at = silence, now if silence and asked else None
        self._last_data_at = now

    def abort(self, fault: UpstreamError) -> None:
        """Close the connection now; the waiter for the response gets `fault`."""
        self._finish(fault)
        if self._transport is not None:
            self._transport.abort()
        self._report_closed()

    def pause(self) -> None:
        if not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._paused and self._transport is not None:
            self._paused = False
            self._last_data_at = self.loop.time()
            self._transport.resume_reading()

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._response is None:
            self.abort(ProtocolViolation(self.upstream, "sent data without a request", sent=False))
            return
        self._last_data_at = self.loop.time()
        if self._is_idle:
            return self._read_first(self._response, data)
        self._feed(data)

    def _read_first(self, response: UpstreamResponse, data: bytes) -> None:
        """Read the first piece of a response, which is often all of it, with a head that the upstream sent before."""
        end = data.find(b"\r\n\r\n") + 4
        head = data[:end]
        known = self._known_heads.get(head)
        if known is not None and known.body_length == len(data) - end:
            assert self._transport is not None
            reusable = not self._transport.get_write_buffer_size()
            self._response = None
            response.take_whole(known, data[end:])
            self._end_exchange(reusable, known.keep_alive_for)
            return
        self._feed(data)
        if self._is_idle and not self._closed and response.status:
            learned = response.learn(data[end:], self.keep_alive_for)
            if learned is not None and len(head) <= _LONGEST_HEAD:
                if len(self._known_heads) >= _MOST_HEADS:
                    self._known_heads.clear()
                self._known_heads[head] = learned

    def _feed(self, data: bytes) -> None:
        if self._response is not None and not self._response.status:
            self._head_bytes += len(data)
            if self._head_bytes > _HEAD_LIMIT + _HIGH_WATER:
                self.abort(Oversized(self.upstream, "the headers of the response are too long", sent=True))
                return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self.abort(
                ProtocolViolation(self.upstream, f"the response is not HTTP ({type(error).__name__})", sent=True)
            )

    def eof_received(self) -> bool:
        if self._response is not None and self._response.status and self._until_close:
            self._finish(None)
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._finish(ConnectionLost(self.upstream, "the connection broke before the response was complete", sent=True))
        self._report_closed()

    # Called by the parser.

    def on_message_begin(self) -> None:
        if self._response is None:
            raise ValueError("data after the response")  # The next request would read it as the start of its own.
        self._is_idle = False

    def on_header(self, name: bytes, value: bytes) -> None:
        response = self._response
        if response is None or response.status:
            return  # trailers
        key = name.lower()
        if key in _OWN_FIELDS:
            if key == b"keep-alive":
                self._kept_alive = self._kept_alive or value
            else:
                self._until_close = False
        response.headers.append((key, value))

    def on_headers_complete(self) -> None:
        response, status = self._response, self._parser.get_status_code()
        if response is None:
            raise ValueError("a response without a request")
        if status < 200:
            if status == 101:
                raise ValueError("an upgrade without a request")
            response.headers.clear()
            return
        if status in (204, 304):
            self._until_close = False
        response.status = status
        response._wake()

    def on_body(self, body: bytes) -> None:
        if self._response is not None:
            self._response._append(body)

    def on_message_complete(self) -> None:
        response = self._response
        if response is None or not response.status:
            return  # an interim response
        assert self._transport is not None
        reusable = self._parser.should_keep_alive() and not self._transport.get_write_buffer_size()
        self._is_idle = reusable
        self._finish(None)
        self._end_exchange(reusable, _keep_alive_seconds(self._kept_alive) if self._kept_alive else None)

    def _end_exchange(self, reusable: bool, keep_alive_for: float | None) -> None:
        """Give the connection back, or close it."""
        assert self._transport is not None
        if reusable and self.usable:
            self.served += 1
            self.keep_alive_for = keep_alive_for
            self.idle_since = self._last_data_at
            if self._paused:
                self.resume()
            self._on_free(self)
        else:
            self._transport.close()
            self._report_closed()

    def _finish(self, fault: UpstreamError | None) -> None:
        response, self._response = self._response, None
        if response is not None:
            response._end(fault)

    def _report_closed(self) -> None:
        if not self._closed:
            self._closed = True
            self._on_closed(self)


def _keep_alive_seconds(value: bytes) -> float | None:
    """How long the peer keeps an idle connection (`Keep-Alive: timeout=5`)."""
    for part in value.split(b","):
        name, _, number = part.strip().partition(b"=")
        if name.lower() == b"timeout" and number.isdigit():
            return float(number)
    return None
