"""The MCP endpoint: tool calls and lists go through the pipeline, other methods to a non-tool handler."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import orjson

from assent.core.principal import Principal
from assent.gateway.auth.challenges import Challenge
from assent.gateway.auth.host_origin import KNOWN_NAMES, Cors, HostOriginPolicy
from assent.gateway.dispatch import NEVER_STOPPED, Dispatcher, error_response, take_for_session
from assent.gateway.fair_share import NoPlace, Places
from assent.gateway.http_exchange import STREAM, HttpExchange, NotAcceptable, ResponseWriter, SlowRequestTimer
from assent.gateway.sessions.reauthorize import end_when_unauthorized
from assent.gateway.sessions.table import SessionTable, TooManySessions
from assent.mcp.event_log import EventLogs
from assent.mcp.jsonrpc import RpcError, error_body, malformed_body, result_body
from assent.mcp.protocol import DEFAULT_NEGOTIATED_VERSION, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST
from assent.mcp.requests import HEADER as KEY
from assent.mcp.requests import (
    MODERN,
    Era,
    McpRequest,
    is_notification,
    is_request,
    is_response,
    read_message,
    read_modern,
)
from assent.mcp.session import McpSession
from assent.mcp.strict_json import DEFAULT_BOUNDS, JsonLimits, Malformed
from assent.mcp.tracing import TRACING
from assent.rules.guards.workload import MICROS, owner_of, run_apart
from assent.web.asgi import App, Headers, Receive, Scope, Send
from assent.web.http import (
    BodyTooLarge,
    Disconnected,
    DisconnectWatcher,
    read_body,
    respond,
    respond_error,
    whole_body,
)

logger = logging.getLogger(__name__)

AT_ONCE = 50_000
"""The bytes of a message that is parsed on the event loop; a longer one is parsed in a thread."""
REQUEST_CANCELLED = -32800
MOST_STREAMS_OF_ONE = 256
_NOTICE = "notifications/"
_KEY_HEADER = KEY.encode()
_OFFERED = frozenset(
    {
        *("tools/call", "tools/list", "initialize", "ping", "server/discover"),
        *("notifications/initialized", "notifications/cancelled"),
    }
)
_ONLY_TOOLS = "Callers without credentials are offered only the tools that are listed. Send a key or a token."


class NonToolHandler(Protocol):
    """Handles every method that is not governed."""

    @property
    def most_streams(self) -> int:
        """How many long-lived streams all callers together may have."""

    async def begin(self, exchange: HttpExchange, message: dict[str, Any]) -> None:
        """Opens a session for a handshake-era `initialize`."""

    async def forward(self, exchange: HttpExchange, message: Any, session: McpSession | None) -> None:
        """Handles any other message, or opens a stream (GET without a message)."""

    async def end(self, exchange: HttpExchange, session: McpSession) -> None:
        """Ends a session at the client's request."""


Authenticate = Callable[[Headers, Scope], Awaitable[Principal]]


def _is_offered(message: Any) -> bool:
    """Whether a message of a caller without credentials is about the tools that it is offered."""
    return isinstance(message, dict) and message.get("method") in _OFFERED


def _recognize_nobody(_fields: Mapping[bytes, bytes]) -> Principal | None:
    return None


