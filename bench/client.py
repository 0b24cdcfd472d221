"""What does the governed client add to a call that needs no question?

The same in-memory server is called through the official client and through governed ones, in short turns. What is
measured is processor time; the median of the differences between neighbouring turns is what governing costs.
"""

from __future__ import annotations

import asyncio
import operator
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp import Client
from mcp.server.lowlevel import Server

from assent import GovernedClient

BAR = 100.0
ROUNDS, CALLS = 60, 50
ARGUMENTS = {
    "item": "archive scene",
    "quantity": 2,
    "to": ["ann@example.com"],
    "note": "leave at door",
    "express": True,
}
TOOL = types.Tool(
    name="list_orders",
    input_schema={"type": "object", "properties": {name: {} for name in ARGUMENTS}},
    annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=True),
    _meta={"x-side-effect": "read"},
)
ANSWER = types.CallToolResult(content=[types.TextContent(type="text", text="[]")], structured_content={"orders": []})


async def _list(context: Any, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[TOOL])


async def _call(context: Any, params: Any) -> types.CallToolResult:
    return ANSWER


async def _microseconds(call: Callable[[], Awaitable[object]]) -> float:
    start = time.process_time()
    for _ in range(CALLS):
        await call()
    return (time.process_time() - start) / CALLS * 1e6


async def measure() -> dict[str, float]:
    """Microseconds per call through the official client, and what a governed one adds."""
    server: Server[Any] = Server("bench", on_list_tools=_list, on_call_tool=_call)
    taken: dict[str, list[float]] = {"plain": [], "trusted": [], "untrusted": []}
    async with (
        Client(server) as plain,
        GovernedClient(server, trusted=True) as trusted,
        GovernedClient(server) as other,
    ):
        await plain.list_tools()
        for _ in range(ROUNDS):
            taken["plain"].append(await _microseconds(lambda: plain.call_tool("list_orders", ARGUMENTS)))
            taken["trusted"].append(await _microseconds(lambda: trusted.call_tool("list_orders", ARGUMENTS)))
            taken["untrusted"].append(await _microseconds(lambda: other.call_tool("list_orders", ARGUMENTS)))
    added = {
        name: statistics.median(map(operator.sub, taken[name], taken["plain"])) for name in ("trusted", "untrusted")
    }
    return {"plain": statistics.median(taken["plain"]), **added}


def main() -> int:
    found = asyncio.run(measure())
    worst = max(found["trusted"], found["untrusted"])
    print(f"official client       {found['plain']:7.1f} µs per call")
    print(f"governed, trusted   + {found['trusted']:7.1f} µs")
    print(f"governed, untrusted + {found['untrusted']:7.1f} µs")
    print(f"bar: {BAR:.0f} µs added: {'kept' if worst <= BAR else 'MISSED'}")
    return int(worst > BAR)


if __name__ == "__main__":
    raise SystemExit(main())
