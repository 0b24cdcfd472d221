"""Sends HTTP requests over an upstream's connection pool."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from assent.ports import NotReached, OutcomeUnknown
from assent.upstreams.errors import UpstreamError
from assent.upstreams.http.connection import UpstreamResponse
from assent.upstreams.http.pool import Pool
from assent.upstreams.openapi.http import SendHttp

_SAFE = frozenset({"GET", "HEAD"})


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
