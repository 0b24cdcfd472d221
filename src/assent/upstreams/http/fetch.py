"""How is a document read from an address that configuration named?"""

from __future__ import annotations

import time
from typing import Any

import orjson

from assent.upstreams.http.address import UpstreamAddress
from assent.upstreams.http.circuit_breaker import CircuitBreaker
from assent.upstreams.http.pool import Limits, Pool


async def fetch_json(url: str) -> Any:
    """A JSON document from an address that configuration named."""
    return orjson.loads(await fetch(url, 1024 * 1024, "identity provider"))


async def fetch_text(url: str) -> str:
    """An API description from an address that configuration named."""
    return (await fetch(url, 64 * 1024 * 1024, "API description")).decode("utf-8")


async def fetch(url: str, most: int, what: str) -> bytes:
    """What lies at an address that configuration named; bounded, and no redirects."""
    limits, circuit_breaker = Limits(connections=1, silence=5, total=10), CircuitBreaker(what, time.monotonic)
    pool = Pool(what, UpstreamAddress.of(url), limits, circuit_breaker)
    try:
        response = await pool.send(b"GET", [(b"accept", b"application/json")], safe=True)
        if response.status != 200:
            raise ValueError(f"answered {response.status}")
        return await response.read(most)
    finally:
        await pool.close()
