"""Some servers list tools only to a client that can be asked: the gateway lists and calls them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

from support.clients.transports import over_http
from support.gateway.gateways import Shop, gateway
from support.servers.loopback_server import serving
from support.servers.old_revision import aged


def asker() -> MCPServer:
    """A server whose only tool is listed to clients that can be asked."""
    server = MCPServer("asker", version="1")

    @server.tool(description="Gets a colour from the user.")
    async def get_colour(ctx: Context[Any, Any]) -> str:
        form = {"type": "object", "properties": {"colour": {"type": "string"}}}
        told = await ctx.session.elicit_form("Which colour?", form, related_request_id=ctx.request_id)
        return f"{told.action} {(told.content or {}).get('colour')}"

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        client = context.session.client_params
        can_be_asked = client is not None and client.capabilities.elicitation is not None
        return types.ListToolsResult(tools=await server.list_tools() if can_be_asked else [])

    server._lowlevel_server.add_request_handler("tools/list", types.PaginatedRequestParams, list_tools)
    return server


async def green(_: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"colour": "green"})


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("merged", [False, True])
async def test_a_tool_for_clients_that_can_be_asked_is_listed_and_asks(merged: bool, mode: str, tmp_path: Path) -> None:
    app = aged(asker().streamable_http_app(), "handshake")
    async with serving(app) as url, over_http(Shop().server) as shop:
        upstreams = {"asker": {"url": url}} | ({"shop": {"url": shop}} if merged else {})
        async with gateway(tmp_path, upstreams, mode="observe") as (gateway_url, _):
            async with Client(gateway_url, mode=mode, elicitation_callback=green) as client:
                name = "asker_get_colour" if merged else "get_colour"
                listed = [tool.name for tool in (await client.list_tools()).tools]
                called = await client.call_tool(name, {})
    assert name in listed
    assert called.content[0].text == "accept green"  # type: ignore[union-attr]
