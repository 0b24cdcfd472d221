"""HTTP exchanges of an OpenAPI upstream, over its connection pool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from assent.ports import NotReached, OutcomeUnknown
from assent.upstreams.errors import UpstreamError
from assent.upstreams.http.connection import UpstreamResponse
from assent.upstreams.http.pool import Pool
from assent.upstreams.openapi.operations import bare_type
from assent.upstreams.openapi.request import OpenApiRequest

SendHttp = Callable[[str, str, Sequence[tuple[str, str]], bytes], Awaitable[UpstreamResponse]]
"""Sends one request (method, URL, headers, body) to one service, never redirected, never sent twice.

Raises NotReached if nothing was sent. Any other exception, also of the response's body, means that the request may
have arrived. It adds the credentials itself: no request here contains any.
"""
_SAFE = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class Answered:
    """A whole response, or the part of it that was read."""

    status: int
    media: str
    body: bytes
    whole: bool = True
    retry_after: str = ""


async def exchange(send: SendHttp, request: OpenApiRequest, most: int) -> Answered:
    """Send a request and read at most `most` bytes of the response; raises NotReached or OutcomeUnknown."""
    try:
        response = await send(request.method, request.url, request.headers, request.body)
        headers = {name.lower(): value for name, value in response.headers}
        body, whole = await _read(response, most)
    except (NotReached, OutcomeUnknown):
        raise
    except Exception as error:
        raise OutcomeUnknown(f"{request.method} ended without a response: {type(error).__name__}") from error
    media = bare_type(_text(headers.get(b"content-type")))
    coding = _text(headers.get(b"content-encoding"))
    if coding and coding != "identity":  # The request did not accept an encoding, so the body is not decoded.
        media = f"{coding} encoding"
    return Answered(response.status, media, body, whole, _text(headers.get(b"retry-after")))


def _text(value: bytes | None) -> str:
    return (value or b"").decode("latin-1").strip().lower()


async def _read(response: UpstreamResponse, most: int) -> tuple[bytes, bool]:
    read: list[bytes] = []
    left = most
    async for piece in response.pieces():
        if len(piece) > left:
            read.append(piece[:left])
            response.close()
            return b"".join(read), False
        read.append(piece)
        left -= len(piece)
    return b"".join(read), True


def send_over(pool: Pool) -> SendHttp:
    """Return a sender over a pool, whose address alone decides the host; its configured headers have the
    credentials.
    """

    async def send(method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes) -> UpstreamResponse:
        parts = urlsplit(url)
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        fields = [(name.encode("ascii"), value.encode("ascii")) for name, value in headers]
        try:
            return await pool.send(
                method.encode("ascii"), fields, body, path=path.encode("ascii"), safe=method in _SAFE
            )
        except UpstreamError as fault:
            raise (OutcomeUnknown if fault.may_have_run else NotReached)(str(fault)) from fault

    return send
