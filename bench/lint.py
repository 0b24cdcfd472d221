"""How long does it take to lint 1,000 tools? The bar is 2 seconds.

    python -m bench.lint [--tools definitions.jsonl]

Without a file, definitions of an ordinary size are made up.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from pathlib import Path
from typing import Any

from assent.checks.lint.run import lint
from assent.checks.lint.target import LintedTool, Target

BAR = 2.0
VERBS = ("list", "get", "create", "update", "delete", "send", "export", "search", "purchase", "run")
NOUNS = ("orders", "invoices", "customers", "messages", "files", "reports", "labels", "tasks", "webhooks", "secrets")


def made_up(count: int) -> list[dict[str, Any]]:
    """Definitions with a paragraph of text and ten parameters each."""
    return [_definition(number) for number in range(count)]


def _definition(number: int) -> dict[str, Any]:
    verb, noun = VERBS[number % 10], NOUNS[number // 10 % 10]
    fields = {
        f"{noun}_{index}": {
            "type": "string",
            "description": f"The {noun} to {verb}, by the id that number {index} has.",
        }
        for index in range(10)
    }
    return {
        "name": f"{verb}_{noun}_{number}",
        "title": f"{verb} {noun}".capitalize(),
        "description": f"{verb.capitalize()}s {noun} of the account that the caller belongs to. " * 6,
        "inputSchema": {"type": "object", "properties": fields, "required": list(fields)[:3]},
        "annotations": {"readOnlyHint": verb in ("list", "get", "search", "send"), "destructiveHint": verb == "delete"},
    }


def read(path: Path, count: int) -> list[dict[str, Any]]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in text.splitlines()[:count]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=Path)
    parser.add_argument("--count", type=int, default=1000)
    given = parser.parse_args()
    tools = read(given.tools, given.count) if given.tools else made_up(given.count)
    before = time.perf_counter()
    report = lint(Target("bench", tuple(LintedTool(tool) for tool in tools)))
    took = time.perf_counter() - before
    word = "reached" if took * 1000 / len(tools) <= BAR else "MISSED"
    print(f"{len(tools)} tools: {took:.2f} s, {len(report.findings)} findings; bar {BAR:.0f} s per 1,000: {word}")


if __name__ == "__main__":
    main()
