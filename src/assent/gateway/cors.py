"""Cross-origin requests (CORS) of the configured web origins."""

from __future__ import annotations

from collections.abc import Iterable

from assent.web.asgi import Headers, Message, Send
from assent.web.http import respond

_SENT = frozenset(
    {
        *(b"accept", b"authorization", b"content-type", b"idempotency-key", b"last-event-id", b"traceparent"),
        *(b"tracestate", b"x-api-key"),
    }
)
_EXPOSED = b"mcp-session-id, mcp-protocol-version, retry-after, www-authenticate"
_VARY = (b"vary", b"origin")


class Cors:
    """The origins whose pages may read responses. Browsers block all others."""

    def __init__(self, origins: Iterable[str] = ()) -> None:
        self._origins = frozenset(origin.lower().encode() for origin in origins)

    def allows(self, origin: bytes | None) -> bool:
        return origin is not None and origin.lower() in self._origins

    async def answer_preflight(self, headers: Headers, send: Send) -> None:
        """Answers a preflight with the allowed methods and headers. Credentials are headers, never cookies."""
        given = dict(headers)
        requested = given.get(b"access-control-request-headers", b"").lower().replace(b" ", b"").split(b",")
        known = [name for name in requested if name in _SENT or name.startswith(b"mcp-")]
        fields = [
            (b"access-control-allow-origin", given[b"origin"]),
            (b"access-control-allow-methods", b"GET, POST, DELETE"),
            (b"access-control-allow-headers", b", ".join(known)),
            (b"access-control-max-age", b"600"),
            _VARY,
        ]
        await respond(send, 204, b"", fields)

    def allow_origin(self, origin: bytes | None, send: Send) -> Send:
        """Wraps `send` to add the headers that let a page of this origin read the response."""
        fields = [
            (b"access-control-allow-origin", origin or b"null"),
            (b"access-control-expose-headers", _EXPOSED),
            _VARY,
        ]

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *fields]}
            await send(message)

        return send_with_headers
