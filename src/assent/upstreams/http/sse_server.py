"""An MCP client for a server of the HTTP+SSE transport (revision 2024-11-05).

A session is a GET stream. Its first event names the address to which messages are posted; responses come back on the
stream. The address must be at the same host, because it gets the upstream's credentials.
The transport is a setting: a gateway that found it out while it serves would have to change how it relays.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from secrets import token_hex
from typing import Any
from urllib.parse import urljoin

from assent.mcp.channel import StreamListener
from assent.mcp.jsonrpc import RpcError
from assent.mcp.server_identity import Described, described_by, initialize_params
from assent.upstreams.credentials import SHARED, CredentialOwner
from assent.upstreams.errors import ProtocolViolation, SessionLost, TimedOut, UpstreamError
from assent.upstreams.http.address import BadAddress, UpstreamAddress
from assent.upstreams.http.client import HttpUpstream
from assent.upstreams.http.sessions import SessionContext
from assent.upstreams.http.sse_session import SseSession
from assent.web.asgi import Headers

_SMALL = 65536


_REFUSED_POST = frozenset({400, 404, 405})


async def find_older_transport(upstream: HttpUpstream, refused: ProtocolViolation) -> SseUpstream | None:
    """A client of the old transport, if a server that does not accept a POST speaks it."""
    if refused.answered not in _REFUSED_POST or isinstance(upstream, SseUpstream):
        return None
    older = SseUpstream(*upstream.parts)
    try:
        _, peer = await older.open_session({})
    except (UpstreamError, RpcError):
        return None
    await older.close_session(peer)
    return older


class SseUpstream(HttpUpstream):
    """One server of the old transport behind one URL."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._opened: dict[str, SseSession] = {}

    async def describe(self) -> Described:
        """Do a handshake: these servers are older than `server/discover`."""
        return await self._describe_by_handshake()

    async def open_session(
        self, capabilities: dict[str, Any], owner: CredentialOwner = SHARED
    ) -> tuple[Described, SessionContext]:
        """Open a stream and do the handshake on it. The session id is ours: it never leaves the gateway."""
        session = await self._open_stream(owner)
        try:
            message = self._message("initialize", initialize_params(capabilities, self._client_info))
            result = await session.request(message)
            version = result.get("protocolVersion")
            if not isinstance(version, str):
                raise ProtocolViolation(self.pool.name, "the response to initialize has no protocol version", sent=True)
            await session.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        except SessionLost:
            session.close()
            raise ProtocolViolation(self.pool.name, "it does not know the session that it opened", sent=True) from None
        except BaseException:
            session.close()
            raise
        session_id = token_hex(8)
        self._opened[session_id] = session
        peer = SessionContext(version, session_id, capabilities, owner)
        return described_by(version, result.get("serverInfo"), result), peer

    async def close_session(self, peer: SessionContext) -> None:
        if (session := self._opened.pop(peer.session or "", None)) is not None:
            session.close()

    async def request(
        self,
        method: str,
        params: dict[str, Any],
        peer: SessionContext,
        *,
        fields: Headers | None = None,
        stream_listener: StreamListener | None = None,
        safe: bool = False,
    ) -> dict[str, Any]:
        """Send one request in a session and return its result, as `HttpUpstream.request` does."""
        session, message = self._session(peer), self._message(method, params)
        if stream_listener is not None:
            await stream_listener.open()
        try:
            return await session.request(message, stream_listener, fields)
        except SessionLost:
            await self.close_session(peer)
            raise
        except (asyncio.CancelledError, TimedOut):
            self._notify_cancelled(message["id"], peer)
            raise

    async def notify(self, method: str, params: dict[str, Any] | None, peer: SessionContext) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        with suppress(SessionLost):
            await self._session(peer).post(message if params is None else {**message, "params": params})

    async def session_messages(self, peer: SessionContext) -> AsyncIterator[dict[str, Any]]:
        return self._session(peer).notices()

    def _session(self, peer: SessionContext) -> SseSession:
        session = self._opened.get(peer.session or "")
        if session is None or session.is_over:
            self._opened.pop(peer.session or "", None)
            raise SessionLost
        return session

    def _message(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}

    async def _open_stream(self, owner: CredentialOwner) -> SseSession:
        peer = SessionContext("", owner=owner)
        fields: Headers = [(b"accept", b"text/event-stream"), (b"cache-control", b"no-store")]
        try:
            async with asyncio.timeout(self.pool.limits.silence):
                response = await self.send(self._streams, b"GET", fields, peer, patient=True)
                kind = (response.header(b"content-type") or b"").lower()
                if response.status != 200 or not kind.startswith(b"text/event-stream"):
                    response.close()
                    raise self.refusal(response, "and no stream of events")
                limits = self.pool.limits
                session = SseSession(self.pool.name, response, limits.body, limits.silence)
                try:
                    path = self._post_path(await asyncio.shield(session.endpoint))
                except BaseException:
                    session.close()
                    raise
        except TimeoutError:
            raise TimedOut(self.pool.name, "the stream did not name its endpoint in time", sent=True) from None

        async def post(message: dict[str, Any], fields: Headers | None = None) -> None:
            response = await self.post(message, peer, fields=fields, path=path)
            try:
                if response.status == 404:
                    raise SessionLost
                if not 200 <= response.status < 300:
                    raise self.refusal(response)
                await response.read(_SMALL)
            finally:
                response.close()

        session.post = post
        return session

    def _post_path(self, said: bytes) -> bytes:
        """The path that messages are posted to; it must be at the upstream's own host."""
        target = self.pool.target
        try:
            named = UpstreamAddress.of(urljoin(target.url, said.decode("utf-8", "replace").strip()), tls=target.tls)
        except (BadAddress, ValueError):
            raise ProtocolViolation(self.pool.name, "the endpoint that it names is not an address", sent=True) from None
        if (named.host, named.port, named.tls is None) != (target.host, target.port, target.tls is None):
            detail = "it names an endpoint at another host, which does not get its credentials"
            raise ProtocolViolation(self.pool.name, detail, sent=True)
        return named.path
