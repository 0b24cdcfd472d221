"""Processor time and memory of a start: `wrap`, `serve` and the help of every command, beside `import mcp`.

`python -m bench.start [--rounds N]`. `wrap` is ready when it has answered `initialize`, `serve` when it can take calls.
Each round starts every process once, so that neighbours in time see the same machine; read the ratios. Bytecode is
written to a folder of its own first, as an installation has it.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from docs.site.reference.commands import all_commands

from assent.cli import cli
from bench.load import cpu_seconds

ASSENT = str(Path(sys.executable).with_name("assent"))
SERVER = """
import json, sys
info = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "one", "version": "1"}}
results = {"initialize": info, "tools/list": {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        known = message["method"] in results
        end = {"result": results[message["method"]]} if known else {"error": {"code": -32601, "message": "unknown"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **end}), flush=True)
"""


class Started(NamedTuple):
    """A process that is ready: its processor time in milliseconds and its memory in megabytes."""

    cpu: float
    memory: float


def run_to_end(*command: str, environment: Mapping[str, str]) -> Started:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return Started((used.ru_utime + used.ru_stime) * 1000, used.ru_maxrss / 1024)


def start_wrap(folder: Path, environment: Mapping[str, str]) -> Started:
    (folder / "server.py").write_text(SERVER)
    state = {"XDG_STATE_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config")}
    greeting = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    first = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting}
    command = [ASSENT, "wrap", "--", sys.executable, str(folder / "server.py")]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **pipes, env={**environment, **state}, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(first) + "\n")
        process.stdin.flush()
        assert "result" in json.loads(process.stdout.readline())
        started = _state_of(process.pid)
        process.stdin.close()
    return started


def start_serve(folder: Path, environment: Mapping[str, str]) -> Started:
    (folder / "server.py").write_text(SERVER)
    settings = {
        "store": "sqlite:///assent.db",
        "upstreams": {"one": {"command": [sys.executable, str(folder / "server.py")]}},
        "auth": {"anonymous": {"kind": "agent", "scopes": ["*"]}},
        "secrets": {"directory": "keys"},
    }
    (folder / "assent.yaml").write_text(json.dumps(settings))
    command = [ASSENT, "serve", "-c", str(folder / "assent.yaml"), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stderr is not None
        assert any(re.search("serves 1 tools", line) for line in process.stderr), "assent serve did not start"
        started = _state_of(process.pid)
        process.terminate()
        process.stderr.read()
    return started


def _state_of(pid: int) -> Started:
    resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return Started(cpu_seconds(pid) * 1000, resident / 1024**2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="assent-bench-") as name:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = f"{name}/bytecode"
        starts: dict[str, Callable[[Path], Started]] = {
            "import mcp": lambda _: run_to_end(sys.executable, "-c", "import mcp", environment=environment),
            "assent wrap": lambda folder: start_wrap(folder, environment),
            "assent serve": lambda folder: start_serve(folder, environment),
        }
        for words in [("assent",), *(path for path, _ in all_commands(cli, ("assent",)))]:
            starts[f"{' '.join(words)} --help"] = (
                lambda _, words=words: run_to_end(  # type: ignore[misc]
                    ASSENT, *words[1:], "--help", environment=environment
                )
            )
        found: dict[str, list[Started]] = {title: [] for title in starts}
        for number in range(rounds + 1):
            for title, start in starts.items():
                folder = Path(name, f"{number}-{title.replace(' ', '-')}")
                folder.mkdir()
                found[title].append(start(folder))
        report({title: measured[1:] for title, measured in found.items()})


def report(found: dict[str, list[Started]]) -> None:
    reference = _cpu(found["import mcp"])
    print(f"{'':32} {'CPU ms':>7} {'/ import mcp':>13} {'MB':>5}")
    for title, measured in found.items():
        cpu, memory = (statistics.median(values) for values in zip(*measured, strict=True))
        print(f"{title:32} {cpu:7.0f} {cpu / reference:13.2f} {memory:5.0f}")
    slowest = max((title for title in found if title.endswith("--help")), key=lambda title: _cpu(found[title]))
    print(f"GATE: slowest help {_cpu(found[slowest]):.0f} ms of 200 ({slowest})")


def _cpu(measured: list[Started]) -> float:
    return statistics.median(one.cpu for one in measured)


if __name__ == "__main__":
    main()
