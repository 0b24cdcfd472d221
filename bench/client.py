"""What does the governed client add to a call that needs no question?

The same in-memory server is called through the official client and through governed ones, in short turns that follow
each other. Both processor time and wall time are taken; the median of the differences between neighbouring turns is
what governing costs. The bar is held against processor time: on a busy machine wall time measures the neighbours.
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
ROUNDS, CALLS = 150, 20
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


async def _microseconds(call: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """Processor and wall time of one call."""
    start, wall = time.process_time(), time.perf_counter()
    for _ in range(CALLS):
        await call()
    return (time.process_time() - start) / CALLS * 1e6, (time.perf_counter() - wall) / CALLS * 1e6


async def measure() -> dict[str, tuple[float, float]]:
    """Microseconds per call, by processor and wall, through the official client, and what a governed one adds."""
    server: Server[Any] = Server("bench", on_list_tools=_list, on_call_tool=_call)
    taken: dict[str, list[tuple[float, float]]] = {"plain": [], "trusted": [], "untrusted": []}
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
    return {name: _median(turns, taken["plain"] if name != "plain" else None) for name, turns in taken.items()}


def _median(turns: list[tuple[float, float]], than: list[tuple[float, float]] | None) -> tuple[float, float]:
    """By processor and by wall: the median, or the median of what is more than in the neighbouring turn."""
    columns = [list(column) for column in zip(*turns, strict=True)]
    if than is not None:
        others = zip(*than, strict=True)
        columns = [list(map(operator.sub, mine, other)) for mine, other in zip(columns, others, strict=True)]
    cpu, wall = (statistics.median(column) for column in columns)
    return cpu, wall


def main() -> int:
    found = asyncio.run(measure())
    worst = max(found["trusted"][0], found["untrusted"][0])
    print(f"{'':22}{'processor':>12}{'wall':>12}   µs per call")
    for name, words in (("plain", "official client"), ("trusted", "governed, trusted +"), ("untrusted", "untrusted +")):
        cpu, wall = found[name]
        print(f"{words:22}{cpu:12.1f}{wall:12.1f}")
    print(f"bar: {BAR:.0f} µs added: {'kept' if worst <= BAR else 'MISSED'}")
    return int(worst > BAR)


if __name__ == "__main__":
    raise SystemExit(main())
