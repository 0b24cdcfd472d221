"""The MCP endpoint: tool calls and lists go through the pipeline, other methods to a non-tool handler."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from assent.core.call import Presence
from assent.core.principal import Principal
from assent.gateway.auth.challenges import Challenge
from assent.gateway.auth.host_origin import KNOWN_NAMES, HostOriginPolicy
from assent.gateway.cors import Cors
from assent.gateway.fair_share import NoPlace, Places
from assent.gateway.passthrough.relay import UPSTREAM_FAULT, fault_problem
from assent.gateway.requests import (
    NOTICE,
    NotAcceptable,
    RequestHeaders,
    check_params,
    check_post,
    http_status,
    is_notification,
    is_request,
    is_response,
    read_handshake,
    read_head,
    read_modern,
)
from assent.gateway.responses import STREAM, ResponseWriter
from assent.gateway.sessions.reauthorize import end_when_unauthorized
from assent.gateway.sessions.table import SessionTable, TooManySessions
from assent.mcp import strict_json
from assent.mcp.envelope import rebuild
from assent.mcp.event_log import EventLogs
from assent.mcp.jsonrpc import RpcError, error_body, malformed_body, result_body
from assent.mcp.protocol import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST
from assent.mcp.requests import Era, McpRequest, ParsedRequest
from assent.mcp.session import McpSession
from assent.mcp.strict_json import JsonLimits, Malformed
from assent.upstreams.errors import UpstreamError
from assent.upstreams.http.transport import SessionLost
from assent.upstreams.tasks import strip_request
from assent.web.asgi import App, Headers, Receive, Scope, Send
from assent.web.http import (
    BodyTooLarge,
    Disconnected,
    DisconnectWatcher,
    SlowRequestTimer,
    read_body,
    respond,
    respond_error,
)

logger = logging.getLogger(__name__)

REQUEST_CANCELLED = -32800
MOST_STREAMS_OF_ONE = 256
_SERVED = frozenset({"tools/call", "tools/list"})
_NEVER_STOPPED = _SERVED | {"initialize", "ping", "server/discover", "subscriptions/listen", "logging/setLevel"}
"""Calls meet the stop switches in the pipeline; the rest of these reads and changes nothing."""
_OFFERED = _SERVED | {"initialize", "ping", "server/discover", "notifications/initialized", "notifications/cancelled"}
_ONLY_TOOLS = "Callers without credentials are offered only the tools that are listed. Send a key or a token."


@dataclass(slots=True)
class HttpExchange:
    """One HTTP request that is passed on."""

    scope: Scope
    receive: Receive
    send: Send
    caller: Principal
    head: RequestHeaders


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
Serve = Callable[[McpRequest], Awaitable[bytes]]


def _is_offered(message: Any) -> bool:
    """Whether a message of a caller without credentials is about the tools that it is offered."""
    return isinstance(message, dict) and message.get("method") in _OFFERED


async def _nothing_stopped(_caller: Principal) -> str | None:
    return None


@dataclass(slots=True)
class McpEndpoint:
    """The MCP endpoint: `call` and `listing` return a JSON result, `non_tool_handler` takes the rest.

    `call` and `listing` raise `RpcError`, `Challenge` or `UpstreamError`; any other exception is a defect and is
    answered as an internal error without details.
    """

    authenticate: Authenticate
    listing: Serve
    call: Serve
    non_tool_handler: NonToolHandler
    sessions: SessionTable
    other: App
    host_policy: HostOriginPolicy
    bounds: JsonLimits = strict_json.DEFAULT_BOUNDS
    path: str = "/mcp"
    cors: Cors = field(default_factory=Cors)
    more: Mapping[str, Serve] = field(default_factory=dict)
    """Other methods that are served here; handshake-era clients need a session for them."""
    stopped: Callable[[Principal], Awaitable[str | None]] = _nothing_stopped
    """Why requests of a caller that are not governed are stopped, or None."""
    reauthenticate: Authenticate | None = None
    """How the caller of an open stream is authenticated again; by default as at its start."""
    streams: Places = field(default_factory=lambda: Places(MOST_STREAMS_OF_ONE))
    """The open long-lived streams, by caller."""
    _slow_timer: SlowRequestTimer = field(default_factory=SlowRequestTimer, init=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].rstrip("/") != self.path:
            return await self.other(scope, receive, send)
        headers: Headers = scope["headers"]
        head = read_head(headers)
        if (refusal := self.host_policy.refuse(head.host, head.origin)) is not None:
            return await respond_error(send, *refusal, detail=KNOWN_NAMES)
        if head.origin is not None and self.cors.allows(head.origin):
            if scope["method"] == "OPTIONS":
                return await self.cors.answer_preflight(headers, send)
            send = self.cors.allow_origin(head.origin, send)
        try:
            exchange = HttpExchange(scope, receive, send, await self.authenticate(headers, scope), head)
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
        if exchange.head.era is Era.MODERN:
            await respond_error(exchange.send, 405, "Method Not Allowed", [(b"allow", b"POST")])
        elif method == "DELETE" or (method == "GET" and exchange.caller.only is None):
            await self._stream_or_end(exchange)
        else:
            allow = [(b"allow", b"GET, POST, DELETE")]
            await respond_error(exchange.send, 405, "Method Not Allowed", allow)

    async def _post(self, exchange: HttpExchange) -> None:
        check_post(exchange.head)
        raw = await read_body(exchange.scope["headers"], exchange.receive, self.bounds.size)
        message = rebuild(strict_json.parse(raw, self.bounds))
        strip_request(message)
        if exchange.caller.only is not None and not _is_offered(message):
            return await _refuse(exchange.send, 401, INVALID_REQUEST, _ONLY_TOOLS)
        if is_request(message) and message["method"] not in _NEVER_STOPPED:
            why = await self.stopped(exchange.caller)
            if why is not None:
                body = error_body(message["id"], INVALID_REQUEST, why, {"code": "authorize.stopped"})
                return await respond(exchange.send, 200, body)
        if exchange.head.era is Era.MODERN:
            await self._modern(exchange, message)
        else:
            await self._handshake(exchange, message)

    async def _modern(self, exchange: HttpExchange, message: Any) -> None:
        try:
            parsed_request = read_modern(message, exchange.head)
        except RpcError as error:
            request_id = message["id"] if is_request(message) else None
            body = error_body(request_id, error.code, error.message, error.data)
            return await respond(exchange.send, http_status(Era.MODERN, error.code), body)
        if parsed_request is None:
            await respond(exchange.send, 202, b"")
        elif parsed_request.method == "subscriptions/listen":
            if parsed_request.method in self.more:
                await self._stream(exchange, self._serve(exchange, parsed_request, None))
            else:
                await self._stream(exchange, self.non_tool_handler.forward(exchange, message, None))
        elif parsed_request.method in _SERVED or parsed_request.method in self.more:
            await self._serve(exchange, parsed_request, None)
        else:
            await self.non_tool_handler.forward(exchange, message, None)

    async def _handshake(self, exchange: HttpExchange, message: Any) -> None:
        session: McpSession | None = None
        if exchange.head.session is not None:
            session = self.sessions.find(exchange.head.session, exchange.caller)
            if session is None:
                return await _refuse(exchange.send, 404, INVALID_REQUEST, "Session not found")
        if is_request(message):
            await self._handshake_request(exchange, message, session)
        elif session is not None and is_response(message) and session.settle(message):
            await respond(exchange.send, 202, b"")
        elif is_notification(message) or is_response(message):
            await self._handshake_notification(exchange, message, session)
        else:
            await _refuse(exchange.send, 400, INVALID_PARAMS, "Validation error: not a JSON-RPC message")

    async def _handshake_request(
        self, exchange: HttpExchange, message: dict[str, Any], session: McpSession | None
    ) -> None:
        if message["method"] in _SERVED or (session is not None and message["method"] in self.more):
            version = (session.version if session is not None else None) or exchange.head.version
            capabilities = session.capabilities if session is not None else None
            await self._serve(exchange, read_handshake(message, version, capabilities), session)
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
        if session is not None and message.get("method") == "notifications/cancelled":
            params = message.get("params") or {}
            if session.cancel(params.get("requestId")):
                return await respond(exchange.send, 202, b"")
        if not message.get("method", NOTICE).startswith(NOTICE):
            return await _drop(exchange, session)
        await self._pass(exchange, message, session)

    async def _pass(self, exchange: HttpExchange, message: Any, session: McpSession | None) -> None:
        if session is None:
            return await self.non_tool_handler.forward(exchange, message, None)
        with self.sessions.using(session):
            await self.non_tool_handler.forward(exchange, message, session)

    async def _stream_or_end(self, exchange: HttpExchange) -> None:
        if exchange.head.session is None:
            return await _refuse(exchange.send, 400, INVALID_REQUEST, "Bad Request: Missing session ID")
        session = self.sessions.find(exchange.head.session, exchange.caller)
        if session is None:
            return await _refuse(exchange.send, 404, INVALID_REQUEST, "Session not found")
        if exchange.scope["method"] == "DELETE":
            await self.non_tool_handler.end(exchange, session)
        elif exchange.head.last_event is not None and EventLogs.owns(exchange.head.last_event):
            with self.sessions.using(session):
                await self._stream(exchange, _resume(exchange, session, exchange.head.last_event))
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
            with self.streams.taken(
                self.sessions.owner_of(exchange.caller), self.non_tool_handler.most_streams
            ) as place:
                await end_when_unauthorized(stream, is_authorized, exchange.send, place.given_up)
        except NoPlace:
            stream.close()
            message = "Too many open streams: close one, or wait until others are closed"
            await _refuse(exchange.send, 429, INTERNAL_ERROR, message)

    async def _serve(self, exchange: HttpExchange, parsed_request: ParsedRequest, session: McpSession | None) -> None:
        """Serves one governed request; it is cancelled when the client disconnects."""
        watch = DisconnectWatcher(exchange.receive, after=None)
        reply = ResponseWriter(exchange.send, watch, self._slow_timer, session)
        try:
            if session is not None:
                with self.sessions.using(session), session.running(parsed_request.id):
                    await self._answer(exchange, parsed_request, session, reply, None)
            else:
                await self._answer(exchange, parsed_request, None, reply, watch)
        except asyncio.CancelledError:
            if session is None or not session.was_cancelled(parsed_request.id):
                if not watch.gone:
                    raise
                return
            await reply.finish(error_body(parsed_request.id, REQUEST_CANCELLED, "Request cancelled"))
        finally:
            watch.stop()
            reply.stop()

    async def _answer(
        self,
        exchange: HttpExchange,
        parsed_request: ParsedRequest,
        session: McpSession | None,
        reply: ResponseWriter,
        presence: Presence | None,
    ) -> None:
        try:
            check_params(parsed_request)
            mcp_request = McpRequest(
                parsed_request, exchange.caller, exchange.scope["headers"], session, reply, exchange.head.key,
                exchange.head.mirrors, presence,
            )  # fmt: skip
            method = parsed_request.method
            serve = self.call if method == "tools/call" else self.more.get(method, self.listing)
            body, status = result_body(parsed_request.id, await serve(mcp_request)), 200
        except Challenge as challenge:
            return await reply.finish(orjson.dumps(challenge.problem), challenge.status, challenge.fields)
        except RpcError as error:
            body = error_body(parsed_request.id, error.code, error.message, error.data)
            status = http_status(parsed_request.era, error.code)
        except SessionLost:
            body, status = error_body(None, INVALID_REQUEST, "Session not found"), 404
        except UpstreamError as fault:
            body = error_body(parsed_request.id, UPSTREAM_FAULT, str(fault), fault_problem(fault))
            status = fault.status
        except Exception:
            logger.exception("a request failed with an unexpected error")
            body, status = error_body(parsed_request.id, INTERNAL_ERROR, "Internal server error"), 200
        await reply.finish(body, status)


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
