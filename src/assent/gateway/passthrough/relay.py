"""Passes messages to one upstream and its answers back to the client."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from assent.gateway.auth.host_origin import HostOriginPolicy
from assent.gateway.dispatch import error_response
from assent.gateway.passthrough.descriptions import RewrittenResponse
from assent.mcp import strict_json
from assent.mcp.jsonrpc import malformed_body
from assent.mcp.requests import Era
from assent.mcp.strict_json import JsonLimits, Malformed
from assent.upstreams.errors import ProtocolViolation, UpstreamError
from assent.upstreams.http.connection import UpstreamResponse
from assent.upstreams.http.pool import Pool
from assent.web.asgi import Headers, Receive, Scope, Send
from assent.web.http import BodyTooLarge, Disconnected, DisconnectWatcher, read_body, respond, respond_error

# An allow list: a deny list would pass on credential headers that do not exist yet.
_UP = frozenset(
    {
        b"accept", b"content-type", b"last-event-id", b"traceparent", b"tracestate", b"baggage", b"mcp-session-id",
        b"mcp-protocol-version", b"mcp-method", b"mcp-name",
    }
)  # fmt: skip
_DOWN = frozenset(
    {
        b"content-type", b"cache-control", b"allow", b"retry-after", b"x-accel-buffering", b"mcp-session-id",
        b"mcp-protocol-version",
    }
)  # fmt: skip
_JSON = b"application/json"
_METHODS = frozenset({"GET", "POST", "DELETE"})
_FOREVER = float("inf")
_STREAM_METHODS = frozenset({"subscriptions/listen"})

OnAnswer = Callable[[UpstreamResponse], None]


@dataclass(slots=True)
class Relay:
    """Passes every message to one upstream unchanged: answers, streams, sessions, resumption.

    Long-lived streams have a separate pool so that they cannot starve calls.
    """

    calls: Pool
    streams: Pool
    host_policy: HostOriginPolicy = field(default_factory=HostOriginPolicy)
    bounds: JsonLimits = strict_json.DEFAULT_BOUNDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The relay alone as an ASGI application, without governance."""
        if scope["type"] != "http":
            return
        headers: Headers = scope["headers"]
        if (refusal := self.host_policy.refuse_headers(headers)) is not None:
            return await respond_error(send, *refusal)
        if scope["method"] not in _METHODS:
            return await respond_error(send, 405, "Method Not Allowed", [(b"allow", b"GET, POST, DELETE")])
        try:
            raw = await read_body(headers, receive, self.bounds.size)
            message = strict_json.parse(raw, self.bounds) if scope["method"] == "POST" else None
        except BodyTooLarge:
            return await respond_error(send, 413, "Request body too large", [(b"connection", b"close")])
        except Malformed as error:
            return await respond(send, 400, malformed_body(error))
        except Disconnected:
            return None
        await self.forward(scope, receive, send, message)

    async def forward(
        self, scope: Scope, receive: Receive, send: Send, message: Any, on_answer: OnAnswer | None = None
    ) -> None:
        """Passes on one request whose body, if any, was parsed to `message`.

        The body is serialized again, because another parser could read the raw bytes differently.
        `on_answer` gets the status and headers of the answer before the client does.
        """
        watch = DisconnectWatcher(receive)
        try:
            await self._exchange(scope, send, message, on_answer)
        except UpstreamError as fault:
            await respond(send, fault.status, fault_body(message, fault))
        except asyncio.CancelledError:
            if not watch.gone:
                raise
        finally:
            watch.stop()

    async def _exchange(self, scope: Scope, send: Send, message: Any, on_answer: OnAnswer | None) -> None:
        body = b"" if message is None else orjson.dumps(message)
        method: str = scope["method"]
        streaming = method == "GET" or _method_of(message) in _STREAM_METHODS
        pool = self.streams if streaming else self.calls
        response = await pool.send(
            method.encode(), upstream_headers(scope["headers"], mirrors=_method_of(message) == "tools/call"), body,
            safe=method == "GET", silence=_FOREVER if streaming else None, total=_FOREVER,
        )  # fmt: skip
        try:
            _check_status(pool.name, response)
            if on_answer is not None:
                on_answer(response)
            await _copy(response, send)
        finally:
            response.close()


def upstream_headers(headers: Headers, *, mirrors: bool = False) -> Headers:
    """The client's headers that an upstream may see: a fixed list without credentials.

    Each is sent once, as the gateway read it. The content type has no `charset`, because the body is UTF-8. `mirrors`
    adds the headers that repeat the arguments of a call; only a relay without a gateway passes them on.
    """
    sent: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in _UP or (mirrors and name.startswith(b"mcp-param-")):
            sent.setdefault(name, value)
    if sent.get(b"content-type", b"").lower().startswith(_JSON):
        sent[b"content-type"] = _JSON
    return list(sent.items())


def _check_status(upstream: str, response: UpstreamResponse) -> None:
    if response.status in (401, 407):
        # The challenge concerns the gateway's credentials at the upstream; the caller has none.
        raise ProtocolViolation(upstream, f"refused the gateway's credentials ({response.status})", sent=True)
    if 300 <= response.status < 400:
        raise ProtocolViolation(upstream, f"sent a redirect ({response.status}); redirects are not followed", sent=True)
    kind = (response.header(b"content-type") or b"").lower()
    if kind.startswith(b"text/html") or (response.status >= 500 and not kind.startswith(b"application/json")):
        raise ProtocolViolation(
            upstream, f"answered {response.status} with a body that is not an MCP message", sent=True
        )
    if response.header(b"content-encoding") is not None:
        raise ProtocolViolation(upstream, "compressed its answer although that was not requested", sent=True)


async def _copy(response: UpstreamResponse, send: Send) -> None:
    fields = [(name, value) for name, value in response.headers if name in _DOWN]
    length = response.header(b"content-length")
    if length is not None:
        fields.append((b"content-length", length))
    await send({"type": "http.response.start", "status": response.status, "headers": fields})
    try:
        async for piece in response.pieces():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        return await send({"type": "http.response.body", "body": b""})
    except UpstreamError:
        if isinstance(send, RewrittenResponse) and send.discard():
            raise  # The client has got nothing yet and is told why.
        if length is not None or not is_event_stream(response):
            return  # An incomplete response tells the client that the connection broke.
    await send({"type": "http.response.body", "body": b""})


def is_event_stream(response: UpstreamResponse) -> bool:
    return (response.header(b"content-type") or b"").lower().startswith(b"text/event-stream")


def _method_of(message: Any) -> str | None:
    method = message.get("method") if isinstance(message, dict) else None
    return method if isinstance(method, str) else None


def fault_body(message: Any, fault: UpstreamError) -> bytes:
    """An upstream error as the response to `message`, which may not be a request."""
    request_id = message.get("id") if isinstance(message, dict) and "method" in message else None
    return error_response(fault, request_id, Era.HANDSHAKE).body
