"""Fetches documents from configured addresses."""

from __future__ import annotations

import time
from typing import Any

import orjson

from assent.upstreams.http.address import UpstreamAddress
from assent.upstreams.http.circuit_breaker import CircuitBreaker
from assent.upstreams.http.pool import Limits, Pool


async def fetch_json(url: str) -> Any:
    """Fetch a JSON document from a configured address."""
    return orjson.loads(await fetch(url, 1024 * 1024, "identity provider"))


async def fetch_text(url: str) -> str:
    """Fetch an API description from a configured address."""
    return (await fetch(url, 64 * 1024 * 1024, "API description")).decode("utf-8")


async def fetch(url: str, most: int, what: str) -> bytes:
    """Fetch the content of a configured address, with a size limit and without redirects."""
    limits, circuit_breaker = Limits(connections=1, silence=5, total=10), CircuitBreaker(what, time.monotonic)
    pool = Pool(what, UpstreamAddress.of(url), limits, circuit_breaker)
    try:
        response = await pool.send(b"GET", [(b"accept", b"application/json")], safe=True)
        if response.status != 200:
            raise ValueError(f"answered {response.status}")
        return await response.read(most)
    finally:
        await pool.close()
