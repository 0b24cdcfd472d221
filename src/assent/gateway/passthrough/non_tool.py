"""Handlers of non-tool methods: a relay to one upstream, and sessions of the gateway for several."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import orjson

from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.core.tool_mentions import Mentions
from assent.gateway.dispatch import error_response
from assent.gateway.exchange import HttpExchange, accepts
from assent.gateway.hidden_text import HiddenText
from assent.gateway.passthrough.descriptions import CLEANED, LISTED, RewrittenResponse, no_mentions
from assent.gateway.passthrough.relay import OnAnswer, Relay, fault_body
from assent.gateway.sessions.notifications import Notifications
from assent.gateway.sessions.table import SessionTable, SessionTaken, TooManySessions
from assent.mcp.channel import SUBSCRIPTION_ID
from assent.mcp.event_log import SeenEventIds
from assent.mcp.jsonrpc import RpcError, error_body, is_relayed, is_task_method, result_body, strip_response
from assent.mcp.protocol import HANDSHAKE_PROTOCOL_VERSIONS, INVALID_REQUEST, LATEST_HANDSHAKE_VERSION, METHOD_NOT_FOUND
from assent.mcp.requests import Era, check_params, is_request
from assent.mcp.server_identity import ServerIdentity
from assent.mcp.session import McpSession
from assent.mcp.sse import render
from assent.pipeline.other_requests import OtherRequests, rpc_error
from assent.upstreams.errors import ProtocolViolation, Unreachable
from assent.upstreams.http.connection import UpstreamResponse
from assent.web.asgi import Headers, Message, Scope, Send
from assent.web.http import DisconnectWatcher, respond, respond_error

_PING_AFTER = 15.0
MOST_OBSERVED = 1_048_576
"""How much of a resource or a prompt flow control looks at; a longer one makes unknown addresses suspicious."""
# Headers of one era are not checked in the other, so they are not passed on there.
_NOT_OF = {
    Era.MODERN: (b"mcp-session-id", b"last-event-id"),
    Era.HANDSHAKE: (b"mcp-method", b"mcp-name"),
}


@dataclass(slots=True)
class SingleUpstreamRelay:
    """Relays to one upstream: its sessions become the client's sessions, and the gateway remembers their owners."""

    relay: Relay
    sessions: SessionTable
    notifications: Notifications | None = None
    test: Relay | None = None
    """The relay for test principals; without one their requests are refused."""
    absent: Callable[[Principal], Mentions] = no_mentions
    others: OtherRequests | None = None
    """The policies on resources, prompts and completion."""
    upstream: str = ""
    hidden_text: HiddenText = field(default_factory=HiddenText)

    @property
    def most_streams(self) -> int:
        """Each stream needs a connection to the upstream; a tenth is reserved for the gateway's own."""
        return self.relay.streams.limits.connections * 9 // 10

    async def begin(self, exchange: HttpExchange, message: dict[str, Any]) -> None:
        seen_events = SeenEventIds()

        def adopt(response: UpstreamResponse) -> None:
            session_id = response.header(b"mcp-session-id")
            if response.status < 400 and session_id is not None:
                session = self._adopt(exchange.caller, session_id.decode("latin-1"))
                session.seen_events = seen_events
                remember_client(session, message.get("params") or {})

        await self._relay(exchange, seen_events.listening(exchange.send), message, adopt)

    def _adopt(self, caller: Principal, session_id: str) -> McpSession:
        try:
            return self.sessions.open(caller, session_id)
        except (SessionTaken, TooManySessions):
            raise ProtocolViolation(self.relay.calls.name, "opened a session we cannot take over", sent=True) from None

    async def forward(self, exchange: HttpExchange, message: Any, session: McpSession | None) -> None:
        if message is not None and not is_relayed(message):
            if message.get("id") is None:
                return await respond(exchange.send, 202, b"")
            return await _not_found(exchange, message, None)  # Not exactly one of the protocol's methods.
        method = message.get("method") if isinstance(message, dict) else None
        if is_task_method(method):
            return await _not_found(exchange, message, session)
        if self.others is not None and is_request(message):
            try:
                self._apply_policies(self.others, exchange, message)
            except Refusal as refusal:
                error = rpc_error(refusal)
                return await respond(
                    exchange.send, 200, error_body(message["id"], error.code, error.message, error.data)
                )
        seen_events = session.seen_events if session is not None else SeenEventIds()
        if exchange.last_event is not None and exchange.last_event not in seen_events:
            exchange.scope = _without(exchange.scope, b"last-event-id")
        if self.notifications is not None and message is None and session is not None:
            async with injecting(exchange.send, session.next_message) as send:
                await self._relay(exchange, seen_events.listening(send), message)
        elif self.notifications is not None and method == "subscriptions/listen":
            await self._listen(exchange, message, self.notifications)
        else:
            await self._relay(exchange, seen_events.listening(exchange.send), message)

    def _apply_policies(self, others: OtherRequests, exchange: HttpExchange, message: dict[str, Any]) -> None:
        """Refuse what policies deny, and leave denied resources out of a subscription."""
        principal, params = exchange.caller, message.get("params")
        others.check(principal, message["method"], params, self.upstream)
        if message["method"] == "subscriptions/listen" and isinstance(params, dict):
            requested = params.get("notifications")
            if isinstance(requested, dict) and "resourceSubscriptions" in requested:
                uris = requested["resourceSubscriptions"]
                requested["resourceSubscriptions"] = others.allowed_subscriptions(principal, uris, self.upstream)

    async def _listen(self, exchange: HttpExchange, message: dict[str, Any], notifications: Notifications) -> None:
        """Relays the upstream's notifications and inserts changes of the gateway's tool list, if requested."""
        requested, meta = message["params"].get("notifications"), {SUBSCRIPTION_ID: message.get("id")}
        wanted = {"toolsListChanged": isinstance(requested, dict) and requested.get("toolsListChanged") is True}
        with notifications.listening(wanted) as listener:

            async def next_message() -> bytes:
                notice = await listener.next()
                return b"" if notice is None else orjson.dumps({**notice, "params": {"_meta": meta}})

            async with injecting(exchange.send, next_message, after_first=True) as send:
                await self._relay(exchange, send, message)

    def _rewritten(self, exchange: HttpExchange, send: Send, method: str) -> Send:
        """Takes from an answer tasks, hidden characters, the mentions of absent tools, and the entries that policies
        deny.
        """
        absent, others, upstream = self.absent(exchange.caller), self.others, self.upstream
        filters = others is not None and others.applies()

        def rewrite(message: Any) -> Any:
            if isinstance(message, list):
                return [rewrite(one) for one in message]
            strip_response(message)
            described = method in LISTED or (isinstance(message, dict) and "error" in message)
            seen = self.hidden_text.clean_message(upstream, message) if described else message
            cleaned = absent.clean(seen)
            if not filters or others is None or not isinstance(cleaned, dict) or "result" not in cleaned:
                return cleaned
            return {**cleaned, "result": others.filtered(exchange.caller, cleaned["result"], upstream)}

        return RewrittenResponse(send, rewrite, self.relay.calls.name)

    async def end(self, exchange: HttpExchange, session: McpSession) -> None:
        def forget(response: UpstreamResponse) -> None:
            if response.status < 300 or response.status == 404:
                self.sessions.close(session)

        await self._relay(exchange, exchange.send, None, forget)

    async def _relay(self, exchange: HttpExchange, send: Send, message: Any, on_answer: OnAnswer | None = None) -> None:
        if isinstance(message, dict) and (method := message.get("method")) is not None:
            if method in CLEANED:
                send = self._rewritten(exchange, send, method)
            if self.others is not None and self.others.remembers(method):
                send = _observed(send, partial(self.others.remember, exchange.caller, method, message.get("params")))
        relay = self.test if exchange.caller.mode == "test" else self.relay
        if relay is None:
            fault = Unreachable(self.relay.calls.name, "has no test endpoint", sent=False)
            return await respond(exchange.send, fault.status, fault_body(message, fault))
        await relay.forward(
            _without(exchange.scope, *_NOT_OF[exchange.era]), exchange.receive, send, message, on_answer
        )


