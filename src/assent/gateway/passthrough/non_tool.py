"""Answers messages that are not governed: the one upstream does, or the gateway itself."""

import asyncio
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from mcp_types import INVALID_REQUEST, METHOD_NOT_FOUND, SERVER_INFO_META_KEY
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

from assent.core.mentions import Mentions
from assent.edges.cleaning import CLEANED, Cleaned, no_mentions
from assent.edges.envelope import is_relayed
from assent.edges.gateway import Exchange
from assent.edges.heard import Heard
from assent.edges.http import Headers, Scope, Send, Watch, respond, respond_error
from assent.edges.inbound import Era, Inbound, accepts, check_params, http_status, is_request
from assent.edges.injection import injecting
from assent.edges.notices import SUBSCRIPTION_ID, Notices
from assent.edges.relay import OnAnswer, Relay, fault_body
from assent.edges.rpc import RpcError, error_body, result_body
from assent.edges.sessions import Session, SessionTable, SessionTaken, TooManySessions
from assent.edges.tasks import Stripping, is_task_method
from assent.edges.upstreams.connection import Response
from assent.edges.upstreams.faults import Garbled, Unreachable
from assent.edges.upstreams.sse import render

_PING_AFTER = 15.0
# Headers of one era mean nothing in the other, so nobody has checked them there: whose session, which method.
_NOT_OF = {
    Era.MODERN: (b"mcp-session-id", b"last-event-id"),
    Era.HANDSHAKE: (b"mcp-method", b"mcp-name"),
}


@dataclass(slots=True)
class RelayPassage:
    """One upstream: its sessions are the caller's sessions, and we only remember whose they are."""

    relay: Relay
    sessions: SessionTable
    notices: Notices | None = None
    test: Relay | None = None
    """Where test callers go instead; without one, nowhere."""
    absent: Callable[[Hashable], Mentions] = no_mentions

    @property
    def most_streams(self) -> int:
        """Each stream takes a connection to the upstream; a tenth is left for what we hear there ourselves."""
        return self.relay.streams.limits.connections * 9 // 10

    async def begin(self, exchange: Exchange, message: dict[str, Any]) -> None:
        heard = Heard()

        def adopt(response: Response) -> None:
            session_id = response.header(b"mcp-session-id")
            if response.status < 400 and session_id is not None:
                session = self._adopt(exchange.caller, session_id.decode("latin-1"))
                session.heard = heard
                remember_client(session, message.get("params") or {})

        send = Stripping(exchange.send, self.relay.calls.name).send
        await self._relay(exchange, heard.listening(send), message, adopt)

    def _adopt(self, caller: Hashable, session_id: str) -> Session:
        try:
            return self.sessions.open(caller, session_id)
        except (SessionTaken, TooManySessions):
            raise Garbled(self.relay.calls.name, "opened a session we cannot take over", sent=True) from None

    async def forward(self, exchange: Exchange, message: Any, session: Session | None) -> None:
        if message is not None and not is_relayed(message):
            return await _not_relayed(exchange, message)
        method = message.get("method") if isinstance(message, dict) else None
        if is_task_method(method):
            return await _not_found(exchange, message, session)
        if method == "server/discover":
            exchange = replace(exchange, send=Stripping(exchange.send, self.relay.calls.name).send)
        heard = session.heard if session is not None else Heard()
        if exchange.head.last_event is not None and exchange.head.last_event not in heard:
            exchange = replace(exchange, scope=_without(exchange.scope, b"last-event-id"))
        if self.notices is not None and message is None and session is not None:
            async with injecting(exchange.send, session.next_message) as send:
                await self._relay(exchange, heard.listening(send), message)
        elif self.notices is not None and method == "subscriptions/listen":
            await self._listen(exchange, message, self.notices)
        else:
            await self._relay(exchange, heard.listening(exchange.send), message)

    async def _listen(self, exchange: Exchange, message: dict[str, Any], notices: Notices) -> None:
        """The upstream's stream of notices, and on it that our list of tools changed, where that was asked for."""
        asked, meta = message["params"].get("notifications"), {SUBSCRIPTION_ID: message.get("id")}
        wanted = {"toolsListChanged": isinstance(asked, dict) and asked.get("toolsListChanged") is True}
        with notices.listening(wanted) as listener:

            async def next_message() -> bytes:
                notice = await listener.next()
                return b"" if notice is None else orjson.dumps({**notice, "params": {"_meta": meta}})

            async with injecting(exchange.send, next_message, after_first=True) as send:
                await self._relay(exchange, send, message)

    async def end(self, exchange: Exchange, session: Session) -> None:
        def forget(response: Response) -> None:
            if response.status < 300 or response.status == 404:
                self.sessions.close(session)

        await self._relay(exchange, exchange.send, None, forget)

    async def _relay(self, exchange: Exchange, send: Send, message: Any, on_answer: OnAnswer | None = None) -> None:
        if isinstance(message, dict) and message.get("method") in CLEANED and (absent := self.absent(exchange.caller)):
            send = Cleaned(send, absent)
        relay = self.test if getattr(exchange.caller, "mode", "live") == "test" else self.relay
        if relay is None:
            fault = Unreachable(self.relay.calls.name, "has no test endpoint", sent=False)
            return await respond(exchange.send, fault.status, fault_body(message, fault))
        await relay.forward(
            _without(exchange.scope, *_NOT_OF[exchange.head.era]), exchange.receive, send, message, on_answer
        )


