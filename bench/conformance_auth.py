"""The conformance suite's authorization scenarios: the SDK's own OAuth client beside the gateway as the client.

Usage: python -m bench.conformance_auth [--scenario NAME] [--write tests/conformance/authorization.md]. It needs Node
(`.ci/install-node-tools`). The result of each scenario is how many checks passed; INFO lines are no checks.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

_ROOT = Path(__file__).parents[1]
_MODULES = _ROOT / ".cache" / "npm" / "node_modules"
_NODE = _MODULES / "node" / "bin" / "node"
_SUITE = _MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
_BEGIN, _END = "<!-- results -->", "<!-- end of results -->"
SKIPPED = {
    "auth/client-credentials-jwt": "signs in as a machine; the gateway signs in as a person",
    "auth/client-credentials-basic": "signs in as a machine; the gateway signs in as a person",
    "auth/wif-jwt-bearer": "signs in as a workload; the gateway signs in as a person",
    "auth/dpop": "not offered",
    "auth/dpop-nonce": "not offered",
}


class Result(NamedTuple):
    """The checks of one scenario."""

    passed: int
    failed: tuple[str, ...]
    warned: tuple[str, ...]

    @property
    def text(self) -> str:
        wrong = [f"failed: {', '.join(self.failed)}"] if self.failed else []
        wrong += [f"warned: {', '.join(self.warned)}"] if self.warned else []
        return "; ".join([f"{self.passed} passed", *wrong])


def scenarios() -> list[str]:
    return re.findall(r"^\s*- (auth/\S+) \[", _run("list").stdout, re.MULTILINE)


def run_scenario(name: str, how: str) -> Result:
    """Run one scenario with the SDK's client (`direct`) or the gateway (`gateway`)."""
    command = f"{sys.executable} -m support.conformance.auth_client {how}"
    with tempfile.TemporaryDirectory() as folder:
        _run("client", "--command", command, "--scenario", name, "--timeout", "120000", "-o", folder)
        checks = [check for path in Path(folder).rglob("checks.json") for check in json.loads(path.read_text())]
    by_status = {
        status: [check["id"] for check in checks if check["status"] == status]
        for status in ("SUCCESS", "FAILURE", "WARNING")
    }
    failed, warned = (tuple(dict.fromkeys(by_status[status])) for status in ("FAILURE", "WARNING"))
    return Result(len(by_status["SUCCESS"]), failed if checks else ("the suite gave no result",), warned)


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    paths = {"PATH": f"{_NODE.parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(_ROOT / "tests")}
    command = [str(_NODE), str(_SUITE), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=600, env={**os.environ, **paths, "NO_COLOR": "1"}
    )


def table(results: dict[str, tuple[Result, Result]]) -> str:
    lines = ["| scenario | SDK's own client | through the gateway |", "|---|---|---|"]
    lines += [f"| `{name}` | {direct.text} | {ours.text} |" for name, (direct, ours) in results.items()]
    return "\n".join(lines)


def is_worse(direct: Result, ours: Result) -> bool:
    """Whether the gateway fails where the SDK's client does not."""
    return not set(ours.failed) <= set(direct.failed) or not set(ours.warned) <= {*direct.warned, *direct.failed}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.conformance_auth", description=__doc__)
    parser.add_argument("--scenario", action="append", help="only this one; may be repeated")
    parser.add_argument("--write", type=Path, help="put the table into this page")
    options = parser.parse_args()
    names = options.scenario or [name for name in scenarios() if name not in SKIPPED]
    with ThreadPoolExecutor(2) as pool:
        jobs = {name: [pool.submit(run_scenario, name, how) for how in ("direct", "gateway")] for name in names}
        results = {name: (one.result(), other.result()) for name, (one, other) in jobs.items()}
    print(table(results))
    if options.write is not None:
        page = options.write.read_text()
        before, rest = page.split(_BEGIN)
        options.write.write_text(f"{before}{_BEGIN}\n\n{table(results)}\n\n{_END}{rest.split(_END)[1]}")
    worse = [name for name, (direct, ours) in results.items() if is_worse(direct, ours)]
    print(f"worse than direct: {', '.join(worse) or 'none'}")
    return bool(worse)


if __name__ == "__main__":
    raise SystemExit(main())
