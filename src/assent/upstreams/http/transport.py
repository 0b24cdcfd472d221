"""Posts JSON-RPC messages to an upstream, and reads its responses, whole or as streams."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from assent.mcp.channel import StreamListener
from assent.mcp.jsonrpc import cannot_be_asked, is_too_deep, read_response
from assent.mcp.mirrored_headers import encode_header_value
from assent.mcp.protocol import MODERN_PROTOCOL_VERSIONS, NAME_BEARING_METHODS
from assent.mcp.sse import Event, EventReader, EventTooLarge, Turns
from assent.upstreams.credentials import SHARED, CredentialOwner, Credentials, insufficient_scope
from assent.upstreams.errors import NotConnected, Oversized, ProtocolViolation, Unauthorized, UpstreamError, setting_of
from assent.upstreams.http.address import render_fields
from assent.upstreams.http.connection import UpstreamResponse
from assent.upstreams.http.pool import Pool
from assent.web.asgi import Headers

_ACCEPT = b"accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n"
_SMALL = 65536
_UNAUTHORIZED = frozenset({401, 403, 407})
FOREVER = float("inf")
_RESUMPTIONS = 100
_LONGEST_RETRY = 30_000
# A server that could not read the request does not know its id: then the id is null, or the official SDK's value
# for that.
_NO_ID = (None, "server-error")


class SessionLost(Exception):
    """The upstream no longer knows the session; nothing was done."""


class SessionContext(NamedTuple):
    """The revision, the session if there is one, the client's capabilities, and whose credential is sent."""

    version: str
    session: str | None = None
    capabilities: dict[str, Any] | None = None
    owner: CredentialOwner = SHARED


