"""How long does a replay of recorded calls take?

    python -m bench.replay [--calls 100000]

A signed SQLite log with so many calls (each an intent and an outcome) is written. Then `assent policy replay` runs as a
process, with contracts, three guards, a rate limit and a budget that change some decisions. It verifies the log first.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from assent.config.anchors import log_signer_of
from assent.config.load import load_settings
from assent.core.audit import Entry
from assent.stores.open import open_store

BAR = 30.0
BATCH = 2000
START = 1_764_000_000.0
DIGEST = "5b0f2c7a9d1e48c3b6a7f0e2d4c19b8370a6e5d2c1f4b39807e6a5d4c3b2f1e0"
TOOLS = (("place_order", "external_spend", "medium"), ("send_mail", "write", "medium"), ("look_up", "write", "low"))
CONFIG = """\
store: sqlite:///assent.db
contracts: [contracts.yaml]
auth:
  stdio: {kind: agent, scopes: ["*"]}
limits: [{match: {tier: external_spend}, calls: 200, per: 1m}]
budgets: [{match: {tool: place_order}, amount: 50000, currency: EUR, per: 1d}]
guards:
  - {match: {tool: send_mail}, rule: allow_domains, fields: [to], domains: [example.com]}
  - {match: {tool: place_order}, rule: bounds, fields: [amount], most: 110}
  - {rule: block_keywords, keywords: [password]}
"""
CONTRACTS = """\
tools:
  place_order:
    side_effect: external_spend
    risk: medium
    cost: {amount: /amount, currency: EUR}
    input: {type: object, properties: {amount: {type: number}, to: {type: string}, note: {type: string}}}
  send_mail: {side_effect: write}
"""


def entries(number: int) -> list[Entry]:
    """What one call leaves: an intent with the caller and the arguments, then an outcome."""
    tool, tier, risk = TOOLS[number % len(TOOLS)]
    at = START + number / 10
    facts = {"tool": tool, "tier": tier, "risk": risk, "event": f"{tool}.called", "contract": DIGEST, "mode": "live"}
    facts["claim"] = f"{number:064x}"
    where = "example.com" if number % 50 else "elsewhere.test"
    arguments = {"amount": number % 120, "to": f"person-{number % 97}@{where}", "note": "as agreed"}
    values = {"principal": f"agent-{number % 97}", "kind": "agent", "tenant": "acme", "arguments": arguments}
    return [Entry("intent", at, facts, values), Entry("outcome", at, {**facts, "state": "succeeded"})]


async def write_log(config: Path, calls: int) -> None:
    settings = load_settings(config)
    store = await open_store(settings.store)
    for start in range(0, calls, BATCH):
        for number in range(start, min(calls, start + BATCH)):
            for entry in entries(number):
                store.append(entry)
        await store.flush()
    await log_signer_of(settings, store).sign(always=True)
    await store.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000)
    calls = parser.parse_args().calls
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "assent.yaml"
        config.write_text(CONFIG)
        (Path(folder) / "contracts.yaml").write_text(CONTRACTS)
        asyncio.run(write_log(config, calls))
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        command = [str(Path(sys.executable).with_name("assent")), "policy", "replay", "-c", str(config), "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    found = json.loads(done.stdout)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    counts = ", ".join(f"{name} {found[name]}" for name in ("examined", "changed", "not_replayable", "verified"))
    print(
        f"{counts}\nreplay: {seconds:.1f} s, {cpu:.1f} s of CPU, {1e6 * cpu / calls:.0f} µs per call (bar {BAR:.0f} s)"
    )
    passed = found["examined"] == calls and found["verified"] and cpu * 100_000 / calls < BAR
    return 0 if passed else 1


if __name__ == "__main__":
    raise SystemExit(main())
