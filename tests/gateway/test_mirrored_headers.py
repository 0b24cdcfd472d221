"""Does an upstream get the headers by which it wants arguments mirrored, whoever calls and for whatever sake?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import pytest
from mcp import Client
from mcp.server import MCPServer
from pydantic import Field

from assent.contract.yaml_document import write_yaml
from support.clients.transports import over_http
from support.gateway.gateways import Shop, gateway

Region = Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]
PLACE: dict[str, Any] = {
    "side_effect": "external_spend",
    "idempotency": {"key": "auto"},
    "confirmation": {"by": "none", "because": "a test"},
    "estimate": {"tool": "map_estimate", "amount": "/price"},
}
CONTRACTS = {"map_look": {"side_effect": "read"}, "map_estimate": {"side_effect": "read"}, "map_place": PLACE}


def mapping() -> MCPServer[Any]:
    """A server of the modern era that checks the headers it asks for."""
    server: MCPServer[Any] = MCPServer("map", log_level="ERROR")

    @server.tool()
    def look(region: Region) -> dict[str, str]:
        """Looks up a region."""
        return {"region": region}

    @server.tool()
    def estimate(region: Region) -> dict[str, int]:
        """Estimates what a map costs."""
        return {"price": 7}

    @server.tool()
    def place(region: Region) -> dict[str, str]:
        """Orders a map."""
        return {"ordered": region}

    return server


@asynccontextmanager
async def in_front(folder: Path, mode: str) -> AsyncIterator[Client]:
    (folder / "map.yaml").write_text(write_yaml({"tools": CONTRACTS}))
    async with over_http(mapping()) as one, over_http(Shop().server) as other:
        upstreams, files = {"map": {"url": one}, "shop": {"url": other}}, [str(folder / "map.yaml")]
        async with gateway(folder, upstreams, contracts=files) as (url, _), Client(url, mode=mode) as client:
            await client.list_tools()
            yield client


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_calls_and_estimates_bring_the_headers_of_their_tool(mode: str, tmp_path: Path) -> None:
    async with in_front(tmp_path, mode) as client:
        for region in ("eu", "süd\n"):
            assert (await client.call_tool("map_look", {"region": region})).structured_content == {"region": region}
            assert (await client.call_tool("map_place", {"region": region})).structured_content == {"ordered": region}
