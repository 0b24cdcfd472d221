"""What a sandbox costs: a start and a call, confined and observed, beside the same server without one.

`python -m bench.sandbox [--rounds N] [--calls N]`. A start ends with the answer to `initialize`. One call reads a file,
the other writes one. Each round starts every kind once and calls them in turn, so that all see the same machine; the
cost is the median of the differences within a round. Processor time is that of this process and of all that it
started; on a machine with other work it is the figure to read.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from assent.upstreams.sandbox.grants import STRONGEST, Attempt, Grants
from assent.upstreams.sandbox.launch import confined, observed
from assent.upstreams.sandbox.support import require_support
from assent.upstreams.stdio.process import LaunchSpec, StartProcess
from assent.upstreams.stdio.server import StdioUpstream

SERVER = """
import json, sys
info = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "one", "version": "1"}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "unknown"}}
    if message["method"] == "initialize":
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": info}
    elif message["method"] == "tools/call":
        name, path = message["params"]["name"], message["params"]["path"]
        with open(path, "w" if name == "save" else "r") as file:
            text = file.write("x") if name == "save" else file.read()
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": {"content": [{"type": "text", "text": str(text)}]}}
    print(json.dumps(answer), flush=True)
"""


def ignore(_: Attempt) -> None:
    return None


def kinds(folder: Path) -> dict[str, StartProcess | None]:
    grants = Grants(write=(str(folder / "data"),))
    return {"off": None, "enforce": confined(grants, STRONGEST, ignore), "observe": observed(ignore)}


Times = dict[str, list[float]]
COLUMNS = ("start", "read", "write", "start cpu", "read cpu", "write cpu")


def processor_time(root: int) -> float:
    """Milliseconds that this process and everything below `root` have used."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            parents.setdefault(parent, []).append(int(stat.parent.name))
    total, waiting = time.process_time() * 1000, [root]
    while waiting:
        pid = waiting.pop()
        waiting += parents.get(pid, [])
        for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with suppress(OSError):
                total += int(task.read_text().split()[0]) / 1e6
    return total


async def measure_one(folder: Path, start: StartProcess | None, calls: int, times: Times) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}
    launch = LaunchSpec("bench", [sys.executable, "-S", str(folder / "server.py")], env, str(folder), start=start)
    server = StdioUpstream(launch, {"name": "bench", "version": "1"}, mark="b", clock=time.monotonic)
    before, begin = time.process_time() * 1000, time.perf_counter()
    await server.start()
    await server.exchange("initialize", {})
    times["start"].append((time.perf_counter() - begin) * 1000)
    root = server._child._process.pid  # type: ignore[union-attr]
    times["start cpu"].append(processor_time(root) - before)
    for tool, what, name in (("look", "read", "note"), ("save", "write", "new")):
        took, before = [], processor_time(root)
        for _ in range(calls):
            begin = time.perf_counter()
            await server.exchange("tools/call", {"name": tool, "path": str(folder / "data" / name)})
            took.append((time.perf_counter() - begin) * 1000)
        times[what].append(statistics.median(took))
        times[f"{what} cpu"].append((processor_time(root) - before) / calls)
    await server.close()


async def measure(folder: Path, rounds: int, calls: int) -> dict[str, Times]:
    (folder / "server.py").write_text(SERVER)
    (folder / "data").mkdir()
    (folder / "data" / "note").write_text("a note")
    found = {kind: {what: list[float]() for what in COLUMNS} for kind in ("off", "enforce", "observe")}
    for _ in range(rounds):
        for kind, start in kinds(folder).items():
            await measure_one(folder, start, calls, found[kind])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.sandbox", description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--calls", type=int, default=200)
    chosen = parser.parse_args()
    require_support()
    with tempfile.TemporaryDirectory(dir=Path.home()) as folder:
        found = asyncio.run(measure(Path(folder), chosen.rounds, chosen.calls))
    for columns, title in ((COLUMNS[:3], "elapsed"), (COLUMNS[3:], "processor time")):
        print(f"| {title} | start | a call that reads | a call that writes |\n|---|---|---|---|")
        for kind, times in found.items():
            cells = [f"{statistics.median(times[what]):.2f} ms" for what in columns]
            if kind != "off":
                cells = [f"{cell} ({_more(found, kind, what):+.2f})" for cell, what in zip(cells, columns, strict=True)]
            print(f"| {kind} | {' | '.join(cells)} |")


def _more(found: dict[str, Times], kind: str, what: str) -> float:
    pairs = zip(found[kind][what], found["off"][what], strict=True)
    return statistics.median(one - off for one, off in pairs)


if __name__ == "__main__":
    main()
