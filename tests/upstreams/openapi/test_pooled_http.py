"""Calls over our own connection pool."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from assent.core.outcome import Refusal
from assent.upstreams.http.address import UpstreamAddress
from assent.upstreams.http.circuit_breaker import CircuitBreaker
from assent.upstreams.http.pool import Limits, Pool
from assent.upstreams.openapi.document import library_of
from assent.upstreams.openapi.link import OpenApiUpstream, SendHttp, send_over
from assent.upstreams.openapi.tools import read_api
from support.openapi.documents import ORDERS
from support.openapi.service import Orders, serving
from support.openapi.worlds import FREE, structured, world_of

READ = read_api(library_of(json.dumps(ORDERS)))


@asynccontextmanager
async def pooled(url: str) -> AsyncIterator[SendHttp]:
    target = UpstreamAddress.of(url, {"Authorization": "Bearer of-the-upstream"})
    pool = Pool("shop", target, Limits(), CircuitBreaker("shop", asyncio.get_running_loop().time))
    try:
        yield send_over(pool)
    finally:
        await pool.close()


async def test_calls_go_through_with_the_upstreams_own_credentials() -> None:
    service = Orders()
    async with serving(service.app()) as url, pooled(url) as send:
        world = world_of(READ, OpenApiUpstream(READ, url, send), place_order=FREE)
        placed = structured(await world.call("place_order", {"item": "té"}, key="k1"))
        assert structured(await world.call("list_orders", {"status": ["open"]})) == {"items": [placed], "count": 1}
        assert structured(await world.call("get_order", {"id": "none"}))["code"] == "not_found"
        assert {headers["authorization"] for _, _, headers in service.requests} == {"Bearer of-the-upstream"}
        assert all(headers["host"] == url.removeprefix("http://") for _, _, headers in service.requests)


async def test_a_connection_that_ends_early_leaves_a_doubt_and_none_at_all_does_not() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, pooled(url) as send:
        world = world_of(READ, OpenApiUpstream(READ, url, send), place_order=FREE)
        lost = await world.call("place_order", {"item": "tea"}, key="k1")
        assert isinstance(lost, Refusal)
        assert lost.code == "execute.in_doubt"
    async with pooled(url) as send:
        world = world_of(READ, OpenApiUpstream(READ, url, send), place_order=FREE)
        nothing = await world.call("place_order", {"item": "tea"}, key="k2")
        assert isinstance(nothing, Refusal)
        assert nothing.code == "execute.unavailable"
