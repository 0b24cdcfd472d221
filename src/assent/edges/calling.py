"""How are the tools of a server called from a program or a command line?"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError

from assent.errors import AssentError, UnansweredError

PATIENCE = 30.0


class Caller:
    """A connection on which tools are called, one call at a time."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The result as JSON; raises UnansweredError where there is none."""
        try:
            result = await self._client.call_tool(tool, dict(arguments), read_timeout_seconds=PATIENCE)
        except (MCPError, TimeoutError) as error:
            raise UnansweredError(str(error) or "it took too long") from None
        said: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        return said


@asynccontextmanager
async def calling(
    server: Any = None,
    *,
    url: str | None = None,
    command: Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
) -> AsyncIterator[Caller]:
    """Connect to a server object, a URL or a command while the block runs."""
    async with AsyncExitStack() as stack:
        where: Any = server
        if command:
            where = StdioServerParameters(command=command[0], args=list(command[1:]))
        elif url is not None:
            http = await stack.enter_async_context(create_mcp_http_client(headers=dict(headers or {})))
            where = streamable_http_client(url, http_client=http)
        try:
            client = await stack.enter_async_context(Client(where))
        except (OSError, MCPError, BaseExceptionGroup) as error:
            raise AssentError(f"the server cannot be reached: {error}") from None
        yield Caller(client)
