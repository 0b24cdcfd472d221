"""One HTTP exchange with a client: the headers of its request, and the response.

The response is one JSON body, or an event stream if something is sent before the answer.
"""

import asyncio
from functools import lru_cache
from typing import Any

import orjson

from assent.core.principal import Principal
from assent.mcp.channel import CannotAsk
from assent.mcp.event_log import EventLog
from assent.mcp.jsonrpc import RpcError
from assent.mcp.protocol import HANDSHAKE_PROTOCOL_VERSIONS
from assent.mcp.requests import Era
from assent.mcp.session import McpSession
from assent.mcp.sse import render
from assent.web.asgi import Headers, Receive, Scope, Send
from assent.web.http import WATCH_AFTER as _SLOW_AFTER
from assent.web.http import DisconnectWatcher, respond

_PARAM_PREFIX = b"mcp-param-"
_ROUTING = frozenset({b"mcp-protocol-version", b"mcp-method", b"mcp-name"})


class HttpExchange:
    """One HTTP request and the way back, with the headers that the gateway uses.

    Repeated headers are joined by commas, so two hosts or two sessions match none; a repeated routing header is an
    error of its own.
    """

    __slots__ = ("caller", "duplicated", "era", "fields", "mirrors", "receive", "scope", "send", "version")

    caller: Principal
    """Set once the caller is authenticated."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope, self.receive, self.send = scope, receive, send
        headers: Headers = scope["headers"]
        self.fields = fields = dict(headers)
        """All headers by name."""
        self.mirrors: Headers = _NO_HEADERS
        """The `Mcp-Param-*` headers, which repeat arguments."""
        self.duplicated: str | None = None
        """A routing header that is sent twice."""
        if len(fields) != len(headers) or b" ".join(fields).find(_PARAM_PREFIX) >= 0:
            self.fields, self.mirrors, self.duplicated = _join_repeated(headers)
        self.era, self.version = _era_and_version(self.fields.get(b"mcp-protocol-version"))

    def text(self, name: bytes) -> str | None:
        """The value of a header as text."""
        value = self.fields.get(name)
        return None if value is None else value.decode("latin-1")

    @property
    def session_id(self) -> str | None:
        return self.text(b"mcp-session-id")

    @property
    def last_event(self) -> str | None:
        return self.text(b"last-event-id")

    def check_post(self) -> None:
        """Checks that a POST sends JSON and accepts both JSON and an event stream."""
        if not _is_json(self.fields.get(b"content-type", b"")):
            raise NotAcceptable(400, "Invalid Content-Type header: send application/json")
        if accepts(self.fields.get(b"accept", b"")) != (True, True):
            raise NotAcceptable(406, "Not Acceptable: accept both application/json and text/event-stream")


class NotAcceptable(Exception):
    """An HTTP-level error: a status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


_NO_HEADERS: Headers = []


@lru_cache(256)
def _era_and_version(value: bytes | None) -> tuple[Era, str | None]:
    version = None if value is None else value.decode("latin-1")
    return Era.HANDSHAKE if version is None or version in HANDSHAKE_PROTOCOL_VERSIONS else Era.MODERN, version


@lru_cache(256)
def _is_json(content_type: bytes) -> bool:
    return content_type.lower().startswith(b"application/json")


def _join_repeated(headers: Headers) -> tuple[dict[bytes, bytes], Headers, str | None]:
    """The fields by name, the headers that repeat arguments, and the routing header that is sent twice."""
    fields: dict[bytes, bytes] = {}
    mirrors: Headers = []
    duplicated: str | None = None
    for header in headers:
        name, value = header
        if name not in fields:
            fields[name] = value
        elif name in _ROUTING:
            duplicated = duplicated or name.decode()
        elif name == b"idempotency-key":
            fields[name] = b'"'  # An invalid value: two joined keys would look like a third key.
        else:
            fields[name] += b", " + value
        if name.startswith(_PARAM_PREFIX):
            mirrors.append(header)
    return fields, mirrors, duplicated


@lru_cache(256)
def accepts(accept: bytes) -> tuple[bool, bool]:
    """Whether `Accept` allows JSON, and whether it allows an event stream."""
    kinds = {part.split(b";")[0].strip().lower() for part in accept.split(b",")}
    anything = b"*/*" in kinds
    return (
        anything or not kinds.isdisjoint((b"application/json", b"application/*")),
        anything or not kinds.isdisjoint((b"text/event-stream", b"text/*")),
    )


# The response

_PING = b": ping\r\n\r\n"
_PING_AFTER = 15.0
STREAM: Headers = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_RESUMABLE_SINCE = "2025-11-25"


class SlowRequestTimer:
    """Notifies requests that have run for a while, with one coarse timer shared by all.

    Nearly every request ends before the timer fires, and one timer per request costs too much.
    """

    __slots__ = ("_before", "_every", "_now", "_ticking")

    def __init__(self, every: float = _SLOW_AFTER) -> None:
        self._every, self._ticking = every, False
        self._now: dict[ResponseWriter, None] = {}
        self._before: dict[ResponseWriter, None] = {}

    def enter(self, request: "ResponseWriter") -> None:
        self._now[request] = None
        if not self._ticking:
            self._ticking = True
            asyncio.get_running_loop().call_later(self._every, self._tick)

    def leave(self, request: "ResponseWriter") -> None:
        self._now.pop(request, None)
        self._before.pop(request, None)

    def _tick(self) -> None:
        """Notifies the requests that were already running at the previous tick."""
        slow, self._before, self._now = self._before, self._now, {}
        for request in slow:
            request.on_slow()
        self._ticking = bool(self._before or self._now)
        if self._ticking:
            asyncio.get_running_loop().call_later(self._every, self._tick)


