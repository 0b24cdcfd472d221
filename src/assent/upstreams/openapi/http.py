"""What do we need of HTTP?"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from assent.ports import NotReached, OutcomeUnknown
from assent.upstreams.openapi.operations import bare_type
from assent.upstreams.openapi.request import OpenApiRequest


class HttpResponse(Protocol):
    """An answer as it arrives: status and headers (names in lower case), then the body in pieces."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Sequence[tuple[bytes, bytes]]: ...

    def pieces(self) -> AsyncIterator[bytes]: ...

    def close(self) -> None:
        """Stop listening; called on every answer that is not read to its end."""
        ...


class SendHttp(Protocol):
    """One request to one service, never redirected, never sent twice.

    Raises Unreached where nothing was sent. Whatever else it (or the answer's body) raises means that the request may
    have arrived. Credentials are its own to add: no request here carries any.
    """

    async def __call__(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes
    ) -> HttpResponse: ...


@dataclass(frozen=True, slots=True)
class Answered:
    """A whole answer, or as much of it as we read."""

    status: int
    media: str
    body: bytes
    whole: bool = True
    retry_after: str = ""


async def exchange(send: SendHttp, request: OpenApiRequest, most: int) -> Answered:
    """Send a request and read at most so many bytes of the answer; raises Unreached or Lost."""
    try:
        response = await send(request.method, request.url, request.headers, request.body)
        headers = {name.lower(): value for name, value in response.headers}
        body, whole = await _read(response, most)
    except (NotReached, OutcomeUnknown):
        raise
    except Exception as error:
        raise OutcomeUnknown(f"{request.method} ended without an answer: {type(error).__name__}") from error
    media = bare_type(_text(headers.get(b"content-type")))
    coding = _text(headers.get(b"content-encoding"))
    if coding and coding != "identity":  # nobody asked for it, so nobody reads it
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