@dataclass(slots=True)
class McpEndpoint:
    """The MCP endpoint: `dispatcher` answers what the gateway serves, `non_tool_handler` takes the rest."""

    authenticate: Authenticate
    dispatcher: Dispatcher
    non_tool_handler: NonToolHandler
    sessions: SessionTable
    other: App
    host_policy: HostOriginPolicy
    bounds: JsonLimits = DEFAULT_BOUNDS
    path: str = "/mcp"
    cors: Cors = field(default_factory=Cors)
    recognize: Callable[[Mapping[bytes, bytes]], Principal | None] = _recognize_nobody
    """The callers that are known without any waiting; the others are authenticated."""
    reauthenticate: Authenticate | None = None
    """How the caller of an open stream is authenticated again; by default as at its start."""
    streams: Places = field(default_factory=lambda: Places(MOST_STREAMS_OF_ONE))
    """The open long-lived streams, by caller."""
    _slow_timer: SlowRequestTimer = field(default_factory=SlowRequestTimer, init=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].rstrip("/") != self.path:
            return await self.other(scope, receive, send)
        exchange = HttpExchange(scope, receive, send)
        fields = exchange.fields
        origin = fields.get(b"origin")
        if (refusal := self.host_policy.refuse(fields.get(b"host"), origin)) is not None:
            return await respond_error(send, *refusal, detail=KNOWN_NAMES)
        if origin is not None and self.cors.allows(origin):
            if scope["method"] == "OPTIONS":
                return await self.cors.answer_preflight(scope["headers"], send)
            send = exchange.send = self.cors.allow_origin(origin, send)
        try:
            exchange.caller = self.recognize(fields) or await self.authenticate(scope["headers"], scope)
            await (self._post(exchange) if scope["method"] == "POST" else self._dispatch(exchange))
        except Challenge as challenge:
            await respond(send, challenge.status, orjson.dumps(challenge.problem), challenge.fields)
        except NotAcceptable as error:
            await respond_error(send, error.status, error.sentence)
        except BodyTooLarge:
            await respond_error(send, 413, "Request body too large", [(b"connection", b"close")])
        except Malformed as error:
            await respond(send, 400, malformed_body(error))
        except Disconnected:
            pass
        except Exception:
            logger.exception("a request failed with an unexpected error")
            await respond_error(send, 500, "Internal Server Error")

    async def _dispatch(self, exchange: HttpExchange) -> None:
        """Handles a request that posts nothing."""
        method = exchange.scope["method"]
        if exchange.era is MODERN:
            await respond_error(exchange.send, 405, "Method Not Allowed", [(b"allow", b"POST")])
        elif method == "DELETE" or (method == "GET" and exchange.caller.only is None):
            await self._stream_or_end(exchange)
        else:
            allow = [(b"allow", b"GET, POST, DELETE")]
            await respond_error(exchange.send, 405, "Method Not Allowed", allow)

    def _post(self, exchange: HttpExchange) -> Coroutine[Any, Any, None]:
        """Reads and answers a posted message; without waiting if it is here and short."""
        exchange.check_post()
        raw = whole_body(exchange.receive, self.bounds.size)
        if raw is None or len(raw) > AT_ONCE:
            return self._read_and_answer(exchange, raw)
        return self._answer(exchange, read_message(raw, self.bounds))

    async def _read_and_answer(self, exchange: HttpExchange, raw: bytes | None) -> None:
        if raw is None:
            raw = await read_body(exchange.scope["headers"], exchange.receive, self.bounds.size)
        read = partial(read_message, raw, self.bounds)
        apart = len(raw) > AT_ONCE
        message = await run_apart(read, len(raw) * MICROS, owner_of(exchange.caller)) if apart else read()
        await self._answer(exchange, message)

    def _answer(self, exchange: HttpExchange, message: Any) -> Coroutine[Any, Any, None]:
        if exchange.caller.only is not None and not _is_offered(message):
            return _refuse(exchange.send, 401, INVALID_REQUEST, _ONLY_TOOLS)
        method = message.get("method") if message.__class__ is dict else None
        if method.__class__ is not str or method not in NEVER_STOPPED:
            return self._answer_unless_stopped(exchange, message)
        return self._modern(exchange, message) if exchange.era is MODERN else self._handshake(exchange, message)

    async def _answer_unless_stopped(self, exchange: HttpExchange, message: Any) -> None:
        if (stopped := await self.dispatcher.stop(message, exchange.caller)) is not None:
            await respond(exchange.send, 200, stopped.body)
        elif exchange.era is MODERN:
            await self._modern(exchange, message)
        else:
            await self._handshake(exchange, message)

    def _modern(self, exchange: HttpExchange, message: Any) -> Coroutine[Any, Any, None]:
        try:
            declared = read_modern(
                message, exchange.version, exchange.text(b"mcp-method"), exchange.text(b"mcp-name"), exchange.duplicated
            )
        except RpcError as error:
            response = error_response(error, message["id"] if is_request(message) else None, Era.MODERN)
            return respond(exchange.send, response.status, response.body)
        if declared is None:
            return respond(exchange.send, 202, b"")
        if self.dispatcher.serves(message["method"], MODERN, None):
            answer = self._serve(exchange, message, *declared, None)
        else:
            answer = self._forward(exchange, message, None)
        return self._stream(exchange, answer) if message["method"] == "subscriptions/listen" else answer

    async def _handshake(self, exchange: HttpExchange, message: Any) -> None:
        session: McpSession | None = None
        if exchange.session_id is not None:
            session = self.sessions.find(exchange.session_id, exchange.caller)
            if session is None:
                return await _refuse(exchange.send, 404, INVALID_REQUEST, "Session not found")
        if is_request(message):
            await self._handshake_request(exchange, message, session)
        elif take_for_session(message, session):
            await respond(exchange.send, 202, b"")
        elif is_notification(message) or is_response(message):
            await self._handshake_notification(exchange, message, session)
        else:
            await _refuse(exchange.send, 400, INVALID_PARAMS, "Validation error: not a JSON-RPC message")

    async def _handshake_request(
        self, exchange: HttpExchange, message: dict[str, Any], session: McpSession | None
    ) -> None:
        if self.dispatcher.serves(message["method"], Era.HANDSHAKE, session):
            version = (session.version if session is not None else None) or exchange.version
            capabilities = session.capabilities if session is not None else None
            await self._serve(exchange, message, version or DEFAULT_NEGOTIATED_VERSION, capabilities, session)
        elif message["method"] == "ping":
            await respond(exchange.send, 200, result_body(message["id"], b"{}"))
        elif message["method"] == "initialize" and session is None:
            await self._begin(exchange, message)
        else:
            await self._pass(exchange, message, session)

    async def _begin(self, exchange: HttpExchange, message: dict[str, Any]) -> None:
        try:
            self.sessions.check_room(exchange.caller)
            await self.non_tool_handler.begin(exchange, message)
        except TooManySessions:
            await _refuse(exchange.send, 503, INTERNAL_ERROR, "Too many open sessions")

    async def _handshake_notification(
        self, exchange: HttpExchange, message: dict[str, Any], session: McpSession | None
    ) -> None:
        """Handles a notification, or a response to an upstream's question."""
        if not message.get("method", _NOTICE).startswith(_NOTICE):
            return await _drop(exchange, session)
        await self._pass(exchange, message, session)

    async def _forward(self, exchange: HttpExchange, message: Any, session: McpSession | None) -> None:
        """Passes a message on to the upstream."""
        forward = self.non_tool_handler.forward(exchange, message, session)
        if not TRACING.is_on or not is_request(message):
            return await forward
        meta = params.get("_meta") if isinstance(params := message.get("params"), dict) else None
        with TRACING.request(message["method"], meta, exchange.scope["headers"], message["id"]):
            await forward

    async def _pass(self, exchange: HttpExchange, message: Any, session: McpSession | None) -> None:
        if session is None:
            return await self._forward(exchange, message, None)
        with self.sessions.using(session):
            await self._forward(exchange, message, session)

    async def _stream_or_end(self, exchange: HttpExchange) -> None:
        if exchange.session_id is None:
            return await _refuse(exchange.send, 400, INVALID_REQUEST, "Bad Request: Missing session ID")
        session = self.sessions.find(exchange.session_id, exchange.caller)
        if session is None:
            return await _refuse(exchange.send, 404, INVALID_REQUEST, "Session not found")
        if exchange.scope["method"] == "DELETE":
            await self.non_tool_handler.end(exchange, session)
        elif exchange.last_event is not None and EventLogs.owns(exchange.last_event):
            with self.sessions.using(session):
                await self._stream(exchange, _resume(exchange, session, exchange.last_event))
        else:
            await self._stream(exchange, self._pass(exchange, None, session))

    async def _stream(self, exchange: HttpExchange, stream: Coroutine[Any, Any, None]) -> None:
        """Runs a long-lived stream for as long as its caller is authorized and has a place."""

        async def is_authorized() -> bool:
            try:
                authenticate = self.reauthenticate or self.authenticate
                caller = await authenticate(exchange.scope["headers"], exchange.scope)
            except Challenge as challenge:
                return challenge.status not in (401, 403)  # With any other status the check itself failed.
            return self.sessions.is_same(caller, exchange.caller)

        try:
            with self.streams.hold_place(
                self.sessions.owner_of(exchange.caller), self.non_tool_handler.most_streams
            ) as place:
                await end_when_unauthorized(stream, is_authorized, exchange.send, place.given_up)
        except NoPlace:
            stream.close()
            message = "Too many open streams: close one, or wait until others are closed"
            await _refuse(exchange.send, 429, INTERNAL_ERROR, message)

    async def _serve(
        self,
        exchange: HttpExchange,
        message: dict[str, Any],
        version: str,
        capabilities: dict[str, Any] | None,
        session: McpSession | None,
    ) -> None:
        """Serves one request here; it is cancelled when the client disconnects."""
        reply = ResponseWriter(exchange, self._slow_timer, session)
        request = McpRequest(
            exchange.era, version, message["id"], message["method"], message.get("params") or {}, capabilities,
            exchange.caller, session, reply, exchange.scope["headers"], exchange.text(_KEY_HEADER), exchange.mirrors,
            reply if session is None else None,
        )  # fmt: skip
        try:
            if session is None:
                response = await self.dispatcher.answer(request)
            else:
                with self.sessions.using(session), session.running(request.id):
                    response = await self.dispatcher.answer(request)
            await reply.finish(*response)
        except asyncio.CancelledError:
            if session is None or not session.was_cancelled(request.id):
                if not reply.gone:
                    raise
                return
            await reply.finish(error_body(request.id, REQUEST_CANCELLED, "Request cancelled"))
        finally:
            reply.stop()


