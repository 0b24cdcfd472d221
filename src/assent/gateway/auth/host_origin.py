"""Checks of `Host` and `Origin`, which stop DNS rebinding, and cross-origin requests (CORS) of configured origins."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from assent.web.asgi import Headers, Message, Send
from assent.web.http import respond

KNOWN_NAMES = "This gateway accepts the names of its own machine and the host of `public_url` in its configuration."
_MOST_ACCEPTED = 256
_LOOPBACK = frozenset({b"localhost", b"127.0.0.1", b"[::1]"})


class HostOriginPolicy:
    """The `Host` and `Origin` values that the gateway accepts. This stops DNS rebinding.

    A page on evil.example that resolves to the gateway's address still sends `Host: evil.example` and
    `Origin: http://evil.example`, which are refused. Loopback names are accepted with any port, because tunnels
    and forwarded ports are common; any other name must be configured with its exact origin.
    """

    def __init__(self, public_urls: Iterable[str] = (), *, loopback: bool = True, origins: Iterable[str] = ()) -> None:
        self._loopback = loopback
        self._hosts: set[bytes] = set()
        self._accepted: set[bytes | None] = set()
        """Values of `Host` as they were sent, which were accepted before."""
        self._origins: set[bytes] = {origin.lower().encode() for origin in origins}
        for url in public_urls:
            parts = urlsplit(url)
            self._origins.add(f"{parts.scheme}://{parts.netloc}".lower().encode())
            self._hosts |= _spellings(parts.scheme, parts.netloc.lower())

    def refuse(self, host: bytes | None, origin: bytes | None) -> tuple[int, str] | None:
        """The HTTP status and reason of the refusal, or None if the request is allowed."""
        if host not in self._accepted:
            if host is None or not self._knows_host(host.lower()):
                return 421, "Invalid Host header"
            if len(self._accepted) < _MOST_ACCEPTED:
                self._accepted.add(host)
        if origin is not None and not self._knows_origin(origin.lower()):
            return 403, "Invalid Origin header"
        return None

    def refuse_headers(self, headers: Headers) -> tuple[int, str] | None:
        """Like `refuse`, for the headers of a request; a header that is sent twice matches nothing."""
        hosts = [value for name, value in headers if name == b"host"]
        origins = [value for name, value in headers if name == b"origin"]
        return self.refuse(b", ".join(hosts) if hosts else None, b", ".join(origins) if origins else None)

    def _knows_host(self, host: bytes) -> bool:
        return host in self._hosts or (self._loopback and _without_port(host) in _LOOPBACK)

    def _knows_origin(self, origin: bytes) -> bool:
        if origin in self._origins:
            return True
        scheme, _, rest = origin.partition(b"://")
        return self._loopback and scheme in (b"http", b"https") and _without_port(rest) in _LOOPBACK


def _without_port(host: bytes) -> bytes:
    name, colon, port = host.rpartition(b":")
    return name if colon and port.isdigit() else host


def _spellings(scheme: str, netloc: str) -> set[bytes]:
    """Both spellings of a host: with and without its default port."""
    default = b":80" if scheme == "http" else b":443"
    name = netloc.encode()
    bare = name.removesuffix(default)
    return {bare, bare + default} if _without_port(bare) == bare else {name}


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
