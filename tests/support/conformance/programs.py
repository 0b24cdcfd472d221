"""The public test programs (`.ci/install-node-tools` puts them into .cache/npm)."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

_MODULES = Path(__file__).parents[3] / ".cache" / "npm" / "node_modules"
_NODE = _MODULES / "node" / "bin" / "node"
_SUITE = _MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
_INSPECTOR = _MODULES / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
_CLIENT = Path(__file__).parents[2] / "conformance" / "call_tool.mjs"
_CLIENTS = [_MODULES / "@modelcontextprotocol" / name for name in ("sdk", "client")]

MISSING = not all(path.exists() for path in (_NODE, _SUITE, _INSPECTOR, *_CLIENTS))

Results = dict[str, list[tuple[str, str]]]


def run_suite(url: str, revision: str, folder: Path) -> tuple[int, Results]:
    """The suite's exit code, and what it says of every check of every scenario, in its order."""
    done = _run(_SUITE, "server", "--url", url, "--requirements", revision, "-o", str(folder))
    results: Results = {}
    for path in sorted(folder.iterdir()):
        scenario = re.sub(r"-\d{4}-\d\d-\d\dT.*", "", path.name.removeprefix("server-"))
        checks = json.loads((path / "checks.json").read_text())
        # INFO is a record of what went over the wire, not a verdict.
        results[scenario] = [(check["id"], check["status"]) for check in checks if check["status"] != "INFO"]
    assert results, done.stdout + done.stderr
    return done.returncode, results


def inspect(url: str, *arguments: str, refused: bool = False) -> Any:
    """What the Inspector's command line prints for one request; `refused` where it is to report a failed call."""
    done = _run(_INSPECTOR, "--cli", url, "--transport", "http", *arguments)
    assert (done.returncode == 0) is not refused, done.stdout + done.stderr
    return json.loads(done.stdout)


def run_client(version: str, tool: str, arguments: dict[str, Any], *where: str) -> Any:
    """What the official TypeScript SDK of a major version says of one call: the listed tool and the result."""
    done = _run(_CLIENT, version, tool, json.dumps(arguments), *where)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def suite_command(*arguments: str) -> tuple[list[str], dict[str, str]]:
    """The command of the suite with these arguments, and its environment."""
    return _command(_SUITE, *arguments), _environment()


def _run(script: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = _command(script, *arguments)
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=_environment(), check=False)


def _command(script: Path, *arguments: str) -> list[str]:
    return [str(_NODE), str(script), *arguments]


def _environment() -> dict[str, str]:
    path = f"{_NODE.parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "NO_COLOR": "1", "ASSENT_NODE_MODULES": str(_MODULES)}
