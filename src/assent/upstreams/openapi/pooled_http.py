"""How does a request travel over an upstream's own connections?"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from assent.edges.upstreams.connection import Response
from assent.edges.upstreams.faults import Fault
from assent.edges.upstreams.openapi.exchange import Send
from assent.edges.upstreams.pool import Pool
from assent.ports import Lost, Unreached

_SAFE = frozenset({"GET", "HEAD"})


def send_over(pool: Pool) -> Send:
    """Requests over a pool, whose target alone decides the host; its configured headers carry the credentials."""

    async def send(method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes) -> Response:
        parts = urlsplit(url)
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        fields = [(name.encode("ascii"), value.encode("ascii")) for name, value in headers]
        try:
            return await pool.send(
                method.encode("ascii"), fields, body, path=path.encode("ascii"), safe=method in _SAFE
            )
        except Fault as fault:
            raise (Lost if fault.sent else Unreached)(str(fault)) from fault

    return send
