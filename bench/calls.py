"""The requests that the benches send: no two have the same values, and callers and tools take turns.

Flow control, caches and prepared answers skip what repeats, so a bench that sends one call again and again measures
something that no user has.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from assent.mcp.requests import HEADER as KEY_HEADER
from bench.servers import READS, SAVES

CALLERS = 64
KEYS = [f"assent_bench{number:04}_a-key-of-the-bench-that-opens-nothing-else" for number in range(CALLERS)]
VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
}
Exchange = tuple[bytes, bytes]
"""A request, and what its answer must contain."""
Source = Callable[[int], Iterator[Exchange]]
"""What the connection with this number sends, without end."""
_NUMBERS = itertools.count(1)


def post(method: str, params: dict[str, object], *headers: str, key: str = KEYS[0]) -> bytes:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    body = orjson.dumps(message)
    lines = [
        "POST /mcp HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"MCP-Protocol-Version: {VERSION}",
        f"Mcp-Method: {method}",
        f"Authorization: Bearer {key}",
        *headers,
        f"Content-Length: {len(body)}",
        "",
        "",
    ]
    return "\r\n".join(lines).encode() + body


LIST = post("tools/list", {})


def write_arguments(number: int) -> dict[str, Any]:
    return {
        "a": number % 50,
        "b": f"Order {number} for ann{number}@example.com",
        "c": number / 8,
        "d": [number, number + 1, number + 2],
        "e": {"f": number % 2 == 0, "g": f"note {number:x}"},
    }


def read_arguments(number: int) -> dict[str, Any]:
    return {
        "a": f"order {number}",
        "b": f"ann{number}@example.com",
        "c": f"{number / 8}",
        "d": "all of this week",
        "e": f"page {number:x}",
    }


def call(tool: str, arguments: dict[str, Any], number: int, *headers: str) -> Exchange:
    request = post(
        "tools/call",
        {"name": tool, "arguments": arguments},
        f"Mcp-Name: {tool}",
        *headers,
        key=KEYS[number % CALLERS],
    )
    return request, orjson.dumps(arguments)


def writes(_: int) -> Iterator[Exchange]:
    return (call(SAVES[number % len(SAVES)], write_arguments(number), number) for number in _NUMBERS)


def keyed_writes(_: int) -> Iterator[Exchange]:
    """Each with an idempotency key of its own."""
    for number in _NUMBERS:
        yield call(SAVES[number % len(SAVES)], write_arguments(number), number, f"{KEY_HEADER}: order-{number}")


def reads(_: int) -> Iterator[Exchange]:
    return (call(READS[number % len(READS)], read_arguments(number), number) for number in _NUMBERS)


def echoes(_: int) -> Iterator[Exchange]:
    """Writes of the one tool that servers of other makers have too."""
    return (call("echo", write_arguments(number), number) for number in _NUMBERS)


def lists(_: int) -> Iterator[Exchange]:
    return (
        (post("tools/list", {}, key=KEYS[number % CALLERS]), f'"{READS[-1]}"'.encode()) for number in itertools.count()
    )
