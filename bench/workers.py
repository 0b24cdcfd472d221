"""What a second worker gives: `python -m bench.workers [--workers 1 2] [--rounds 3] [--calls 6000]`.

Writes through `assent serve --workers N` on SQLite and on PostgreSQL, 64 connections, in turns, every answer checked.
The load, the upstream and PostgreSQL run on the same machine as the workers, so on two cores two workers cannot be
twice as fast as one. The processor time of all workers for a call says what sharing costs.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
from contextlib import ExitStack
from pathlib import Path

from bench.gateway import CALL, ECHOED
from bench.load import drive, running_seconds
from bench.processes import Served, postgres, serve, server

CONNECTIONS = 64


def measure(served: Served, calls: int) -> tuple[float, float]:
    """Calls a second, and microseconds of processor time of all processes for a call."""
    pids = [served.pid, *_children(served.pid)]
    asyncio.run(drive(served.port, CALL, ECHOED, calls=calls // 10, connections=CONNECTIONS))
    before = sum(map(running_seconds, pids))
    seconds = asyncio.run(drive(served.port, CALL, ECHOED, calls=calls, connections=CONNECTIONS))
    done = calls // CONNECTIONS * CONNECTIONS
    return done / seconds, (sum(map(running_seconds, pids)) - before) / done * 1e6


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=6000)
    options = parser.parse_args()
    with ExitStack() as stack:
        _, upstream = stack.enter_context(server("echo"))
        url = f"http://127.0.0.1:{upstream}/mcp"
        for title, store in (("SQLite", "sqlite:///assent.db"), ("PostgreSQL", "")):
            with ExitStack() as own:
                place = store or own.enter_context(postgres())
                rows = {
                    workers: own.enter_context(serve(url, store=place, options=["--workers", str(workers)]))
                    for workers in options.workers
                }
                _report(title, rows, options.rounds, options.calls)


def _report(title: str, rows: dict[int, Served], rounds: int, calls: int) -> None:
    found = [{workers: measure(served, calls) for workers, served in rows.items()} for _ in range(rounds)]
    first = next(iter(rows))
    for workers in rows:
        rate, cpu = (statistics.median(one[workers][part] for one in found) for part in (0, 1))
        gain = statistics.median(one[workers][0] / one[first][0] for one in found)
        print(
            f"{title:<11}{workers} workers: {rate:6,.0f} calls/s, {gain:.2f} times the first, {cpu:4.0f} us of "
            f"processor time a call, load {os.getloadavg()[0]:.1f}"
        )


if __name__ == "__main__":
    main()
