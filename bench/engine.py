"""Wrapped servers in one engine beside one process each: start, time of a call, memory of ten.

`python -m bench.engine [--rounds N] [--calls N]`. Every round does each thing once, so that neighbours in time see the
same machine; read the differences. Bytecode is written to a folder of its own first, as an installation has it.
"""

import argparse
import compileall
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import assent
from assent.gateway.engine.client import ask
from bench.start import ASSENT, SERVER

GREETING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class Client:
    """A server as a client starts it; `seconds` is the time until `initialize` was answered."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        began = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
        self.request("initialize", **GREETING)
        self.seconds = time.perf_counter() - began

    def request(self, method: str, **params: object) -> dict[str, object]:
        assert self.process.stdin is not None and self.process.stdout is not None
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        answer: dict[str, object] = json.loads(self.process.stdout.readline())
        return answer

    def call_milliseconds(self) -> float:
        began = time.perf_counter()
        assert "result" in self.request("tools/call", name="look", arguments={})
        return (time.perf_counter() - began) * 1000

    def memory(self) -> float:
        return memory_of(self.process.pid)

    def end(self) -> None:
        self.process.communicate(b"")


def memory_of(process: int) -> float:
    """The megabytes of a process, with each shared page counted in part, as its users share it."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def home(folder: Path, text: str = "") -> dict[str, str]:
    (folder / "config" / "assent").mkdir(parents=True)
    (folder / "config" / "assent" / "assent.yaml").write_text(text or "mode: observe\n")
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "XDG_STATE_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config")}


def start_times(folder: Path, server: list[str], rounds: int) -> dict[str, list[float]]:
    """Seconds until `initialize` is answered, by the way in which the server is started."""
    warm, off = home(folder / "warm"), home(folder / "off", "engine: off\n")
    ask("status", environment=warm)
    found: dict[str, list[float]] = {"bare": [], "running engine": [], "cold engine": [], "engine: off": []}
    for number in range(rounds):
        cold = home(folder / f"cold{number}")
        ways: dict[str, Callable[[], Client]] = {
            "bare": lambda: Client(server, warm),
            "running engine": lambda: Client([ASSENT, "wrap", "--", *server], warm),
            "cold engine": lambda cold=cold: Client([ASSENT, "wrap", "--", *server], cold),  # type: ignore[misc]
            "engine: off": lambda: Client([ASSENT, "wrap", "--", *server], off),
        }
        for way, start in ways.items():
            client = start()
            found[way].append(client.seconds)
            client.end()
        ask("stop", environment=cold, start=False)
    ask("stop", environment=warm, start=False)
    return found


def call_times(folder: Path, server: list[str], calls: int) -> dict[str, list[float]]:
    """Milliseconds of calls, alternating between the ways."""
    environments = {"running engine": home(folder / "calls"), "engine: off": home(folder / "callsoff", "engine: off\n")}
    wrapped = [ASSENT, "wrap", "--", *server]
    clients = {way: Client(wrapped, environment) for way, environment in environments.items()}
    clients["bare"] = Client(server, environments["engine: off"])
    found: dict[str, list[float]] = {way: [] for way in clients}
    for _ in range(calls):
        for way, client in clients.items():
            found[way].append(client.call_milliseconds())
    for client in clients.values():
        client.end()
    ask("stop", environment=environments["running engine"], start=False)
    return found


def memory_of_ten(folder: Path, server: list[str]) -> dict[str, float]:
    """The megabytes of Assent's own processes for ten wrapped servers."""
    found = {}
    for way, text in (("running engine", ""), ("engine: off", "engine: off\n")):
        environment = home(folder / f"ten-{len(found)}", text)
        clients = [Client([ASSENT, "wrap", "--", *server], environment) for _ in range(10)]
        for client in clients:
            client.call_milliseconds()
        found[way] = sum(client.memory() for client in clients)
        if not text:
            status = ask("status", environment=environment, start=False)
            assert status is not None and len(status["servers"]) == 10
            found[way] += memory_of(status["process"])
        for client in clients:
            client.end()
        ask("stop", environment=environment, start=False)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--calls", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = str(folder / "bytecode")
        compileall.compile_dir(str(Path(assent.__file__).parent), quiet=2)
        answers = '"tools/list": {', '"tools/call": {"content": []}, "tools/list": {'
        (folder / "server.py").write_text(SERVER.replace(*answers))
        server = [sys.executable, str(folder / "server.py")]
        starts = start_times(folder, server, options.rounds)
        bare = statistics.median(starts["bare"])
        for way, seconds in starts.items():
            middle = statistics.median(seconds)
            print(f"start, {way:15} {middle:6.3f} s, {middle - bare:+.3f} s ({min(seconds):.3f} to {max(seconds):.3f})")
        for way, times in call_times(folder, server, options.calls).items():
            print(f"call,  {way:15} p50 {statistics.median(times):6.2f} ms")
        for way, size in memory_of_ten(folder, server).items():
            print(f"ten servers, {way:15} {size:5.0f} MB in Assent's processes")
        print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
