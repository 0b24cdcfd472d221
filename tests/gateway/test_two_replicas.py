"""Do two gateways, each a process of its own, hold what one would promise, on one PostgreSQL?"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.server.mcpserver import MCPServer

from assent.contract.yaml_document import write_yaml
from assent.stores import open_store
from support.clients.transports import over_http
from support.decisions.problems import problem
from support.gateway.gateways import HEADERS, rpc
from support.processes.servers import commanded
from support.stores.postgres_server import drop_store, new_store_url

CALLERS = 200


class Shop:
    """An ordinary server with its own log of what happened; an order takes until it is let go."""

    def __init__(self) -> None:
        self.effects: list[str] = []
        self.ordered, self.go = asyncio.Event(), asyncio.Event()
        self.server = MCPServer("shop", log_level="ERROR")

        @self.server.tool()
        def note(text: str) -> dict[str, int]:
            """Writes a note."""
            self.effects.append(text)
            return {"number": len(self.effects)}

        @self.server.tool()
        async def order(item: str) -> dict[str, int]:
            """Orders something."""
            self.effects.append(item)
            self.ordered.set()
            await self.go.wait()
            return {"order": len(self.effects)}


class Replicas:
    """Two gateways and what is behind them."""

    def __init__(self, shop: Shop, store: str, file: Path, urls: list[str]) -> None:
        self.shop, self.store, self.file, self.urls = shop, store, file, urls

    async def call(self, client: httpx2.AsyncClient, which: int, tool: str, key: str, **arguments: Any) -> Any:
        body = json.dumps(rpc("tools/call", name=tool, arguments=arguments)).encode()
        headers = {**HEADERS, "idempotency-key": json.dumps(key)}
        answer = await client.post(self.urls[which], content=body, headers=headers)
        return json.loads(answer.text.rsplit("data: ", 1)[-1])["result"]


@pytest.fixture
async def replicas(tmp_path: Path) -> AsyncIterator[Replicas]:
    shop, store, file = Shop(), await new_store_url(), tmp_path / "assent.yaml"
    contracts = {
        "note": {"side_effect": "write"},
        "order": {"side_effect": "external_spend", "confirmation": {"by": "approver"}},
    }
    (tmp_path / "contracts.yaml").write_text(write_yaml({"tools": contracts}))
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(over_http(shop.server))
        settings = {
            "store": store,
            "upstreams": {"shop": {"url": upstream}},
            "contracts": [str(tmp_path / "contracts.yaml")],
            "auth": {"anonymous": {"kind": "agent", "scopes": ["*"]}},
            "secrets": {"directory": str(tmp_path / "keys")},
        }
        file.write_text(write_yaml(settings))
        serve = ("serve", "-c", str(file), "--port", "0")
        commands = [await stack.enter_async_context(commanded(*serve)) for _ in range(2)]
        said = await asyncio.gather(*(command.said(r"at (http\S+/mcp)") for command in commands))
        yield Replicas(shop, store, file, [found[1] for found in said])
    await drop_store(store)


def client() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(limits=httpx2.Limits(max_connections=400), timeout=120, trust_env=False)


async def test_two_hundred_callers_at_two_processes_with_one_key_have_one_effect(replicas: Replicas) -> None:
    async with client() as callers:
        for number in range(2):
            calls = (
                replicas.call(callers, each % 2, "note", f"key {number}", text=f"note {number}")
                for each in range(CALLERS)
            )
            results = await asyncio.gather(*calls)
            assert [result["structuredContent"] for result in results] == [{"number": number + 1}] * CALLERS
    assert replicas.shop.effects == ["note 0", "note 1"]


async def test_an_approved_call_whose_answer_was_lost_replays_at_the_other_without_a_second_approval(
    replicas: Replicas,
) -> None:
    shop = replicas.shop
    async with client() as caller:
        asked = problem(await replicas.call(caller, 0, "order", "k", item="pen"))
        assert asked["code"] == "confirm.approval_pending" and shop.effects == []
        async with commanded("approvals", "approve", asked["approval"], "--yes", "-c", str(replicas.file)) as command:
            assert await command.process.wait() == 0
        leaving = asyncio.create_task(replicas.call(caller, 0, "order", "k", item="pen"))
        await shop.ordered.wait()
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
    shop.go.set()
    async with client() as caller:
        again = await replicas.call(caller, 1, "order", "k", item="pen")
    assert again["structuredContent"] == {"order": 1} and again["_meta"]["dev.assent/replayed"]
    assert shop.effects == ["pen"]
    store = await open_store(replicas.store)
    assert len(await store.approvals()) == 1
    await store.close()
