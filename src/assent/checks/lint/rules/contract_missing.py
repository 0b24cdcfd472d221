"""Finds tools that a governed server does not serve because they have no contract."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.withheld:
        yield RawFinding(f"the server does not serve it: {tool.withheld}")


RULE = Rule(
    name="contract-missing",
    severity="error",
    summary="A server under contract has a tool that it does not serve, because the tool has no contract.",
    why="Its author registered it and callers never see it.",
    fix="Put @contract(side_effect=...) on the function or write it into a contract file, or do not register it.",
    each=check,
    flags=({"tools": [{"name": "list_orders"}], "beside": {"list_orders": {"withheld": "it has no contract"}}},),
    passes=({"name": "list_orders"}, {"contracts": {"list_orders": {"side_effect": "read"}}}),
)
