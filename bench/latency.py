"""How long a caller waits for a governed call with two durable writes, alone and among 32: `python -m bench.latency`.

Waits are wall time, so they say something on a calm machine only; the load average is printed beside them. The lone
caller is held against the same call to the upstream itself. The disk's share is the wait for a bare SQLite commit.
"""

import argparse
import asyncio
import itertools
import os
import sqlite3
import tempfile
import time
from pathlib import Path

from bench.calls import Source, keyed_writes, reads, writes
from bench.gateway import gateway
from bench.processes import server

WARM_UP = 50


async def waits(port: int, calls: int, source: Source = writes) -> list[float]:
    """The waits of one connection, in milliseconds, sorted."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    found = []
    for request, expected in itertools.islice(source(0), WARM_UP + calls):
        begun = time.perf_counter()
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        body = await reader.readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0]))
        found.append((time.perf_counter() - begun) * 1000)
        assert expected in body, body
    writer.close()
    return sorted(found[WARM_UP:])


def commit_waits(calls: int) -> list[float]:
    """The waits for a commit of one row, in milliseconds, sorted."""
    found = []
    with tempfile.TemporaryDirectory(prefix="assent-bench-") as folder:
        connection = sqlite3.connect(Path(folder, "bare.db"), isolation_level=None)
        connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE rows (value)")
        for number in range(calls):
            begun = time.perf_counter()
            connection.execute("INSERT INTO rows VALUES (?)", (number,))
            found.append((time.perf_counter() - begun) * 1000)
        connection.close()
    return sorted(found)


def at(found: list[float], share: float) -> float:
    return found[int(len(found) * share)]


async def run(calls: int, rounds: int) -> None:
    with server("echo", core=1) as (_, upstream), gateway(f"http://127.0.0.1:{upstream}/mcp", core=0) as (_, port):
        for _ in range(rounds):
            commit, echo, alone = commit_waits(calls), await waits(upstream, calls), await waits(port, calls)
            keyed, read = await waits(port, calls, keyed_writes), await waits(port, calls, reads)
            of_each = await asyncio.gather(*(waits(port, calls // 4) for _ in range(32)))
            many = sorted(wait for own in of_each for wait in own)
            print(
                f"load {os.getloadavg()[0]:5.1f}  commit p50 {at(commit, 0.5):.2f}  upstream p50 {at(echo, 0.5):.2f}  "
                f"alone p50 {at(alone, 0.5):.2f}, added {at(alone, 0.5) - at(echo, 0.5):.2f} "
                f"(with a key {at(keyed, 0.5) - at(echo, 0.5):.2f}, read {at(read, 0.5) - at(echo, 0.5):.2f})  "
                f"32: p50 {at(many, 0.5):.1f} p99 {at(many, 0.99):.1f} ({at(many, 0.99) / at(many, 0.5):.1f} times)"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    asyncio.run(run(options.calls, options.rounds))


if __name__ == "__main__":
    main()