class McpHttpTransport:
    """Sends messages to one upstream's endpoint, with the owner's credential where the upstream needs one."""

    def __init__(self, pool: Pool, credentials: Credentials | None = None) -> None:
        self.pool = pool
        self._credentials = credentials
        self._heads: dict[str, bytes] = {}
        self.streams = True
        """Whether the upstream answers with streams inside a session, as it last did."""

    async def post(
        self,
        message: dict[str, Any],
        peer: SessionContext,
        *,
        fields: Headers | None = None,
        safe: bool = False,
        patient: bool = False,
        path: bytes | None = None,
        pool: Pool | None = None,
    ) -> UpstreamResponse:
        """Send a message; `patient` is for a response that may be silent and has no end."""
        pool = pool or self.pool
        body = orjson.dumps(message)
        if path is not None:
            head = self.pool.target.head(b"POST", path) + _ACCEPT
        else:
            head = self._heads.get(peer.version) or self._make_head(peer.version)
        routing = _routing(message, peer, fields)
        limit = FOREVER if patient else None
        if self._credentials is None:
            request = b"%b%bcontent-length: %d\r\n\r\n%b" % (head, routing, len(body), body)
            return await pool.send_bytes(request, safe=safe, silence=limit, total=limit)

        async def send(credential: bytes) -> UpstreamResponse:
            request = b"%b%b%bcontent-length: %d\r\n\r\n%b" % (head, routing, credential, len(body), body)
            return await self.pool.send_bytes(request, safe=safe, silence=limit, total=limit)

        return await self._with_credential(peer.owner, send)

    async def send(
        self, pool: Pool, method: bytes, fields: Headers, peer: SessionContext, *, patient: bool = False
    ) -> UpstreamResponse:
        """Send a request without a body in a session, with the owner's credential."""
        limit = FOREVER if patient else None

        async def send(credential: bytes) -> UpstreamResponse:
            request = b"%b%b%bcontent-length: 0\r\n\r\n" % (pool.target.head(method), render_fields(fields), credential)
            return await pool.send_bytes(request, safe=True, silence=limit, total=limit)

        return await self._with_credential(peer.owner, send)

    async def _with_credential(
        self, owner: CredentialOwner, send: Callable[[bytes], Awaitable[UpstreamResponse]]
    ) -> UpstreamResponse:
        """Send with the owner's credential. A rejected one is renewed or widened once: who rejects it ran nothing."""
        if self._credentials is None:
            return await send(b"")
        credential = await self._credentials.header(owner)
        response = await send(credential)
        if response.status == 401:
            response.close()
            response = await send(await self._credentials.renew(owner, credential))
            if response.status == 401:
                response.close()
                raise NotConnected(self.pool.name)
        elif response.status == 403 and (scope := insufficient_scope(response.header(b"www-authenticate"))) is not None:
            response.close()
            response = await send(await self._credentials.widen(owner, credential, scope))
            if response.status in _UNAUTHORIZED:
                response.close()
                raise NotConnected(self.pool.name, scope)
        return response

    async def post_one_way(self, message: dict[str, Any], peer: SessionContext) -> None:
        """Post a notification or a response; there is no result."""
        response = await self.post(message, peer)
        await response.read(_SMALL)

    async def result(
        self, response: UpstreamResponse, request_id: int, peer: SessionContext, stream_listener: StreamListener | None
    ) -> dict[str, Any]:
        """The result in a response. Raises `RpcError` as the upstream sent it, `SessionLost` or an `UpstreamError`."""
        kind = (response.header(b"content-type") or b"").lower()
        if response.status == 404 and peer.session is not None:
            raise SessionLost
        streams = kind.startswith(b"text/event-stream") and response.status == 200
        if peer.session is not None:
            self.streams = streams
        if streams:
            return await self._read_stream(response, request_id, peer, stream_listener)
        if 300 <= response.status < 400 or response.status in _UNAUTHORIZED:
            raise self.refusal(response)
        if not kind.startswith(b"application/json"):
            shown = kind.decode("latin-1")[:64] or "no content type"
            raise self.refusal(response, f"with {shown}")
        body = await response.read(self.pool.limits.body)
        if response.status >= 400 and not self._is_error(body):
            raise self.refusal(response)
        return self._unwrap(self._parse(body), request_id)

    def refusal(self, response: UpstreamResponse, how: str = "") -> ProtocolViolation:
        """The error for a response whose status says that there is no result."""
        if response.status in _UNAUTHORIZED:
            return self._unauthorized(response)
        how = ", which is a redirect" if 300 <= response.status < 400 else how and f" {how}"
        violation = self._violation(f"answered {response.status}{how}")
        violation.answered = response.status
        return violation

    def _unauthorized(self, response: UpstreamResponse) -> Unauthorized:
        """Explain to the operator which credentials are missing and where to write them."""
        setting, target = setting_of(self.pool.name), self.pool.target
        if target.has_credentials:
            missing = f"did not accept the Authorization header of `{setting}.headers`: correct or renew the token"
        else:
            missing = f"needs credentials: write `headers: {{Authorization: Bearer ...}}` at `{setting}`"
        oauth = b"resource_metadata" in (response.header(b"www-authenticate") or b"")
        source = "; tokens come from the authorization server that it names (OAuth)" if oauth else ""
        advice = f"{target.loggable} {missing}{source}"
        return Unauthorized(self.pool.name, f"answered {response.status}", sent=True, advice=advice)

    def _make_head(self, version: str) -> bytes:
        head = self.pool.target.head(b"POST") + _ACCEPT
        if version:
            head += render_fields([(b"mcp-protocol-version", version.encode())])
        if len(self._heads) < 16:
            self._heads[version] = head
        return head

    async def _read_stream(
        self, response: UpstreamResponse, request_id: int, peer: SessionContext, stream_listener: StreamListener | None
    ) -> dict[str, Any]:
        if stream_listener is not None:
            await stream_listener.open()
        position = _StreamPosition()
        for _ in range(_RESUMPTIONS):
            message = await self._read_until_answer(response, peer, stream_listener, position)
            if message is not None:
                return self._unwrap(message, request_id)
            if position.last is None or peer.session is None:
                break
            if stream_listener is not None:
                await stream_listener.pause()
            response = await self._resume(position, peer)
        raise self._violation("the stream ended without a response")

    async def _read_until_answer(
        self,
        response: UpstreamResponse,
        peer: SessionContext,
        stream_listener: StreamListener | None,
        position: "_StreamPosition",
    ) -> dict[str, Any] | None:
        reader, turns = EventReader(self.pool.limits.body), Turns()
        try:
            async for piece in response.pieces():
                for event in reader.feed(piece):
                    await turns.over()
                    position.note(event)
                    if not event.data:
                        if stream_listener is not None and event.id is not None:
                            await stream_listener.prime(event.retry)
                        continue
                    message = self._parse(event.data)
                    if "method" not in message:
                        return message
                    with response.held(asked="id" in message):
                        await self._on_message(message, peer, stream_listener)
        except EventTooLarge as error:
            raise Oversized(self.pool.name, str(error), sent=True) from None
        except UpstreamError:
            if position.last is None or peer.session is None:
                raise
        finally:
            response.close()
        return None

    async def _resume(self, position: "_StreamPosition", peer: SessionContext) -> UpstreamResponse:
        await asyncio.sleep(position.retry / 1000)
        assert position.last is not None and peer.session is not None
        fields = [
            (b"accept", b"text/event-stream"),
            (b"last-event-id", position.last),
            (b"mcp-session-id", peer.session.encode("latin-1")),
            (b"mcp-protocol-version", peer.version.encode()),
        ]
        response = await self.send(self.pool, b"GET", fields, peer)
        if response.status != 200:
            response.close()
            raise self._violation(f"answered {response.status} when the gateway resumed its stream")
        return response

    async def _on_message(
        self, message: dict[str, Any], peer: SessionContext, stream_listener: StreamListener | None
    ) -> None:
        if "id" not in message:
            if stream_listener is not None:
                await stream_listener.notify(message)
            return
        answer = await stream_listener.answer(message) if stream_listener is not None else None
        await self.post_one_way(answer or cannot_be_asked(message), peer)

    def _is_error(self, body: bytes) -> bool:
        try:
            return "error" in self._parse(body)
        except ProtocolViolation:
            return False

    def _parse(self, text: bytes) -> dict[str, Any]:
        try:
            message = orjson.loads(text)
        except orjson.JSONDecodeError:
            raise self._violation("the response is not JSON") from None
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            raise self._violation("the response is not JSON-RPC")
        if is_too_deep(text, message):
            raise Oversized(self.pool.name, "the response is nested too deeply", sent=True)
        return message

    def _unwrap(self, message: dict[str, Any], request_id: int) -> dict[str, Any]:
        answered = message.get("id")
        if answered != request_id and not (answered in _NO_ID and "error" in message):
            raise self._violation("the response does not belong to the request")
        try:
            return read_response(message)
        except ValueError as error:
            raise self._violation(str(error)) from None

    def _violation(self, detail: str) -> ProtocolViolation:
        return ProtocolViolation(self.pool.name, detail, sent=True)


class _StreamPosition:
    """The position in a stream, and when to resume it."""

    def __init__(self) -> None:
        self.last: bytes | None = None
        self.retry = 1000

    def note(self, event: Event) -> None:
        if event.id:
            self.last = event.id
        if event.retry is not None:
            self.retry = min(event.retry, _LONGEST_RETRY)


def _routing(message: dict[str, Any], peer: SessionContext, fields: Headers | None) -> bytes:
    """The headers that mirror the body (modern), the session (handshake era), and the caller's own headers."""
    mirror = b""
    if peer.version in MODERN_PROTOCOL_VERSIONS and "method" in message:
        key = NAME_BEARING_METHODS.get(message["method"])
        mirror = _mirror(message["method"], message["params"][key] if key is not None else None)
    if peer.session is None and not fields:
        return mirror
    lines = list(fields or ())
    if peer.session is not None:
        lines.append((b"mcp-session-id", peer.session.encode("latin-1")))
    return mirror + render_fields(lines)


@lru_cache(4096)
def _mirror(method: str, name: str | None) -> bytes:
    lines = [(b"mcp-method", encode_header_value(method).encode())]
    if name is not None:
        lines.append((b"mcp-name", encode_header_value(name).encode()))
    return render_fields(lines)
