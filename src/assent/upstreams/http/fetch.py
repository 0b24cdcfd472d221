"""Single exchanges with configured addresses."""

from __future__ import annotations

import time
from typing import Any

import orjson

from assent.upstreams.http.address import Fields, UpstreamAddress
from assent.upstreams.http.circuit_breaker import CircuitBreaker
from assent.upstreams.http.pool import Limits, Pool


async def fetch_json(url: str) -> Any:
    """Fetch a JSON document from a configured address."""
    return orjson.loads(await fetch(url, 1024 * 1024, "identity provider"))


async def fetch_text(url: str) -> str:
    """Fetch an API description from a configured address."""
    return (await fetch(url, 64 * 1024 * 1024, "API description")).decode("utf-8")


async def fetch(url: str, most: int, what: str) -> bytes:
    """Fetch the content of a configured address."""
    status, content = await exchange(what, b"GET", url, [(b"accept", b"application/json")], most=most)
    if status != 200:
        raise ValueError(f"answered {status}")
    return content


async def exchange(
    what: str, method: bytes, url: str, fields: Fields, body: bytes = b"", *, most: int
) -> tuple[int, bytes]:
    """Send one request; its status and content, with limits on time and size and without redirects."""
    limits, circuit_breaker = Limits(connections=1, silence=5, total=10), CircuitBreaker(what, time.monotonic)
    pool = Pool(what, UpstreamAddress.of(url), limits, circuit_breaker)
    try:
        response = await pool.send(method, fields, body, safe=method == b"GET")
        return response.status, await response.read(most)
    finally:
        await pool.close()
