"""The slow calls of one caller do not close an upstream to the others."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx2
from mcp.server import MCPServer

from support.clients.transports import over_http
from support.gateway.gateways import ANN_KEY, CI, gateway, post, rpc

KEYS = [
    {"name": "slow", "key": CI, "kind": "agent", "tenant": "red", "scopes": ["*"]},
    {"name": "ann", "key": ANN_KEY, "kind": "agent", "tenant": "blue", "scopes": ["*"]},
]


def shop() -> MCPServer:
    server = MCPServer("shop", log_level="ERROR")

    @server.tool()
    async def get_order(order_id: str) -> dict[str, str]:
        """Gets an order."""
        if order_id == "slow":
            await asyncio.Event().wait()
        return {"id": order_id}

    return server


async def get(url: str, key: str, order: str) -> Any:
    asked = rpc("tools/call", name="get_order", arguments={"order_id": order})
    answer: httpx2.Response = await post(url, asked, authorization=f"Bearer {key}")
    return answer.json()


async def test_calls_of_one_caller_that_time_out_do_not_refuse_another(tmp_path: Path) -> None:
    async with over_http(shop()) as upstream:
        upstreams = {"shop": {"url": upstream, "timeout": "1s"}}
        async with gateway(tmp_path, upstreams, auth={"api_keys": KEYS}) as (url, _):
            slow = await asyncio.gather(*(get(url, CI, "slow") for _ in range(12)))
            assert not any("result" in answer and not answer["result"].get("isError") for answer in slow)
            for number in range(20):
                answer = await get(url, ANN_KEY, f"o-{number}")
                assert answer["result"]["structuredContent"] == {"id": f"o-{number}"}, answer