def _observed(send: Send, remember: Callable[[Any], Awaitable[None]]) -> Send:
    """Passes a response on as it is, and has its result remembered before its last part is sent."""
    held = bytearray()

    async def observe(message: Message) -> None:
        held.extend(message.get("body", b"")[: MOST_OBSERVED - len(held)])
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            await remember(_result_in(bytes(held)))
        await send(message)

    return observe


def _result_in(body: bytes) -> dict[str, Any]:
    """The result in a JSON document or in a stream of events. What cannot be read counts as a text."""
    for part in (body, *(line[5:] for line in body.splitlines() if line.startswith(b"data:"))):
        try:
            read = orjson.loads(part)
        except orjson.JSONDecodeError:
            continue
        if isinstance(read, dict) and isinstance(read.get("result"), dict):
            return cast("dict[str, Any]", read["result"])
    text = body.decode(errors="replace")
    return {"contents": [{"text": text}], "messages": [{"content": {"type": "text", "text": text}}]}


def _without(scope: Scope, *starts: bytes) -> Scope:
    """The request without the headers whose names have one of these prefixes."""
    kept = [(name, value) for name, value in scope["headers"] if not name.startswith(starts)]
    return {**scope, "headers": kept}


@dataclass(slots=True)
class MergedSession:
    """Sessions and answers of the gateway itself, for several upstreams."""

    identity: Callable[[], ServerIdentity]
    sessions: SessionTable
    ping_after: float = field(default=_PING_AFTER)
    most_streams: int = 10_000
    absent: Callable[[Principal], Mentions] = no_mentions

    async def begin(self, exchange: HttpExchange, message: dict[str, Any]) -> None:
        params = message.get("params") or {}
        version = negotiate(params)
        try:
            check_params(Era.HANDSHAKE, version, "initialize", params)
        except RpcError as error:
            body = error_body(message["id"], error.code, error.message, error.data)
            return await respond(exchange.send, 200, body)
        session = self.sessions.open(exchange.caller)
        remember_client(session, params)
        body = result_body(message["id"], self._identity_for(exchange).initialize_result(version))
        await respond(exchange.send, 200, body, [_session_header(session)])

    async def forward(self, exchange: HttpExchange, message: Any, session: McpSession | None) -> None:
        if message is None:
            assert session is not None
            await self._stream(exchange, session)
        elif not is_request(message):
            await self._acknowledge(exchange, session)
        elif message["method"] == "server/discover" and exchange.era is Era.MODERN:
            await respond(
                exchange.send, 200, result_body(message["id"], self._identity_for(exchange).discover_result())
            )
        elif session is None and exchange.era is Era.HANDSHAKE:
            await _missing_session(exchange)
        else:
            await _not_found(exchange, message, session)

    def _identity_for(self, exchange: HttpExchange) -> ServerIdentity:
        """The identity shown to this caller; the instructions mention no hidden tool."""
        identity = self.identity()
        return replace(identity, instructions=self.absent(exchange.caller).strip(identity.instructions or "") or None)

    async def end(self, exchange: HttpExchange, session: McpSession) -> None:
        self.sessions.close(session)
        await respond(exchange.send, 200, b"", [_session_header(session)])

    async def _acknowledge(self, exchange: HttpExchange, session: McpSession | None) -> None:
        if session is None:
            return await _missing_session(exchange)
        await respond(exchange.send, 202, b"", [_session_header(session)])

    async def _stream(self, exchange: HttpExchange, session: McpSession) -> None:
        if not accepts(exchange.fields.get(b"accept", b""))[1]:
            return await respond_error(exchange.send, 406, "Not Acceptable: accept text/event-stream")
        if session.streaming:
            sentence = "Conflict: Only one SSE stream is allowed per session"
            return await respond(exchange.send, 409, error_body(None, INVALID_REQUEST, sentence))
        watch = DisconnectWatcher(exchange.receive)
        session.streaming = True
        try:
            await self._copy_messages(exchange, session)
        except asyncio.CancelledError:
            if not watch.gone:
                raise
        finally:
            session.streaming = False
            watch.stop()

    async def _copy_messages(self, exchange: HttpExchange, session: McpSession) -> None:
        headers: Headers = [
            (b"content-type", b"text/event-stream"),
            (b"cache-control", b"no-cache, no-transform"),
            _session_header(session),
        ]
        await exchange.send({"type": "http.response.start", "status": 200, "headers": headers})
        # Many proxies hold headers back until the first byte; a comment releases them.
        event = b": open\r\n\r\n"
        while event:
            await exchange.send({"type": "http.response.body", "body": event, "more_body": True})
            event = await self._next_event(session)
        await exchange.send({"type": "http.response.body", "body": b""})

    async def _next_event(self, session: McpSession) -> bytes:
        """The next message; a ping after a silent interval; empty when the session ends."""
        try:
            async with asyncio.timeout(self.ping_after):
                message = await session.next_message()
        except TimeoutError:
            return b": ping\r\n\r\n"
        return render(message) if message else b""


