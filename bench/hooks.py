"""How long a hook takes: as a process through the engine, over the engine's socket, and over HTTP at a gateway.

`python -m bench.hooks [--rounds N]`. Each round makes every measurement once, so that neighbours in time see the same
machine. The bare interpreter is measured beside them; the processor time of the hook's own process does not depend on
what else runs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from assent.config.load import parse_settings
from assent.gateway.app import open_gateway
from assent.gateway.engine.client import ask
from assent.web.server import bind, make_server

ASSENT = str(Path(sys.executable).with_name("assent"))
KEY = "assent_bench000_secret-of-bench"
AS_PROCESS, OVER_HTTP = 120.0, 15.0
"""The targets in milliseconds."""


def event(number: int, command: str) -> bytes:
    """A call as Claude Code announces it."""
    call = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": f"toolu_{number}"}
    return json.dumps({"session_id": "bench", "cwd": "/srv/project", "hook_event_name": "PreToolUse", **call}).encode()


@contextmanager
def gateway(folder: Path) -> Iterator[str]:
    """A gateway in a thread of its own; gives its address."""
    settings = parse_settings(
        f"store: sqlite:///{folder}/gateway.db\nsecrets: {{directory: {folder}/keys}}\n"
        f"auth: {{api_keys: [{{name: bench, key: {KEY}, kind: agent, scopes: ['*']}}]}}\n"
    )
    listener, stop = bind("127.0.0.1", 0), threading.Event()

    async def serve() -> None:
        app = await open_gateway(settings)
        await app.start()
        server = make_server(app.app(app._pages), drain=1, lifespan="off")
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        await asyncio.to_thread(stop.wait)
        server.should_exit = True
        await serving
        await app.stop()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        stop.set()
        thread.join()


def timed(work: Callable[[bytes], object], raw: bytes) -> float:
    start = time.perf_counter()
    work(raw)
    return (time.perf_counter() - start) * 1000


def child_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000


def main() -> None:
    """Measure and print a line per way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name, gateway(Path(name)) as url:
        environment = {**os.environ, "HOME": name}
        for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
            environment.pop(variable, None)
        try:
            found = measure(rounds, url, environment)
        finally:
            ask("stop", environment=environment, start=False)
    for way, times in sorted(found.items()):
        target = AS_PROCESS if way.startswith("process") else OVER_HTTP if way.startswith(("HTTP", "engine")) else None
        p95 = sorted(times)[int(len(times) * 0.95)]
        aim = f" (target {target:.0f})" if target else ""
        print(f"{way}: p50 {statistics.median(times):.1f} ms{aim}, p95 {p95:.1f} ms, fastest {min(times):.1f} ms")


def measure(rounds: int, url: str, environment: dict[str, str]) -> dict[str, list[float]]:
    """The milliseconds of every way. The first event of each is not counted: it starts the engine."""

    def bare(_: bytes) -> None:
        subprocess.run([sys.executable, "-I", "-c", "pass"], check=True)

    def as_process(raw: bytes) -> None:
        subprocess.run([ASSENT, "hook", "claude-code"], input=raw, env=environment, capture_output=True, check=True)

    def over_socket(raw: bytes) -> None:
        ask("hook", {"client": "claude-code", "event": raw.decode()}, environment=environment)

    def over_http(raw: bytes) -> None:
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        urllib.request.urlopen(urllib.request.Request(f"{url}/hooks/claude-code", raw, headers)).read()

    ways = {"bare interpreter": bare, "process": as_process, "engine's socket": over_socket, "HTTP": over_http}
    found: dict[str, list[float]] = {}
    for number in range(rounds + 1):
        for place, (way, work) in enumerate(ways.items()):
            for kind, command in (("read", "ls -la"), ("write", f"touch f{number}")):
                used, took = child_time(), timed(work, event(number * 10 + place, command))
                if number:
                    found.setdefault(f"{way}, {kind}", []).append(took)
                if number and work is as_process:
                    found.setdefault(f"process, {kind}, processor time", []).append(child_time() - used)
    return found


if __name__ == "__main__":
    main()