class ResponseWriter:
    """Sends the response of one request.

    Nothing is sent before it must be: a quick answer is plain JSON with its status. The first notification or
    question, or fifteen silent seconds, turns the response into an event stream. Upstreams that send messages
    before their answer write to it as a `StreamListener`.
    """

    ask_within = 300.0
    _watch: DisconnectWatcher | None = None
    _released = _begun = _streaming = _ended = False
    _log: EventLog | None = None
    _lock: asyncio.Lock | None = None
    _pinging: asyncio.Task[None] | None = None
    _timer: asyncio.TimerHandle | None = None

    def __init__(self, exchange: HttpExchange, slow_timer: SlowRequestTimer, session: McpSession | None = None) -> None:
        self._receive, self._send = exchange.receive, exchange.send
        self._task = asyncio.current_task()
        self._session, self._slow_timer = session, slow_timer
        self._fields: Headers = [] if session is None else [(b"mcp-session-id", session.id.encode())]
        slow_timer.enter(self)

    @property
    def gone(self) -> bool:
        """Whether the client has disconnected, which cancelled the request."""
        return self._watch is not None and self._watch.gone

    def release(self) -> None:
        """Lets the request continue after the client has disconnected."""
        self._released = True
        if self._watch is not None:
            self._watch.release()

    def _watch_client(self) -> None:
        """Cancels the request from now on when its client disconnects. Most answers are ready before that."""
        if self._watch is None and not self._released and self._task is not None:
            self._watch = DisconnectWatcher(self._receive, self._task)
            self._watch.begin()

    async def open(self) -> None:
        """Starts the event stream now, because the answer will be one."""
        await self._event(b"")

    async def prime(self, retry: int | None) -> None:
        """Makes this stream resumable: disconnecting no longer cancels the request."""
        session = self._session
        if session is None or session.version != _RESUMABLE_SINCE or self._log is not None:
            return
        self.release()
        self._log = log = session.logs.open()
        log.retry = log.retry if retry is None else retry
        await self._event(b"data: \r\nretry: %d\r\n\r\n" % log.retry)

    async def pause(self) -> None:
        """Ends the response but not the request: the client resumes the stream later."""
        if self._log is not None and self._streaming and self._lock is not None:
            async with self._lock:
                self._streaming = False
                self._cancel_timers()
                await self._send({"type": "http.response.body", "body": b""})

    async def notify(self, message: dict[str, Any]) -> None:
        """Sends a JSON-RPC message before the answer."""
        await self._event(render(orjson.dumps(message)))

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Asks the client on the open stream and waits for its posted response (handshake era only)."""
        if self._session is None:
            raise CannotAsk(method)
        return await self._session.ask(method, params, self.notify, self.ask_within)

    async def answer(self, question: dict[str, Any]) -> dict[str, Any] | None:
        """Passes an upstream's question to the client and returns the answer under the upstream's id."""
        response: dict[str, Any] = {"jsonrpc": "2.0", "id": question["id"]}
        try:
            result = await self.ask(question["method"], question.get("params") or {})
        except CannotAsk:
            return None
        except RpcError as error:
            return {**response, "error": {"code": error.code, "message": error.message, "data": error.data}}
        return {**response, "result": result}

    async def finish(self, body: bytes, status: int = 200, fields: Headers | None = None) -> None:
        """Sends the answer and ends the stream, if one has started."""
        if self._lock is None:
            self.stop()
            return await respond(self._send, status, body, self._fields + fields if fields else self._fields)
        await self._event(render(body))
        self.stop()
        async with self._lock:
            if self._streaming:
                await self._send({"type": "http.response.body", "body": b""})

    def stop(self) -> None:
        """Stops pings and events."""
        if self._ended:
            return
        self._ended = True
        self._cancel_timers()
        if self._watch is not None:
            self._watch.stop()
        if self._log is not None:
            self._log.end()

    async def _event(self, event: bytes) -> None:
        self._lock = self._lock or asyncio.Lock()
        async with self._lock:
            if self._ended:
                return
            if self._log is not None and event and event is not _PING:
                event = self._log.add(event)
            if self._log is None or self._streaming or not self._begun:
                await self._write(event)

    async def _write(self, event: bytes) -> None:
        self._cancel_timers()
        self._watch_client()
        if not self._streaming:
            self._streaming = self._begun = True
            headers = STREAM + self._fields
            await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        if event:
            await self._send({"type": "http.response.body", "body": event, "more_body": True})
        if not self._ended:
            self._timer = asyncio.get_running_loop().call_later(_PING_AFTER, self._on_silence)

    def _cancel_timers(self) -> None:
        self._slow_timer.leave(self)
        if self._timer is not None:
            self._timer.cancel()

    def on_slow(self) -> None:
        """Starts to watch for a disconnect and to send pings, because the request takes a while."""
        self._watch_client()
        self._timer = asyncio.get_running_loop().call_later(_PING_AFTER, self._on_silence)

    def _on_silence(self) -> None:
        # A proxy may end a silent response, and that would cancel the call.
        self._pinging = asyncio.ensure_future(self._event(_PING))