def remember_client(session: McpSession, params: dict[str, Any]) -> None:
    """Keeps the negotiated version and the client's capabilities from `initialize`."""
    capabilities = params.get("capabilities")
    session.version = negotiate(params)
    session.capabilities = capabilities if isinstance(capabilities, dict) else {}
    session.client_info = params.get("clientInfo")


def negotiate(params: dict[str, Any]) -> str:
    requested = params.get("protocolVersion")
    known = isinstance(requested, str) and requested in HANDSHAKE_PROTOCOL_VERSIONS
    return str(requested) if known else LATEST_HANDSHAKE_VERSION


def _session_header(session: McpSession) -> tuple[bytes, bytes]:
    return b"mcp-session-id", session.id.encode()


async def _not_found(exchange: HttpExchange, message: dict[str, Any], session: McpSession | None) -> None:
    error = RpcError(METHOD_NOT_FOUND, "Method not found", message["method"])
    response = error_response(error, message.get("id"), exchange.era)
    await respond(exchange.send, response.status, response.body, [_session_header(session)] if session else None)


async def _missing_session(exchange: HttpExchange) -> None:
    body = error_body(None, INVALID_REQUEST, "Bad Request: Missing session ID")
    await respond(exchange.send, 400, body)


_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")
MOST_WAITING = 64


