"""The cost of a call through `assent serve`, beside a raw ASGI echo and FastMCP's proxy, in one run.

`python -m bench.gateway [--calls N] [--rounds N]`. The gateway is the real command with a configuration file. Each
server has one core to itself; the load and the upstream share the other. Values, callers and tools differ from call to
call. Read the ratios, not the rates, and nothing into differences below one half.
"""

import argparse
import asyncio
import importlib.util
import os
import statistics
from collections.abc import Iterator
from contextlib import contextmanager

from bench.calls import Source, echoes, keyed_writes, lists, reads, writes
from bench.load import Measured, measure
from bench.processes import GUARDS, serve, server


@contextmanager
def gateway(url: str, *, core: int, guarded: bool = False) -> Iterator[tuple[int, int]]:
    """`assent serve` with its defaults on SQLite, and with three guards; gives its process id and port."""
    with serve(url, core=core, guards=GUARDS if guarded else ()) as served:
        yield served.pid, served.port


Row = tuple[str, list[str], Source, int]


async def run(calls: int, rounds: int) -> None:
    with server("echo", core=1) as (_, upstream_port), server("mcp", core=1) as (_, mcp_port):
        url, mcp = f"http://127.0.0.1:{upstream_port}/mcp", f"http://127.0.0.1:{mcp_port}/mcp"
        rows: list[Row] = [
            ("raw ASGI echo (ref)", ["echo"], writes, calls),
            ("assent serve, write, two durable records", [], writes, calls),
            ("assent serve, write with a key", [], keyed_writes, calls),
            ("assent serve, write, three guards", [], writes, calls),
            ("assent serve, read", [], reads, calls),
            ("assent serve, tools/list of 100", [], lists, calls),
        ]
        if importlib.util.find_spec("fastmcp") is not None:
            rows.append(("FastMCP proxy, tools/call", ["fastmcp", mcp], echoes, max(64, calls // 50)))
        results: dict[str, list[Measured]] = {row[0]: [] for row in rows}
        for _ in range(rounds):
            for title, arguments, source, count in rows:
                with (
                    server(*arguments, core=0) if arguments else gateway(url, core=0, guarded="guards" in title) as (
                        pid,
                        port,
                    )
                ):
                    results[title].append(await measure(pid, port, source, calls=count))
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
