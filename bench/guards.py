"""What does each guard cost on a typical call, and what does masking a result cost?

Every guard checks its own first good example, built once as at load; look-ups of hosts and paths are left out, because
they depend on the machine. The time is CPU time, the best of several rounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from assent.rules.guards import build_guard, rule_class, rule_names
from assent.rules.guards.context import Context
from assent.rules.guards.evaluate import objection_to
from assent.rules.guards.masking import mask_result
from assent.rules.guards.sql import parse

ROUNDS, CALLS = 5, 2_000
MAIL = {
    "to": ["ann@example.com", "bob@example.com"],
    "cc": [],
    "subject": "Minutes of Tuesday",
    "body": "Dear Ann,\nthe minutes are attached. We agreed on three points and meet again on Friday.\nBob",
    "priority": 2,
}
SQL = {"sql": "SELECT name, count(*) FROM users WHERE city = 'Berlin' GROUP BY name ORDER BY 2 DESC LIMIT 20"}
RESULT = {
    "content": [{"type": "text", "text": "3 orders were found."}],
    "structuredContent": {"orders": [{"id": n, "item": f"item {n}", "price": 12.5, "note": ""} for n in range(20)]},
}
BAR = 50.0
"""For guards that do not parse SQL."""


def micros(run: Callable[[], Any], calls: int) -> float:
    """The CPU time of one run, in microseconds."""
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.process_time()
        for _ in range(calls):
            run()
        best = min(best, (time.process_time() - started) / calls * 1e6)
    return best


def cost_of(name: str) -> tuple[float, float]:
    """The time on a mail, or on a query for a SQL guard, and on the guard's own example."""
    kind = rule_class(name)
    rule, context = build_guard({"rule": name, **kind.examples.options}), Context(now=1.8e9, tool="tool")
    parses = name.startswith("sql_")
    usual = SQL if parses else MAIL
    calls = CALLS // 20 if parses else CALLS
    own = kind.examples.passes[0]

    def check(values: Any) -> None:
        parse.cache_clear()  # Guards of one call share the parsed text; here each pays for it.
        objection_to(rule, values, context)

    return micros(lambda: check(usual), calls), micros(lambda: check(own), calls)


def main() -> int:
    print(f"{'guard':<24}{'on a mail':>12}{'on its example':>16}   µs of CPU time per check")
    slow = []
    for name in rule_names():
        usual, own = cost_of(name)
        parses = name.startswith("sql_")
        print(f"{name:<24}{usual:>12.1f}{own:>16.1f}{'   parses SQL' if parses else ''}")
        if not parses and usual > BAR:
            slow.append(name)
    print()
    for options in (
        {"rule": "personal_data", "action": "mask"},
        {"rule": "payment_data", "action": "mask"},
        {"rule": "secrets", "action": "mask"},
        {"rule": "forbid_fields", "fields": ["note"], "action": "mask"},
    ):
        rule = build_guard(options)
        taken = micros(lambda rule=rule: mask_result(rule, RESULT), CALLS // 10)
        print(f"mask {rule.rule:<19}{taken:>12.1f}   a result of 80 values")
    print(f"bar: {BAR} µs on a mail; {'slower: ' + ', '.join(slow) if slow else 'all below it'}")
    return 1 if slow else 0


if __name__ == "__main__":
    raise SystemExit(main())
