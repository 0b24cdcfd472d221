"""Cross-origin requests (CORS) of web pages that the configuration names."""

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
    """The origins whose pages may read our answers. Others send requests that a browser keeps from them."""

    def __init__(self, origins: Iterable[str] = ()) -> None:
        self._origins = frozenset(origin.lower().encode() for origin in origins)

    def allows(self, origin: bytes | None) -> bool:
        return origin is not None and origin.lower() in self._origins

    async def answer_preflight(self, headers: Headers, send: Send) -> None:
        """Say which methods and headers a page may send. Credentials come in a header, never as cookies."""
        given = dict(headers)
        asked = given.get(b"access-control-request-headers", b"").lower().replace(b" ", b"").split(b",")
        known = [name for name in asked if name in _SENT or name.startswith(b"mcp-")]
        fields = [
            (b"access-control-allow-origin", given[b"origin"]),
            (b"access-control-allow-methods", b"GET, POST, DELETE"),
            (b"access-control-allow-headers", b", ".join(known)),
            (b"access-control-max-age", b"600"),
            _VARY,
        ]
        await respond(send, 204, b"", fields)

    def sharing(self, origin: bytes | None, send: Send) -> Send:
        """`send`, with the headers that let a page of this origin read the answer."""
        fields = [
            (b"access-control-allow-origin", origin or b"null"),
            (b"access-control-expose-headers", _EXPOSED),
            _VARY,
        ]

        async def shared(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *fields]}
            await send(message)

        return shared
