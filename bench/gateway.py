"""The cost of a call through `assent serve`, beside a raw ASGI echo and FastMCP's proxy, in one run.

`python -m bench.gateway [--calls N] [--rounds N]`. The gateway is the real command with a configuration file. Each
server has one core to itself; the load and the upstream share the other. Read the ratios, not the rates, and nothing
into differences below one half.
"""

import argparse
import asyncio
import importlib.util
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import yaml

from bench.load import Measured, measure
from bench.servers import TOOLS

KEY = "assent_bench0000_a-key-of-the-bench-that-opens-nothing-else"
_VERSION = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": _VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
}
_ARGUMENTS = {"a": 1, "b": "two", "c": 3.5, "d": [1, 2, 3], "e": {"f": True}}


def post(method: str, params: dict[str, object], *headers: str) -> bytes:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": _META}}
    body = orjson.dumps(message)
    lines = [
        "POST /mcp HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"MCP-Protocol-Version: {_VERSION}",
        f"Mcp-Method: {method}",
        f"Authorization: Bearer {KEY}",
        *headers,
        f"Content-Length: {len(body)}",
        "",
        "",
    ]
    return "\r\n".join(lines).encode() + body


CALL = post("tools/call", {"name": "echo", "arguments": _ARGUMENTS}, "Mcp-Name: echo")
LIST = post("tools/list", {})
CONTRACTS = {
    "echo": {"side_effect": "compute", "permissions": ["orders:write"]},
    **{str(tool["name"]): {"side_effect": "read"} for tool in TOOLS},
}
GUARDS = [
    {"rule": "allow_domains", "domains": ["example.com"]},
    {"rule": "bounds", "fields": ["a"], "most": 50},
    {"rule": "block_keywords", "keywords": ["password"]},
]
ECHOED = orjson.dumps(_ARGUMENTS)


@contextmanager
def process(*command: str, core: int, said: int) -> Iterator["subprocess.Popen[str]"]:
    """A process on a core of its own, whose output `said` is read here."""
    pipes = {("stdout", "stderr")[said - 1]: subprocess.PIPE}
    started = subprocess.Popen(command, text=True, preexec_fn=lambda: os.sched_setaffinity(0, {core}), **pipes)
    try:
        yield started
    finally:
        started.terminate()
        started.communicate()


@contextmanager
def server(name: str, *arguments: str, core: int) -> Iterator[tuple[int, int]]:
    """A server of `bench.servers`; gives its process id and port."""
    with process(sys.executable, "-m", "bench.servers", name, *arguments, core=core, said=1) as running:
        assert running.stdout is not None
        yield running.pid, int(running.stdout.readline())


@contextmanager
def gateway(url: str, *, core: int) -> Iterator[tuple[int, int]]:
    """`assent serve`: a key, scopes, schemas, three guards, intent and outcome durable in SQLite."""
    with tempfile.TemporaryDirectory(prefix="assent-bench-") as name:
        folder = Path(name)
        (folder / "contracts.yaml").write_text(yaml.safe_dump({"tools": CONTRACTS}))
        settings = {
            "store": "sqlite:///assent.db",
            "upstreams": {"echo": {"url": url}},
            "contracts": ["contracts.yaml"],
            "guards": GUARDS,
            "auth": {"api_keys": [{"key": KEY, "name": "bench", "kind": "agent", "scopes": ["orders:*"]}]},
            "secrets": {"directory": "keys"},
        }
        (folder / "assent.yaml").write_text(yaml.safe_dump(settings))
        command = str(Path(sys.executable).with_name("assent"))
        options = ["serve", "-c", str(folder / "assent.yaml"), "--port", "0", "--log-level", "error"]
        with process(command, *options, core=core, said=2) as running:
            assert running.stderr is not None
            yield running.pid, _port(running.stderr)


def _port(lines: Iterator[str]) -> int:
    for line in lines:
        if found := re.search(r"serves 100 tools at http://127.0.0.1:(\d+)/mcp", line):
            return int(found[1])
        print(line, end="", file=sys.stderr)
    raise RuntimeError("assent serve did not start")


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
