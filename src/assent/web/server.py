"""A uvicorn server with limits on what one client can hold open."""

import asyncio
import gc
import re
import socket
from collections.abc import Coroutine
from contextvars import Context
from functools import cached_property
from typing import Any, cast

import orjson
import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from assent.web.asgi import App, Headers, Message

_HEAD_LIMIT = 64 * 1024
_HEAD_PATIENCE = 15.0
_BODY_PATIENCE = 120.0


class JoinedTransport:
    """Holds back the head of a response so that head and body leave in one write.

    A write is the most expensive step of a response, and the framework makes two. If no body follows in the same
    loop turn, as on a stream, the head is sent alone.
    """

    __slots__ = ("_head", "_loop", "_passed", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop, self._head, self._passed = transport, loop, b"", False

    def write(self, data: bytes) -> None:
        if self._passed:
            self._transport.write(data)
        elif self._head:
            self._head += data
            self._flush()
        else:
            self._head = data
            self._loop.call_soon(self._flush)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def _flush(self) -> None:
        if not self._passed:
            self._passed = True
            self._transport.write(self._head)
            self._head = b""


class JoinedCycle(RequestResponseCycle):
    """A request and its response, which leaves in one write.

    A JSON answer that is complete at once is written without the framework's steps for streams.
    """

    async def send(self, message: Message) -> None:  # type: ignore[override]
        if not self.response_started:
            self.transport = cast("asyncio.Transport", JoinedTransport(self.transport, asyncio.get_running_loop()))
        await super().send(message)  # type: ignore[arg-type]

    def take_body(self) -> bytes | None:
        """The body if it has arrived completely and nothing of it was read yet; otherwise `receive` gives it."""
        if self.more_body or self.disconnected or self.response_complete or self.waiting_for_100_continue:
            return None
        body, self.body = bytes(self.body), bytearray()
        self.flow.resume_reading()
        self.message_event.clear()
        return body

    def send_whole(self, status: int, body: bytes) -> bool:
        """Sends a JSON response at once; False if it must be sent in the framework's way."""
        if self.response_started or not self.keep_alive or self.flow.write_paused or self.disconnected:
            return False
        if self.scope["method"] == "HEAD":
            return False
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        self.transport.write(
            b"%bcontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (STATUS_LINE[status], len(body), body)
        )
        if (event := self.__dict__.get("message_event")) is not None:
            event.set()
        self.on_response()
        return True


class WholeCycle(JoinedCycle):
    """The cycle of a POST that arrived in one piece. What is the same for all of them is an attribute of the class."""

    disconnected = response_started = response_complete = False
    keep_alive = True
    more_body = access_log = waiting_for_100_continue = False
    chunked_encoding = None
    expected_content_length = 0
    _is_taken = False

    def __init__(self, protocol: "BoundedProtocol", scope: Any, body: bytes) -> None:
        self.scope, self.transport, self.flow = scope, protocol.transport, protocol.flow
        self.logger, self.access_logger = protocol.logger, protocol.access_logger
        self.default_headers = protocol.server_state.default_headers
        self.on_response = protocol.on_response_complete
        self.body = body  # type: ignore[assignment]

    @cached_property
    def message_event(self) -> asyncio.Event:  # type: ignore[override]
        """Set while something can be received; made when the first step waits for it."""
        event = asyncio.Event()
        if not self._is_taken:
            event.set()
        return event

    def take_body(self) -> bytes | None:
        if self._is_taken or self.disconnected or self.response_complete or "message_event" in self.__dict__:
            return super().take_body()
        self._is_taken = True
        body, self.body = self.body, b""  # type: ignore[assignment]
        return body  # type: ignore[return-value]


# A request that arrives in one piece, with a head in the plainest form, is read here; every other one is read by the
# parser, which then sees the whole of it.

_POST = re.compile(rb"POST (/[A-Za-z0-9._~/-]*) HTTP/1\.1").fullmatch
_FIELD = re.compile(rb"([!#-'*+.^_`|~0-9A-Za-z-]+):[ \t]*([!-~](?:[ -~\t]*[!-~])?)[ \t]*").fullmatch
_LENGTH = re.compile(rb"[0-9]{1,9}").fullmatch
_FOR_THE_PARSER = frozenset({b"connection", b"expect", b"proxy-connection", b"transfer-encoding", b"upgrade"})
_KEEP_ALIVE = (b"connection", b"keep-alive")
_REPEATED = frozenset(
    {b"accept", b"connection", b"content-type", b"host", b"mcp-method", b"mcp-name", b"mcp-protocol-version"}
)
"""Fields that are the same in many requests and hold no secret."""
_MOST_REPEATED = 4096
_known_fields: dict[bytes, tuple[bytes, bytes]] = {}


def _read_head(head: bytes, body_length: int) -> tuple[bytes, Headers] | None:
    """The path and the headers of a POST; None if the parser must read it."""
    lines = head.split(b"\r\n")
    post = _POST(lines[0])
    if post is None:
        return None
    del lines[0]
    headers = [*map(_known_fields.get, lines)]
    length = None
    for index, known in enumerate(headers):
        if known is None:
            headers[index] = field = _read_field(lines[index])
            if field is None or (field[0] == b"content-length" and length is not None):
                return None
            if field[0] == b"content-length":
                length = field[1]
    if length is None or not _LENGTH(length) or int(length) != body_length:
        return None
    return post[1], cast("Headers", headers)


def _read_field(line: bytes) -> tuple[bytes, bytes] | None:
    found = _FIELD(line)
    if found is None:
        return None
    name, value = found[1].lower(), found[2]
    if name in _FOR_THE_PARSER and (name, value.lower()) != _KEEP_ALIVE:
        return None
    if name in _REPEATED and len(line) < 256:
        if len(_known_fields) >= _MOST_REPEATED:
            _known_fields.clear()
        _known_fields[line] = name, value
    return name, value


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with a limit on header size and time limits for headers and body."""

    _in_head = True
    _is_idle = True
    """Whether the parser waits for a message and expects another one after it."""
    _is_refused = False
    """Whether something that is not HTTP has arrived: what follows is not read."""
    _head_bytes = 0
    _timer: asyncio.TimerHandle | None = None
    _idle_timer: asyncio.TimerHandle | None = None
    _idle_since: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._scope_of_post = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": "1.1",
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,
            "root_path": self.root_path,
            "method": "POST",
            "query_string": b"",
        }
        """What is the same in the scopes of all its requests."""
        self._timer = self.loop.call_later(_HEAD_PATIENCE, self._on_timeout)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._idle_since = None
        if self._is_refused:
            return
        if self._is_idle and data.startswith(b"POST ") and self._take_whole(data):
            return
        if self._in_head:
            room = _HEAD_LIMIT + 4 - self._head_bytes
            self._head_bytes += len(data)
            if len(data) > room:  # A large piece is usually the end of a small head together with its body.
                super().data_received(data[:room])
                if self._is_refused:
                    return
                if self._in_head and self._head_bytes:
                    return self.send_400_response("Request headers too large")
                data = data[room:]
        super().data_received(data)
        if self._timer is None and (self._head_bytes or not self._in_head):
            patience = _HEAD_PATIENCE if self._in_head else _BODY_PATIENCE
            self._timer = self.loop.call_later(patience, self._on_timeout)

    def _take_whole(self, data: bytes) -> bool:
        """Start a request that has arrived in one piece; False if the parser must read it."""
        end = data.find(b"\r\n\r\n")
        if not 0 <= end <= _HEAD_LIMIT or (self.cycle is not None and not self.cycle.response_complete):
            return False
        read = _read_head(data[:end], len(data) - end - 4)
        if read is None:
            return False
        path, headers = read
        self._head_bytes = 0
        self._stop_timer()
        self.headers = headers
        scope: Any = {
            **self._scope_of_post,
            "headers": headers,
            "state": self.app_state.copy(),
            "path": self.root_path + path.decode("ascii"),
            "raw_path": self.root_path.encode("ascii") + path,
        }
        self.scope = scope
        self.cycle = WholeCycle(self, scope, data[end + 4 :])
        self._start_asgi_task(self.cycle, self.app)
        return True

    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers after a body are no headers: the proxy in front may not have checked them (RFC 9110, 6.5.1).
        # The parser keeps trailing blanks, which are not part of the value (RFC 9110, 5.5).
        if self._in_head:
            self.headers.append((name.lower(), value.rstrip(b" \t")))

    def on_message_begin(self) -> None:
        self._is_idle = False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_timer()
        if b"expect" in dict(self.headers):
            self.expect_100_continue = (b"expect", b"100-continue") in [(n, v.lower()) for n, v in self.headers]
        super().on_headers_complete()
        if self.cycle is not None:
            self.cycle.__class__ = JoinedCycle  # The framework has no setting for it; its task starts after this.

    def on_message_complete(self) -> None:
        self._in_head, self._head_bytes = True, 0
        self._is_idle = self.parser.should_keep_alive() and not self.parser.should_upgrade()
        self._stop_timer()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """As the framework's, with one timer for many idle times: a timer for each response costs too much."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            Context().run(self._start_asgi_task, *self.pipeline.pop())  # Without that request's context variables.
            return
        self._idle_since = self.loop.time()
        if self._idle_timer is None:
            self._idle_timer = self.loop.call_later(self.timeout_keep_alive, self._on_idle)

    def _on_idle(self) -> None:
        """Closes the connection if it was idle for long enough; the next response starts the timer of a busy one."""
        self._idle_timer = None
        if self._idle_since is None:
            return
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if left <= 0:
            self._on_timeout()
        else:
            self._idle_timer = self.loop.call_later(left, self._on_idle)

    def send_400_response(self, msg: str) -> None:
        self._stop_timer()
        self._is_refused = True
        if self.cycle is not None and not (self.cycle.more_body or self.cycle.response_complete):
            self.cycle.keep_alive = False  # The request that runs gets its own answer.
            return
        body = orjson.dumps({"status": 400, "title": msg})
        self.transport.write(
            b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\n"
            b"content-length: %d\r\n\r\n%b" % (len(body), body)
        )
        self.transport.close()

    def _on_timeout(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def make_server(app: App, *, keep_alive: int = 75, drain: int = 20, **extra: Any) -> uvicorn.Server:
    """A uvicorn server for `app`; run it with `serve(sockets=[...])`.

    When the server stops, requests have `drain` seconds to end. That is shorter than the half minute after which
    most supervisors kill a process, so calls in doubt are still recorded.
    """
    return uvicorn.Server(
        uvicorn.Config(
            app,
            interface="asgi3",
            http=BoundedProtocol,
            loop="none",
            ws="none",
            proxy_headers=False,
            server_header=False,
            date_header=False,
            access_log=False,
            log_config=None,
            timeout_keep_alive=keep_alive,
            timeout_graceful_shutdown=drain,
            backlog=2048,
            **extra,
        )
    )


def run_loop(work: Coroutine[Any, Any, None]) -> None:
    """Runs a coroutine on uvloop where it is installed, and otherwise on asyncio's own event loop."""
    try:
        from uvloop import new_event_loop
    except ImportError:  # There is no uvloop for Windows.
        asyncio.run(work)
        return
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(work)


def tune_gc() -> None:
    """Excludes everything loaded so far from garbage collection and collects the rest less often.

    A call leaves almost no reference cycles; with the default settings a fifth of its time went into the collector.
    Nothing is collected first: a start leaves a few hundred objects in cycles, and finding them takes a tenth of it.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def bind(host: str, port: int) -> socket.socket:
    """Opens a listening socket, so that the port is known and taken before anything starts."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Name the protocol: asyncio disables Nagle's delay only for sockets that are explicitly TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener
