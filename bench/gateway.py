"""The cost of a call through `assent serve`, beside a raw ASGI echo and FastMCP's proxy, in one run.

`python -m bench.gateway [--calls N] [--rounds N]`. The gateway is the real command with a configuration file. Each
server has one core to itself; the load and the upstream share the other. Read the ratios, not the rates, and nothing
into differences below one half.
"""

import argparse
import asyncio
import importlib.util
import os
import statistics
from collections.abc import Iterator
from contextlib import contextmanager

import orjson

from bench.load import Measured, measure
from bench.processes import KEY, serve, server

VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
}
ARGUMENTS = {"a": 1, "b": "two", "c": 3.5, "d": [1, 2, 3], "e": {"f": True}}


def post(method: str, params: dict[str, object], *headers: str) -> bytes:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    body = orjson.dumps(message)
    lines = [
        "POST /mcp HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"MCP-Protocol-Version: {VERSION}",
        f"Mcp-Method: {method}",
        f"Authorization: Bearer {KEY}",
        *headers,
        f"Content-Length: {len(body)}",
        "",
        "",
    ]
    return "\r\n".join(lines).encode() + body


CALL = post("tools/call", {"name": "echo", "arguments": ARGUMENTS}, "Mcp-Name: echo")
LIST = post("tools/list", {})
ECHOED = orjson.dumps(ARGUMENTS)


@contextmanager
def gateway(url: str, *, core: int) -> Iterator[tuple[int, int]]:
    """`assent serve` with three guards on SQLite; gives its process id and port."""
    with serve(url, core=core) as served:
        yield served.pid, served.port


Row = tuple[str, list[str], bytes, bytes, int]


async def run(calls: int, rounds: int) -> None:
    with server("echo", core=1) as (_, upstream_port), server("mcp", core=1) as (_, mcp_port):
        url, mcp = f"http://127.0.0.1:{upstream_port}/mcp", f"http://127.0.0.1:{mcp_port}/mcp"
        rows: list[Row] = [
            ("raw ASGI echo (ref)", ["echo"], CALL, ECHOED, calls),
            ("assent serve, tools/call, two durable writes", [], CALL, ECHOED, calls),
            ("assent serve, tools/list of 100", [], LIST, b'"tool_98"', calls),
        ]
        if importlib.util.find_spec("fastmcp") is not None:
            rows.append(("FastMCP proxy, tools/call", ["fastmcp", mcp], CALL, ECHOED, max(64, calls // 50)))
        results: dict[str, list[Measured]] = {row[0]: [] for row in rows}
        for _ in range(rounds):
            for title, arguments, request, expected, count in rows:
                with server(*arguments, core=0) if arguments else gateway(url, core=0) as (pid, port):
                    results[title].append(await measure(pid, port, request, expected, calls=count))
    report(results)


def report(results: dict[str, list[Measured]]) -> None:
    references = next(iter(results.values()))
    print(f"{'':44} {'calls/s':>9} {'CPU us/call':>12} {'/ ref':>6}")
    for title, measures in results.items():
        cpu = statistics.median(measured.cpu_us for measured in measures)
        rate = statistics.median(measured.per_second for measured in measures)
        ratio = statistics.median(own.cpu_us / ref.cpu_us for own, ref in zip(measures, references, strict=True))
        print(f"{title:44} {rate:9,.0f} {cpu:12.1f} {ratio:6.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    os.sched_setaffinity(0, {1})
    asyncio.run(run(options.calls, options.rounds))


if __name__ == "__main__":
    main()
