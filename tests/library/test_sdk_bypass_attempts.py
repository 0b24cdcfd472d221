"""No check that comes before authentication tells a hidden tool from an unknown one."""

from __future__ import annotations

from typing import Annotated, Any

import httpx2
import pytest
from mcp.server import MCPServer
from pydantic import Field

from assent.contract.decorator import contract
from assent.core.principal import Principal
from assent.library.governance import Assent
from support.clients.transports import over_http

AGENT = Principal("agent", "agent")
MIRRORED = Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]


def served(**fields: Any) -> MCPServer:
    """A server of one tool, whose argument is mirrored in a header."""

    @contract(**fields)
    def look(region: MIRRORED) -> str:
        return region

    assent = Assent(anonymous=AGENT)
    server = MCPServer("shop", extensions=[assent.extension()], log_level="CRITICAL")
    server.add_tool(look)
    assent.apply(server)
    return server


async def call(url: str, tool: str) -> tuple[int, bytes]:
    """A call whose header and argument do not agree; the tool's name in the answer is taken out."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": tool, "arguments": {"region": "north"}, "_meta": meta}
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": tool,
        "mcp-param-region": "south",
    }
    async with httpx2.AsyncClient(timeout=60) as client:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = await client.post(url, json=body, headers=headers)
    return answer.status_code, answer.content.replace(tool.encode(), b"NAME")


async def test_a_header_that_disagrees_is_told_for_a_tool_everybody_may_see() -> None:
    async with over_http(served(side_effect="read")) as url:
        assert (await call(url, "look"))[1] != (await call(url, "loot"))[1]


@pytest.mark.parametrize("fields", [{"risk": "forbidden"}, {"visibility": "hidden"}])
async def test_a_header_that_disagrees_tells_nothing_of_a_hidden_tool(fields: dict[str, str]) -> None:
    async with over_http(served(side_effect="read", **fields)) as url:
        assert await call(url, "look") == await call(url, "loot")
