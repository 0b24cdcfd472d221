"""A gateway in the test's own loop, in front of a shop that knows nothing of contracts."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp.server import MCPServer

from assent.config.load import parse_settings
from assent.contract.yaml_document import write_yaml
from assent.gateway.app import GatewayApp, open_gateway
from assent.gateway.status_pages import StatusPages
from assent.people.console.start import console_in_front
from support.clients.transports import over_http
from support.servers.loopback_server import serving

KEY = "dev.assent/idempotencyKey"
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
CI, ANN_KEY = "assent_ci000000_secret-of-ci", "assent_ann00000_secret-of-ann"


class Shop:
    """An ordinary server that knows nothing of contracts, and its own log of what happened."""

    def __init__(self) -> None:
        self.effects: list[str] = []
        self.server = MCPServer("shop", log_level="ERROR")
        add = self.server.tool()

        @add
        def list_orders(limit: int = 2) -> list[str]:
            """Lists orders."""
            return [f"o-{number}" for number in range(limit)]

        @add
        def place_order(item: str) -> dict[str, int]:
            """Places an order and charges the card."""
            self.effects.append(item)
            return {"order": len(self.effects)}

        @add
        def read_private_key() -> str:
            """Reads the private key."""
            return "key"

        @add
        def delete_order(order_id: str) -> dict[str, str]:
            """Deletes an order for good."""
            self.effects.append(f"delete {order_id}")
            return {"deleted": order_id}


CONTRACTS = {
    "place_order": {
        "side_effect": "external_spend",
        "permissions": ["orders:write"],
        "confirmation": {"by": "user"},
    },
    "delete_order": {"side_effect": "destructive", "permissions": ["orders:admin"], "confirmation": {"by": "approver"}},
}
ANYBODY = {"anonymous": {"kind": "agent", "scopes": ["*"]}}


def configuration(folder: Path, upstreams: dict[str, Any], **more: Any) -> str:
    (folder / "contracts.yaml").write_text(write_yaml({"tools": CONTRACTS}))
    settings = {
        "store": f"sqlite:///{folder}/assent.db",
        "upstreams": upstreams,
        "contracts": [str(folder / "contracts.yaml")],
        "auth": ANYBODY,
        "secrets": {"directory": str(folder / "keys")},
        **more,
    }
    return write_yaml(settings)


@asynccontextmanager
async def gateway(folder: Path, upstreams: dict[str, Any], **more: Any) -> AsyncIterator[tuple[str, GatewayApp]]:
    gateway_app = await open_gateway(parse_settings(configuration(folder, upstreams, **more)))
    await gateway_app.start()
    try:
        async with serving(gateway_app.app(console_in_front(gateway_app, StatusPages(gateway_app)))) as url:
            yield url, gateway_app
    finally:
        await gateway_app.stop()


@asynccontextmanager
async def shop_gateway(folder: Path, **more: Any) -> AsyncIterator[tuple[str, GatewayApp, Shop]]:
    shop = Shop()
    async with (
        over_http(shop.server) as upstream,
        gateway(folder, {"shop": {"url": upstream}}, **more) as (url, gateway_app),
    ):
        yield url, gateway_app, shop


def rpc(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


async def post(url: str, body: Any, **headers: str) -> httpx2.Response:
    async with httpx2.AsyncClient(timeout=60) as client:  # a busy machine is no failure
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await client.post(url, content=content, headers={**HEADERS, **headers})
