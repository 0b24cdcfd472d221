"""The other workers, reached over their Unix sockets."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from assent.gateway.workers.private_server import is_same_user
from assent.mcp.strict_json import DEFAULT_BOUNDS
from assent.upstreams.errors import UpstreamError
from assent.upstreams.http.connection import HttpConnection, UpstreamResponse
from assent.web.asgi import Headers, Receive, Scope, Send
from assent.web.http import BodyTooLarge, Disconnected, DisconnectWatcher, read_body, respond_error

logger = logging.getLogger(__name__)

CLIENT_HEADER = b"x-assent-client"
"""The address of the real client. Only requests on a worker's own socket may have it."""
MOST_METRICS = 16 * 1024 * 1024
_ENDED = (
    "The process that ran this request ended. It is not known whether it took effect: repeat it with the same "
    "idempotency key, or look before you repeat it."
)
_ENDLESS = 7 * 24 * 3600.0
_METRICS_WITHIN = 5.0
_MOST_UNREAD = 64 * 1024
"""The largest body of a request whose method has none. Nobody has authenticated its caller yet."""
_HOP = frozenset(
    {b"connection", b"keep-alive", b"transfer-encoding", b"content-length", b"expect", b"upgrade", CLIENT_HEADER}
)


class WorkerGone(Exception):
    """A worker does not accept connections, so nothing was sent to it."""


@dataclass(frozen=True, slots=True)
class PeerAnswer:
    status: int
    headers: Headers
    body: bytes


class Peers:
    """The sockets of all workers, by number."""

    def __init__(self, sockets: Mapping[int, Path]) -> None:
        self._sockets = sockets

    def __iter__(self) -> Iterator[int]:
        return iter(self._sockets)

    def __contains__(self, number: int) -> bool:
        return number in self._sockets

    async def pass_on(self, number: int, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes one request on and its response back, as it arrives.

        Raises WorkerGone, with nothing sent to anybody, if that worker is not there.
        """
        most = DEFAULT_BOUNDS.size if scope["method"] == "POST" else _MOST_UNREAD
        try:
            body = await read_body(scope["headers"], receive, most)
        except BodyTooLarge:
            return await respond_error(send, 413, "Request body too large", [(b"connection", b"close")])
        except Disconnected:
            return
        connection = await self._connect(number)
        response = connection.start(_request(scope, body), patience=_ENDLESS, total=_ENDLESS)
        watch = DisconnectWatcher(receive)
        try:
            await response.wait_for_headers()
            await _copy(response, send)
        except UpstreamError as error:
            if response.status:  # The response has begun: it is broken off, and nobody runs the request again.
                return logger.warning("a response of worker %d broke off: %s", number, error.detail)
            await respond_error(send, 502, "Bad Gateway", detail=_ENDED)
        except asyncio.CancelledError:
            if not watch.gone:
                raise
        finally:
            watch.stop()
            response.close()

    async def get(self, number: int, scope: Scope) -> PeerAnswer | None:
        """The answer of one worker to this request without a body; None if it is not there or does not answer."""
        try:
            async with asyncio.timeout(_METRICS_WITHIN):
                connection = await self._connect(number)
                response = connection.start(_request(scope, b""), patience=_ENDLESS, total=_ENDLESS)
                await response.wait_for_headers()
                fields = [(name, value) for name, value in response.headers if name not in _HOP]
                return PeerAnswer(response.status, fields, await response.read(MOST_METRICS))
        except (WorkerGone, UpstreamError, TimeoutError) as error:
            logger.warning("worker %d gave no metrics: %s", number, error or "it took too long")
            return None

    async def _connect(self, number: int) -> HttpConnection:
        place = self._sockets.get(number)
        if place is None:
            raise WorkerGone(f"there is no worker {number}")
        loop = asyncio.get_running_loop()
        try:
            transport, connection = await loop.create_unix_connection(
                lambda: HttpConnection(f"worker {number}", loop, lambda _: None, lambda _: None), str(place)
            )
        except OSError as error:
            raise WorkerGone(f"worker {number} does not answer") from error
        if not connection.usable:
            raise WorkerGone(f"worker {number} ended")
        if not is_same_user(transport):  # A request has the caller's credentials.
            transport.abort()
            logger.error("%s belongs to another user of this machine; nothing is sent to it", place)
            raise WorkerGone(f"the socket of worker {number} belongs to another user")
        return connection


def _request(scope: Scope, body: bytes) -> bytes:
    """The request as it came, for one connection that ends with it."""
    target: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    if scope.get("query_string"):
        target += b"?" + scope["query_string"]
    client = scope.get("client")
    fields = [(name, value) for name, value in scope["headers"] if name not in _HOP]
    if client is not None:
        fields.append((CLIENT_HEADER, client[0].encode("latin-1")))
    fields += [(b"connection", b"close"), (b"content-length", b"%d" % len(body))]
    head = b"\r\n".join(name + b": " + value for name, value in fields)
    return b"%b %b HTTP/1.1\r\n%b\r\n\r\n%b" % (scope["method"].encode(), target, head, body)


async def _copy(response: UpstreamResponse, send: Send) -> None:
    own = _HOP - {b"content-length"}
    fields = [(name, value) for name, value in response.headers if name not in own]
    await send({"type": "http.response.start", "status": response.status, "headers": fields})
    async for piece in response.pieces():
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
