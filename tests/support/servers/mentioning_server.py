"""A server on its standard streams whose instructions, prompts, resources and completions mention a tool for people.

With the argument `unlisted` its list of tools fails.
"""

import sys
from typing import Any

from mcp.server import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, Completion

SECRET = "read_private_key"
server = MCPServer("shop", instructions=f"Sells scenes.\nUse {SECRET} for keys.\nBe polite.", log_level="ERROR")


@server.tool(description=f"Lists orders. Unlike {SECRET}, it changes nothing. Up to ten.")
def list_orders(limit: int = 2) -> list[str]:
    return ["o-1"][:limit]


@server.tool(name=SECRET)
def secret() -> str:
    """Reads the private key."""
    return "key"


@server.prompt(description=f"Explains a tool. See `{SECRET}`.")
def explain(tool: str) -> str:
    return f"Explain {tool}."


@server.resource("notes://one", description=f"Notes on orders. Written by {SECRET}.")
def notes() -> str:
    return "none"


@server.completion()
async def complete(ref: Any, argument: Any, context: Any) -> Completion:
    return Completion(values=["list_orders", SECRET], total=2)


async def unlisted() -> Any:
    raise MCPError(INTERNAL_ERROR, "no list today")


if "unlisted" in sys.argv:
    server.list_tools = unlisted  # type: ignore[method-assign]
server.run("stdio")
