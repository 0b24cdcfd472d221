"""An MCP client for a server behind a URL, in either era; it passes the server's JSON on unchanged."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from secrets import randbits
from typing import Any

import orjson

from assent.mcp.channel import StreamListener
from assent.mcp.envelope import with_envelope, without_tasks
from assent.mcp.jsonrpc import RpcError
from assent.mcp.protocol import (
    LATEST_HANDSHAKE_VERSION,
    LATEST_MODERN_VERSION,
    MODERN_PROTOCOL_VERSIONS,
    SERVER_INFO_META_KEY,
)
from assent.mcp.sse import EventReader, EventTooLarge, Turns
from assent.upstreams.credentials import SHARED, CredentialOwner, Credentials
from assent.upstreams.errors import ProtocolViolation, UpstreamError
from assent.upstreams.http.connection import UpstreamResponse
from assent.upstreams.http.pool import Pool
from assent.upstreams.http.transport import McpHttpTransport, SessionContext
from assent.upstreams.pagination import all_pages
from assent.web.asgi import Headers

_SMALL = 65536
_EVENT = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Described:
    """An upstream's description of itself, and the newest revision that both sides support."""

    version: str
    info: dict[str, Any]
    capabilities: dict[str, Any]
    instructions: str | None


class HttpUpstream(McpHttpTransport):
    """One upstream behind one URL."""

    def __init__(
        self,
        pool: Pool,
        client_info: dict[str, Any],
        streams: Pool | None = None,
        first_id: int | None = None,
        credentials: Credentials | None = None,
    ) -> None:
        super().__init__(pool, credentials)
        self._streams = streams or pool
        self._client_info = client_info
        # In a relayed session the client sends requests too, and some servers identify a stream by the request id
        # alone. So the gateway's ids must be unique and not guessable.
        self._ids = count(2**30 + randbits(30) if first_id is None else first_id)
        self._cancel_notices: set[asyncio.Task[None]] = set()

    async def check_credential(self, owner: CredentialOwner) -> None:
        """Raise NotConnected if this owner has no credential that can be sent."""
        if self._credentials is not None:
            await self._credentials.header(owner)

    async def describe(self) -> Described:
        """Ask for the description in the modern way; an upstream that does not understand that gets a handshake."""
        modern = SessionContext(LATEST_MODERN_VERSION, capabilities={})
        try:
            result = await self.request("server/discover", {}, modern, safe=True)
        except (RpcError, ProtocolViolation):
            return await self._describe_by_handshake()
        return described_by_discovery(result) or await self._describe_by_handshake()

    @property
    def parts(self) -> tuple[Any, ...]:
        """What another client of the same server is made of."""
        return self.pool, self._client_info, self._streams, None, self._credentials

    async def _describe_by_handshake(self) -> Described:
        described, peer = await self.open_session({})
        await self.close_session(peer)
        return described

    async def open_session(
        self, capabilities: dict[str, Any], owner: CredentialOwner = SHARED
    ) -> tuple[Described, SessionContext]:
        """Do the handshake; the peer has a session id if the upstream keeps sessions."""
        params = initialize_params(capabilities, self._client_info)
        request_id = next(self._ids)
        message = {"jsonrpc": "2.0", "id": request_id, "method": "initialize", "params": params}
        response = await self.post(message, SessionContext("", owner=owner))
        session = response.header(b"mcp-session-id")
        result = await self.result(response, request_id, SessionContext(""), None)
        version = result.get("protocolVersion")
        if not isinstance(version, str):
            raise ProtocolViolation(self.pool.name, "the response to initialize has no protocol version", sent=True)
        session_id = session.decode("latin-1") if session is not None else None
        peer = SessionContext(version, session_id, capabilities, owner)
        await self.notify("notifications/initialized", None, peer)
        return described_by(version, result.get("serverInfo"), result), peer

    async def close_session(self, peer: SessionContext) -> None:
        if peer.session is None:
            return
        fields = [
            (b"mcp-session-id", peer.session.encode("latin-1")),
            (b"mcp-protocol-version", peer.version.encode()),
        ]
        with suppress(UpstreamError):  # If this fails, the upstream drops the session by itself.
            response = await self.send(self.pool, b"DELETE", fields, peer)
            await response.read(_SMALL)

    async def list_tools(self, described: Described, capabilities: dict[str, Any]) -> list[dict[str, Any]]:
        """Every tool definition that the upstream shows to a client with these capabilities."""
        if described.version in MODERN_PROTOCOL_VERSIONS:
            peer = SessionContext(described.version, capabilities=capabilities)
            return await self.list_all("tools/list", "tools", peer)
        _, peer = await self.open_session(capabilities)
        try:
            return await self.list_all("tools/list", "tools", peer)
        finally:
            await self.close_session(peer)

    async def list_all(self, method: str, key: str, peer: SessionContext) -> list[dict[str, Any]]:
        """Every page of a list (`tools/list`, `tools`), each entry as the upstream wrote it."""
        return await all_pages(self.pool.name, method, key, lambda page: self.request(method, page, peer, safe=True))

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
        """Send one request and return its result. `params` may have its own `_meta`; the modern envelope is added
        to it.

        Raises `RpcError` as the upstream sent it, `SessionLost`, or an `UpstreamError` that says whether anything
        was sent. Cancelling it tells the upstream.
        """
        request_id = next(self._ids)
        params = self._add_envelope(params, peer)
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        try:
            response = await self.post(message, peer, fields=fields, safe=safe)
            try:
                return await self.result(response, request_id, peer, stream_listener)
            finally:
                response.close()
        except asyncio.CancelledError:
            if peer.session is not None:
                self._notify_cancelled(request_id, peer)
            raise

    async def open_stream(self, method: str, params: dict[str, Any], peer: SessionContext) -> UpstreamResponse:
        """Send a request whose response is an endless stream; it has a pool of its own and may be silent."""
        message = {
            "jsonrpc": "2.0",
            "id": next(self._ids),
            "method": method,
            "params": self._add_envelope(params, peer),
        }
        return await self.post(message, peer, safe=True, patient=True, pool=self._streams)

    async def session_messages(self, peer: SessionContext) -> AsyncIterator[dict[str, Any]]:
        """Open the stream of the messages that the upstream sends in a session apart from its responses."""
        fields: Headers = [(b"accept", b"text/event-stream"), (b"mcp-protocol-version", peer.version.encode())]
        if peer.session is not None:
            fields.append((b"mcp-session-id", peer.session.encode("latin-1")))
        response = await self.send(self._streams, b"GET", fields, peer, patient=True)
        return stream_messages(self.pool.name, response)

    async def notify(self, method: str, params: dict[str, Any] | None, peer: SessionContext) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        await self.post_one_way(message, peer)

    def _add_envelope(self, params: dict[str, Any], peer: SessionContext) -> dict[str, Any]:
        if peer.version not in MODERN_PROTOCOL_VERSIONS:
            return params
        return with_envelope(params, peer.version, peer.capabilities, self._client_info)

    def _notify_cancelled(self, request_id: int, peer: SessionContext) -> None:
        async def notify() -> None:
            with suppress(UpstreamError):
                await self.notify("notifications/cancelled", {"requestId": request_id}, peer)

        task = asyncio.ensure_future(notify())
        self._cancel_notices.add(task)
        task.add_done_callback(self._cancel_notices.discard)