class Injection:
    """A relayed event stream; the gateway's events are inserted between the upstream's events."""

    def __init__(self, send: Send, *, after_first: bool) -> None:
        self._send = send
        self._turn = asyncio.Lock()
        self._between = not after_first
        self._streams = False
        self._tail = b""
        self._waiting: list[bytes] = []

    async def send(self, message: Message) -> None:
        """Sends a message of the upstream unchanged."""
        async with self._turn:
            await self._send(message)
            if message["type"] == "http.response.start":
                kinds = [value for name, value in message["headers"] if name == b"content-type"]
                self._streams = message["status"] == 200 and any(
                    kind.startswith(b"text/event-stream") for kind in kinds
                )
                return
            if body := message.get("body", b""):
                self._tail = (self._tail + body[-4:])[-4:]
                self._between = self._tail.endswith(_ENDS)
            self._streams = self._streams and message.get("more_body", False)
            await self._flush()

    async def put(self, message: bytes) -> None:
        """Sends an event of the gateway at the next boundary between events; a full queue drops its oldest."""
        async with self._turn:
            self._waiting = [*self._waiting, render(message)][-MOST_WAITING:]
            await self._flush()

    async def _flush(self) -> None:
        if self._streams and self._between and self._waiting:
            events, self._waiting = b"".join(self._waiting), []
            await self._send({"type": "http.response.body", "body": events, "more_body": True})


@asynccontextmanager
async def injecting(
    send: Send, next_message: Callable[[], Awaitable[bytes]], *, after_first: bool = False
) -> AsyncIterator[Send]:
    """Yields a `send` for the relay; the messages of `next_message` are inserted until it returns nothing."""
    injection = Injection(send, after_first=after_first)

    async def pump() -> None:
        while message := await next_message():
            await injection.put(message)

    pumping = asyncio.ensure_future(pump())
    try:
        yield injection.send
    finally:
        pumping.cancel()
        await asyncio.gather(pumping, return_exceptions=True)
