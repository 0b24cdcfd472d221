"""The HTTP interface that an OpenAPI upstream needs, and one exchange over it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from assent.ports import NotReached, OutcomeUnknown
from assent.upstreams.openapi.operations import bare_type
from assent.upstreams.openapi.request import OpenApiRequest


class HttpResponse(Protocol):
    """A response as it arrives: status and headers (names in lower case), then the body in pieces."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Sequence[tuple[bytes, bytes]]: ...

    def pieces(self) -> AsyncIterator[bytes]: ...

    def close(self) -> None:
        """Stop reading; called on every response that is not read to its end."""
        ...


class SendHttp(Protocol):
    """Sends one request to one service, never redirected, never sent twice.

    Raises NotReached if nothing was sent. Any other exception, also of the response's body, means that the request
    may have arrived. It adds the credentials itself: no request here contains any.
    """

    async def __call__(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes
    ) -> HttpResponse: ...


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


async def _read(response: HttpResponse, most: int) -> tuple[bytes, bool]:
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