async def _refuse(send: Send, status: int, code: int, message: str) -> None:
    await respond(send, status, error_body(None, code, message))


async def _drop(exchange: HttpExchange, session: McpSession | None) -> None:
    """Drops a request without an id: it needs no answer, and an upstream could run it ungoverned."""
    if session is None:
        return await _refuse(exchange.send, 400, INVALID_REQUEST, "Bad Request: Missing session ID")
    await respond(exchange.send, 202, b"")


async def _resume(exchange: HttpExchange, session: McpSession, last_event: str) -> None:
    """Sends the rest of a stream that the client lost or left."""
    found = session.logs.find(last_event)
    if found is None:
        return await _refuse(exchange.send, 404, INVALID_REQUEST, "Nothing to resume: the stream is gone")
    log, last = found
    headers = [*STREAM, (b"mcp-session-id", session.id.encode())]
    watch = DisconnectWatcher(exchange.receive)
    try:
        await exchange.send({"type": "http.response.start", "status": 200, "headers": headers})
        primer = b"id: %b\r\ndata: \r\nretry: %d\r\n\r\n" % (last_event.encode("latin-1"), log.retry)
        await exchange.send({"type": "http.response.body", "body": primer, "more_body": True})
        async for event in log.after(last):
            await exchange.send({"type": "http.response.body", "body": event, "more_body": True})
        await exchange.send({"type": "http.response.body", "body": b""})
    except asyncio.CancelledError:
        if not watch.gone:
            raise
    finally:
        watch.stop()
