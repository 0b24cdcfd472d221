"""An MCP client for a server behind a URL, in either era; it passes the server's JSON on unchanged."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import lru_cache
from itertools import count
from secrets import randbits
from typing import Any

import orjson

from assent.mcp.channel import StreamListener
from assent.mcp.jsonrpc import RpcError, is_too_deep, read_response, with_envelope
from assent.mcp.mirrored_headers import encode_header_value
from assent.mcp.protocol import LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS, NAME_BEARING_METHODS
from assent.mcp.server_identity import Described, described_by, described_by_discovery, initialize_params
from assent.upstreams.credentials import SHARED, CredentialOwner, Credentials, insufficient_scope
from assent.upstreams.errors import (
    NotConnected,
    Oversized,
    ProtocolViolation,
    SessionLost,
    Unauthorized,
    UpstreamError,
    setting_of,
)
from assent.upstreams.http.address import render_fields
from assent.upstreams.http.connection import UpstreamResponse
from assent.upstreams.http.pool import Pool
from assent.upstreams.http.sessions import SessionContext, UpstreamSessions
from assent.upstreams.http.streams import read_answer, stream_messages
from assent.upstreams.pagination import all_pages
from assent.upstreams.resources import ListedPerOwner
from assent.upstreams.suspended_calls import SuspendedCalls
from assent.web.asgi import Headers

_ACCEPT = b"accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n"
_SMALL = 65536
_UNAUTHORIZED = frozenset({401, 403, 407})
_FOREVER = float("inf")
# A server that could not read the request does not know its id: then the id is null, or the official SDK's value
# for that.
_NO_ID = (None, "server-error")


class HttpUpstream:
    """One MCP server behind one URL, its last description of itself, and the gateway's sessions there."""

    def __init__(
        self,
        pool: Pool,
        client_info: dict[str, Any],
        streams: Pool | None = None,
        first_id: int | None = None,
        credentials: Credentials | None = None,
    ) -> None:
        self.pool = pool
        self._streams = streams or pool
        self._client_info = client_info
        self._credentials = credentials
        self._heads: dict[str, bytes] = {}
        # Some servers identify a stream by the request id alone, so ids are unique and cannot be guessed.
        self._ids = count(2**30 + randbits(30) if first_id is None else first_id)
        self._cancel_notices: set[asyncio.Task[None]] = set()
        self.streams = True
        """Whether the upstream answers with streams inside a session, as it last did."""
        self.described: Described | None = None
        self._takes_handshake: bool | None = None
        self.sessions = UpstreamSessions(self)
        self.suspended_calls = SuspendedCalls()
        self.on_notice: Callable[[dict[str, Any]], None] = lambda _: None
        self.listed_resources = ListedPerOwner[tuple[str, str]]()

    @property
    def is_modern(self) -> bool:
        return self.described is not None and self.described.is_modern

    async def takes_handshake(self, owner: CredentialOwner) -> bool:
        """Whether a modern server accepts the handshake too. It is tried once; servers do not say it."""
        if self._takes_handshake is None:
            try:
                _, peer = await self.open_session({}, owner)
                await self.close_session(peer)
                self._takes_handshake = True
            except Unauthorized:
                return False  # It says nothing about the handshake.
            except (RpcError, ProtocolViolation):
                self._takes_handshake = False
        return self._takes_handshake

    async def ensure_described(self) -> Described:
        if self.described is None:
            self.described = await self.describe()
        return self.described

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
        if described.is_modern:
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
                if response.is_json and peer.session is None:
                    return self._unwrap(self.parse(response.whole(self.pool.limits.body) or b""), request_id)
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

    def post(
        self,
        message: dict[str, Any],
        peer: SessionContext,
        *,
        fields: Headers | None = None,
        safe: bool = False,
        patient: bool = False,
        path: bytes | None = None,
        pool: Pool | None = None,
    ) -> Coroutine[Any, Any, UpstreamResponse]:
        """Send a message; `patient` is for a response that may be silent and has no end."""
        pool = pool or self.pool
        body = orjson.dumps(message)
        if path is not None:
            head = self.pool.target.head(b"POST", path) + _ACCEPT
        else:
            head = self._heads.get(peer.version) or self._make_head(peer.version)
        routing = _routing(message, peer, fields)
        limit = _FOREVER if patient else None
        if self._credentials is None:
            request = b"%b%bcontent-length: %d\r\n\r\n%b" % (head, routing, len(body), body)
            return pool.send_bytes(request, safe=safe, silence=limit, total=limit)

        def send(credential: bytes) -> Awaitable[UpstreamResponse]:
            request = b"%b%b%bcontent-length: %d\r\n\r\n%b" % (head, routing, credential, len(body), body)
            return self.pool.send_bytes(request, safe=safe, silence=limit, total=limit)

        return self._with_credential(peer.owner, send)

    async def send(
        self, pool: Pool, method: bytes, fields: Headers, peer: SessionContext, *, patient: bool = False
    ) -> UpstreamResponse:
        """Send a request without a body in a session, with the owner's credential."""
        limit = _FOREVER if patient else None

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
            return self._unwrap(await read_answer(self, response, peer, stream_listener), request_id)
        if 300 <= response.status < 400 or response.status in _UNAUTHORIZED:
            raise self.refusal(response)
        if not kind.startswith(b"application/json"):
            shown = kind.decode("latin-1")[:64] or "no content type"
            raise self.refusal(response, f"with {shown}")
        body = await response.read(self.pool.limits.body)
        if response.status >= 400 and not self._is_error(body):
            raise self.refusal(response)
        return self._unwrap(self.parse(body), request_id)

    def refusal(self, response: UpstreamResponse, how: str = "") -> ProtocolViolation:
        """The error for a response whose status says that there is no result."""
        if response.status in _UNAUTHORIZED:
            return self._unauthorized(response)
        how = ", which is a redirect" if 300 <= response.status < 400 else how and f" {how}"
        violation = self.violation(f"answered {response.status}{how}")
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

    def _is_error(self, body: bytes) -> bool:
        try:
            return "error" in self.parse(body)
        except ProtocolViolation:
            return False

    def parse(self, text: bytes) -> dict[str, Any]:
        try:
            message = orjson.loads(text)
        except orjson.JSONDecodeError:
            raise self.violation("the response is not JSON") from None
        if (
            not isinstance(message, dict)
            or message.get("jsonrpc") != "2.0"
            or not isinstance(message.get("method", ""), str)
        ):
            raise self.violation("the response is not JSON-RPC")
        if is_too_deep(text, message):
            raise Oversized(self.pool.name, "the response is nested too deeply", sent=True)
        return message

    def _unwrap(self, message: dict[str, Any], request_id: int) -> dict[str, Any]:
        answered = message.get("id")
        if answered != request_id and not (answered in _NO_ID and "error" in message):
            raise self.violation("the response does not belong to the request")
        try:
            return read_response(message)
        except ValueError as error:
            raise self.violation(str(error)) from None

    def violation(self, detail: str) -> ProtocolViolation:
        return ProtocolViolation(self.pool.name, detail, sent=True)


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
