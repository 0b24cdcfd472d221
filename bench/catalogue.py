"""A large catalogue: start, list, memory; and a server that lists far too many tools.

    python -m bench.catalogue [--upstreams 100] [--tools 100]

`assent serve` in front of so many servers with so many tools each. Then the same with one more server, which lists five
hundred times as many tools: it must cost no more, and the operator must read why it is left out.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

from bench.calls import LIST
from bench.load import Caller, cpu_seconds
from bench.processes import ASSENT, KEY, process, server

MOST_MEMORY = 300
"""Megabytes for 10,000 tools."""


async def time_list(port: int, expected: bytes, times: int = 20) -> tuple[float, int]:
    """The seconds of a list at the median, and its bytes."""
    loop, took = asyncio.get_running_loop(), []
    sizes: list[int] = []

    class Counted(Caller):
        def data_received(self, data: bytes) -> None:
            sizes.append(len(data))
            super().data_received(data)

    for _ in range(times):
        done: asyncio.Future[None] = loop.create_future()
        started = time.perf_counter()
        await loop.create_connection(lambda done=done: Counted([(LIST, expected)], done), "127.0.0.1", port)
        await done
        took.append(time.perf_counter() - started)
    return statistics.median(took), sum(sizes) // times


def measure(upstreams: dict[str, Any], tools: int, title: str) -> float:
    with tempfile.TemporaryDirectory(prefix="assent-bench-") as folder:
        settings = {
            "store": "sqlite:///assent.db",
            "upstreams": upstreams,
            "auth": {"api_keys": [{"key": KEY, "name": "bench", "kind": "agent", "scopes": ["*"]}]},
            "secrets": {"directory": "keys"},
        }
        Path(folder, "assent.yaml").write_text(yaml.safe_dump(settings))
        started = time.perf_counter()
        with process(ASSENT, "serve", "-c", f"{folder}/assent.yaml", "--port", "0", said=2) as running:
            port, warnings = _wait(running)
            ready, cpu = time.perf_counter() - started, cpu_seconds(running.pid)
            seconds, size = asyncio.run(time_list(port, f"tool_{tools - 1}".encode()))
            memory = int(Path(f"/proc/{running.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    print(f"{title}: ready in {ready:.1f} s ({cpu:.1f} s of processor time), {memory / 1e6:.0f} MB resident")
    print(f"   tools/list: {size / 1e6:.1f} MB in {seconds * 1000:.1f} ms at the median, load {os.getloadavg()[0]:.1f}")
    for line in warnings:
        print(f"   it said: {line}")
    return memory / 1e6


def _wait(running: subprocess.Popen[str]) -> tuple[int, list[str]]:
    assert running.stderr is not None
    warnings = []
    for line in running.stderr:
        if found := re.search(r"serves (\d+) tools at http://127.0.0.1:(\d+)/mcp", line):
            warnings.append(f"serves {found[1]} tools")
            return int(found[2]), warnings
        if re.search("huge|ERROR|WARNING", line):
            warnings.append(line.strip()[:240])
    raise RuntimeError("assent serve did not start")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--upstreams", type=int, default=100)
    parser.add_argument("--tools", type=int, default=100)
    options = parser.parse_args()
    with server("many", str(options.tools)) as (_, port):
        names = {f"s{number}": {"url": f"http://127.0.0.1:{port}/{number}"} for number in range(options.upstreams)}
        memory = measure(names, options.tools, f"{options.upstreams} servers with {options.tools} tools each")
        huge = {"huge": {"url": f"http://127.0.0.1:{port}/huge/1"}}
        more = measure({**names, **huge}, options.tools, f"the same and one with {options.tools * 500:,} tools")
    print(f"GATE: {max(memory, more):.0f} MB of {MOST_MEMORY} with {options.upstreams * options.tools:,} tools")
    return 0 if max(memory, more) <= MOST_MEMORY else 1


if __name__ == "__main__":
    sys.exit(main())
