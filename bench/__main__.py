"""Every bench that needs nothing but this tree, one after the other: `make bench`."""

from __future__ import annotations

import argparse
import subprocess
import sys

BENCHES = (
    ["bench.table", "--write", "docs"],
    ["bench.latency"],
    ["bench.decide"],
    ["bench.start"],
    ["bench.sandbox"],
    ["bench.policy"],
    ["bench.guards"],
    ["bench.bystander"],
    ["bench.flow"],
    ["bench.client"],
    ["bench.stores"],
    ["bench.replicas"],
    ["bench.catalogue"],
    ["bench.growth", "--claims", "100000"],
    ["bench.lint"],
    ["bench.audit", "--entries", "200000"],
    ["bench.replay"],
    ["bench.console"],
)


def main() -> int:
    argparse.ArgumentParser(prog="python -m bench", description=__doc__).parse_args()
    worst = 0
    for module, *arguments in BENCHES:
        print(f"\n== {module}", flush=True)
        worst = max(worst, subprocess.run([sys.executable, "-m", module, *arguments], check=False).returncode)
    return worst


if __name__ == "__main__":
    raise SystemExit(main())