async def stream_messages(name: str, response: UpstreamResponse) -> AsyncIterator[dict[str, Any]]:
    """The messages on an endless stream."""
    reader, turns = EventReader(_EVENT), Turns()
    try:
        if not (response.header(b"content-type") or b"").lower().startswith(b"text/event-stream"):
            raise ProtocolViolation(name, f"cannot be subscribed to ({response.status})", sent=True)
        async for piece in response.pieces():
            for event in reader.feed(piece):
                await turns.over()
                if event.data and isinstance(message := orjson.loads(event.data), dict):
                    yield message
    except (orjson.JSONDecodeError, EventTooLarge):
        raise ProtocolViolation(name, "a notification is not a JSON-RPC message", sent=True) from None
    finally:
        response.close()


def initialize_params(capabilities: dict[str, Any], client_info: dict[str, Any]) -> dict[str, Any]:
    return {
        "protocolVersion": LATEST_HANDSHAKE_VERSION,
        "capabilities": capabilities,
        "clientInfo": client_info,
    }


def described_by_discovery(result: dict[str, Any]) -> Described | None:
    """The description in the result of `server/discover`; None if the server supports only the handshake."""
    versions, meta = result.get("supportedVersions"), result.get("_meta")
    if not isinstance(versions, list) or LATEST_MODERN_VERSION not in versions:
        return None
    info = meta.get(SERVER_INFO_META_KEY) if isinstance(meta, dict) else None
    return described_by(LATEST_MODERN_VERSION, info, result)


def described_by(version: str, info: Any, result: dict[str, Any]) -> Described:
    capabilities, instructions = result.get("capabilities"), result.get("instructions")
    return Described(
        version,
        info if isinstance(info, dict) else {},
        without_tasks(capabilities) if isinstance(capabilities, dict) else {},
        instructions if isinstance(instructions, str) else None,
    )
