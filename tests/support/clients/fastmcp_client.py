"""How does a test reach a server with FastMCP's own client?"""

from __future__ import annotations

from typing import Any

import fastmcp
import mcp_types as types
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport
from mcp import StdioServerParameters

from support.clients.transports import Person


class FastMCPClient:
    """FastMCP's own client; results come as the protocol has them."""

    def __init__(self, target: Any, era: str, person: Person | None, **options: Any) -> None:
        if isinstance(target, StdioServerParameters):
            target = StdioTransport(target.command, target.args, env=target.env, keep_alive=False)
        self._person = person
        self._client: fastmcp.Client[Any] = fastmcp.Client(
            target, mode=era, elicitation_handler=self._ask if person is not None else None, **options
        )

    async def _ask(self, message: str, kind: Any, params: types.ElicitRequestParams, context: Any) -> Any:
        assert self._person is not None
        return ElicitResult(action=(await self._person(context, params)).action)

    async def __aenter__(self) -> FastMCPClient:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *ending: Any) -> None:
        await self._client.__aexit__(*ending)

    @property
    def session(self) -> Any:
        return self._client.session

    async def list_tools(self) -> types.ListToolsResult:
        return await self._client.list_tools_mcp()

    async def call_tool(self, name: str, arguments: Any, meta: dict[str, Any] | None = None) -> types.CallToolResult:
        return await self._client.call_tool_mcp(name, arguments, meta=meta)