async def _not_relayed(exchange: Exchange, message: dict[str, Any]) -> None:
    """Answer for the upstream where the method is not one of the protocol's, letter for letter."""
    if message.get("id") is None:
        return await respond(exchange.send, 202, b"")
    body = error_body(message["id"], METHOD_NOT_FOUND, "Method not found", message["method"])
    await respond(exchange.send, http_status(exchange.head.era, METHOD_NOT_FOUND), body)


def _without(scope: Scope, *starts: bytes) -> Scope:
    """The request without headers whose names begin so."""
    kept = [(name, value) for name, value in scope["headers"] if not name.startswith(starts)]
    return {**scope, "headers": kept}


@dataclass(frozen=True, slots=True)
class Identity:
    """Who we say we are, to either era."""

    info: dict[str, Any]
    capabilities: dict[str, Any]
    instructions: str | None = None

    def initialize_result(self, version: str) -> bytes:
        result = {"protocolVersion": version, "capabilities": self.capabilities, "serverInfo": self.info}
        return orjson.dumps(self._with_instructions(result))

    def discover_result(self) -> bytes:
        result = {
            "resultType": "complete",
            "supportedVersions": list(MODERN_PROTOCOL_VERSIONS),
            "capabilities": self.capabilities,
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {SERVER_INFO_META_KEY: self.info},
        }
        return orjson.dumps(self._with_instructions(result))

    def _with_instructions(self, result: dict[str, Any]) -> dict[str, Any]:
        return result if self.instructions is None else {**result, "instructions": self.instructions}


