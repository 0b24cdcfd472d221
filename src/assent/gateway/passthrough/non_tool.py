"""The methods other than tools as one configuration serves them: the gateway's own sessions, identity and streams."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

from assent.core.catalogue import Catalogue
from assent.core.principal import Principal
from assent.gateway.dispatch import Serve, error_response
from assent.gateway.endpoint import NonToolHandler
from assent.gateway.http_exchange import HttpExchange, accepts
from assent.gateway.passthrough.merged import MergedServer, MergedUpstream
from assent.gateway.runtime import Runtime
from assent.gateway.served_tools import ServedTools
from assent.gateway.sessions.table import SessionTable
from assent.mcp.jsonrpc import RpcError, error_body, result_body
from assent.mcp.protocol import HANDSHAKE_PROTOCOL_VERSIONS, INVALID_REQUEST, LATEST_HANDSHAKE_VERSION, METHOD_NOT_FOUND
from assent.mcp.requests import Era, check_params, is_request
from assent.mcp.server_identity import ServerIdentity
from assent.mcp.session import McpSession
from assent.mcp.sse import render
from assent.pipeline.other_requests import OtherRequests
from assent.pipeline.tool_mentions import Mentions, absent_mentions
from assent.upstreams.link import McpLink, UpstreamLink
from assent.upstreams.resources import merge_capabilities
from assent.web.asgi import Headers
from assent.web.http import DisconnectWatcher, respond, respond_error

_PING_AFTER = 15.0
MOST_STREAMS = 10_000


@dataclass(slots=True)
class MergedSession:
    """Sessions and answers of the gateway itself, for several upstreams."""

    identity: Callable[[], ServerIdentity]
    sessions: SessionTable
    absent: Callable[[Principal], Mentions]

    @property
    def most_streams(self) -> int:
        return MOST_STREAMS

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
            async with asyncio.timeout(_PING_AFTER):
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


MOST_INSTRUCTIONS = 16_384


class Passthrough:
    """Makes one server of the prompts, resources and other offers of all upstreams."""

    def __init__(
        self,
        runtime: Runtime,
        links: Mapping[str, UpstreamLink],
        served: ServedTools,
        catalogue: Catalogue,
        others: OtherRequests,
    ) -> None:
        self._runtime, self._links, self._served = runtime, links, served
        self._catalogue, self._others = catalogue, others

    def non_tool_handler(self) -> NonToolHandler:
        return MergedSession(self._identity, self._runtime.sessions, self._absent)

    def more(self) -> dict[str, Serve]:
        """The methods that all upstreams answer together."""
        return MergedServer(
            self._offers, self._runtime.notifications, self._absent, self._others, self._runtime.hidden_text
        ).methods()

    def server_info(self) -> dict[str, Any]:
        name, link = next(iter(self._links.items())) if len(self._links) == 1 else ("", None)
        info = link.described.info if link is not None and link.described else None
        return self._without_hidden_text(name, info) if info else {"name": "assent", "version": version("assent")}

    def _without_hidden_text(self, name: str, info: dict[str, Any]) -> dict[str, Any]:
        """What an upstream says of itself, as agents get it."""
        cleaned: dict[str, Any] = self._runtime.hidden_text.clean(name, info)
        return cleaned

    def _absent(self, caller: Principal) -> Mentions:
        """The mentions of tools that are hidden from this caller."""
        return absent_mentions(self._catalogue, caller)

    def _offers(self) -> list[MergedUpstream]:
        return [
            MergedUpstream(link, self._served.policy_of(name).canonical, self._runtime.subscriptions[name])
            for name, link in self._links.items()
            if isinstance(link, McpLink) and name in self._runtime.subscriptions
        ]

    def _identity(self) -> ServerIdentity:
        """The merged identity: the capabilities of all upstreams and the instructions of each."""
        described = {name: getattr(link, "described", None) for name, link in self._links.items()}
        known = {name: one for name, one in described.items() if one is not None}
        said = {
            name: {"instructions": one.instructions[:MOST_INSTRUCTIONS]}
            for name, one in known.items()
            if one.instructions
        }
        texts = {name: str(self._without_hidden_text(name, one)["instructions"]) for name, one in said.items()}
        alone = len(self._links) == 1
        instructions = [text if alone else f"{name}: {text}" for name, text in texts.items()]
        capabilities = merge_capabilities([one.capabilities for one in known.values()])
        if alone:  # Extensions of one server among several could be taken for those of all.
            own = next(iter(known.values())).capabilities if known else {}
            capabilities |= {name: own[name] for name in ("extensions", "experimental") if name in own}
        return ServerIdentity(self.server_info(), capabilities, "\n\n".join(instructions)[:MOST_INSTRUCTIONS] or None)
