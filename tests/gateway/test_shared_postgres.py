"""Do two gateways on one PostgreSQL have one effect for one key, and one budget for one caller?"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.server.mcpserver import MCPServer

from assent.config.load import parse_settings
from assent.contract.yaml_document import write_yaml
from assent.gateway.app import open_gateway
from support.clients.transports import over_http
from support.decisions.problems import problem
from support.servers.loopback_server import serving
from support.stores.postgres_server import drop_store, new_store_url

HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
CALLERS = 200


class Shop:
    """An ordinary server with its own log of what happened."""

    def __init__(self) -> None:
        self.effects: list[str] = []
        self.server = MCPServer("shop", log_level="ERROR")

        @self.server.tool()
        def note(text: str) -> dict[str, int]:
            """Writes a note."""
            self.effects.append(text)
            return {"number": len(self.effects)}


@pytest.fixture
async def gateway_apps(tmp_path: Path) -> AsyncIterator[tuple[Shop, list[str]]]:
    shop, store = Shop(), await new_store_url()
    (tmp_path / "contracts.yaml").write_text(write_yaml({"tools": {"note": {"side_effect": "write"}}}))
    urls = []
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(over_http(shop.server))
        settings = {
            "store": store,
            "upstreams": {"shop": {"url": upstream}},
            "contracts": [str(tmp_path / "contracts.yaml")],
            "auth": {"anonymous": {"kind": "agent", "scopes": ["*"]}},
            "secrets": {"directory": str(tmp_path / "keys")},
            "budgets": [{"amount": 15, "per": "1d"}],
        }
        for _ in range(2):
            gateway_app = await open_gateway(parse_settings(write_yaml(settings)))
            await gateway_app.start()
            stack.push_async_callback(gateway_app.stop)
            urls.append(await stack.enter_async_context(serving(gateway_app.app(_nothing_else))))
        yield shop, urls
    await drop_store(store)


async def _nothing_else(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 404, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def call(client: httpx2.AsyncClient, url: str, text: str, key: str) -> dict[str, Any]:
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "note", "arguments": {"text": text}},
    }
    answer = await client.post(
        url, content=json.dumps(body).encode(), headers={**HEADERS, "idempotency-key": json.dumps(key)}
    )
    assert "result" in answer.json(), answer.text
    result: dict[str, Any] = answer.json()["result"]
    return result


async def test_two_hundred_callers_at_two_gateways_with_one_key_have_one_effect(
    gateway_apps: tuple[Shop, list[str]],
) -> None:
    shop, urls = gateway_apps
    async with httpx2.AsyncClient(limits=httpx2.Limits(max_connections=400), timeout=60) as client:
        for number in range(3):
            calls = (call(client, urls[each % 2], f"note {number}", f"key {number}") for each in range(CALLERS))
            results = await asyncio.gather(*calls)
            assert [result["structuredContent"] for result in results] == [{"number": number + 1}] * CALLERS
    assert shop.effects == ["note 0", "note 1", "note 2"]


async def test_a_budget_holds_for_both_gateways_together(gateway_apps: tuple[Shop, list[str]]) -> None:
    shop, urls = gateway_apps
    async with httpx2.AsyncClient(limits=httpx2.Limits(max_connections=400), timeout=60) as client:
        calls = (call(client, urls[each % 2], "note", f"key {each}") for each in range(60))
        results = await asyncio.gather(*calls)
    refused = [problem(result)["code"] for result in results if result.get("isError")]
    assert refused == ["claim.budget_exceeded"] * 45
    assert len(shop.effects) == 15