@dataclass(slots=True)
class OwnPassage:
    """Several upstreams: the session is ours, and so is every answer."""

    identity: Callable[[], Identity]
    sessions: SessionTable
    patience: float = field(default=_PING_AFTER)
    most_streams: int = 10_000
    absent: Callable[[Hashable], Mentions] = no_mentions

    async def begin(self, exchange: Exchange, message: dict[str, Any]) -> None:
        params = message.get("params") or {}
        version = negotiate(params)
        try:
            check_params(Inbound(Era.HANDSHAKE, version, message["id"], "initialize", params, None))
        except RpcError as error:
            body = error_body(message["id"], error.code, error.message, error.data)
            return await respond(exchange.send, 200, body)
        session = self.sessions.open(exchange.caller)
        remember_client(session, params)
        body = result_body(message["id"], self._known_as(exchange).initialize_result(version))
        await respond(exchange.send, 200, body, [_name(session)])

    async def forward(self, exchange: Exchange, message: Any, session: Session | None) -> None:
        if message is None:
            assert session is not None
            await self._stream(exchange, session)
        elif not is_request(message):
            await self._aside(exchange, session)
        elif message["method"] == "server/discover" and exchange.head.era is Era.MODERN:
            await respond(exchange.send, 200, result_body(message["id"], self._known_as(exchange).discover_result()))
        elif session is None and exchange.head.era is Era.HANDSHAKE:
            await _missing_session(exchange)
        else:
            await _not_found(exchange, message, session)

    def _known_as(self, exchange: Exchange) -> Identity:
        """Who we are to this caller: instructions mention no tool that does not exist for them."""
        identity = self.identity()
        return replace(identity, instructions=self.absent(exchange.caller).strip(identity.instructions or "") or None)

    async def end(self, exchange: Exchange, session: Session) -> None:
        self.sessions.close(session)
        await respond(exchange.send, 200, b"", [_name(session)])

    async def _aside(self, exchange: Exchange, session: Session | None) -> None:
        if session is None:
            return await _missing_session(exchange)
        await respond(exchange.send, 202, b"", [_name(session)])

    async def _stream(self, exchange: Exchange, session: Session) -> None:
        if not accepts(exchange.head.accept)[1]:
            return await respond_error(exchange.send, 406, "Not Acceptable: accept text/event-stream")
        if session.streaming:
            sentence = "Conflict: Only one SSE stream is allowed per session"
            return await respond(exchange.send, 409, error_body(None, INVALID_REQUEST, sentence))
        watch = Watch(exchange.receive)
        session.streaming = True
        try:
            await self._copy_messages(exchange, session)
        except asyncio.CancelledError:
            if not watch.gone:
                raise
        finally:
            session.streaming = False
            watch.stop()

    async def _copy_messages(self, exchange: Exchange, session: Session) -> None:
        headers: Headers = [
            (b"content-type", b"text/event-stream"),
            (b"cache-control", b"no-cache, no-transform"),
            _name(session),
        ]
        await exchange.send({"type": "http.response.start", "status": 200, "headers": headers})
        # Headers wait for the first byte in many places; a comment lets them go.
        event = b": open\r\n\r\n"
        while event:
            await exchange.send({"type": "http.response.body", "body": event, "more_body": True})
            event = await self._next_event(session)
        await exchange.send({"type": "http.response.body", "body": b""})

    async def _next_event(self, session: Session) -> bytes:
        """The next message, a ping where there is none for a while, nothing when the session ends."""
        try:
            async with asyncio.timeout(self.patience):
                message = await session.next_message()
        except TimeoutError:
            return b": ping\r\n\r\n"
        return render(message) if message else b""


def remember_client(session: Session, params: dict[str, Any]) -> None:
    """Keep what `initialize` said: the revision to speak and what the client can do."""
    capabilities = params.get("capabilities")
    session.version = negotiate(params)
    session.capabilities = capabilities if isinstance(capabilities, dict) else {}


def negotiate(params: dict[str, Any]) -> str:
    requested = params.get("protocolVersion")
    known = isinstance(requested, str) and requested in HANDSHAKE_PROTOCOL_VERSIONS
    return str(requested) if known else LATEST_HANDSHAKE_VERSION


def _name(session: Session) -> tuple[bytes, bytes]:
    return b"mcp-session-id", session.id.encode()


async def _not_found(exchange: Exchange, message: dict[str, Any], session: Session | None) -> None:
    status = http_status(exchange.head.era, METHOD_NOT_FOUND)
    body = error_body(message.get("id"), METHOD_NOT_FOUND, "Method not found", message["method"])
    await respond(exchange.send, status, body, [_name(session)] if session else None)


async def _missing_session(exchange: Exchange) -> None:
    body = error_body(None, INVALID_REQUEST, "Bad Request: Missing session ID")
    await respond(exchange.send, 400, body)
