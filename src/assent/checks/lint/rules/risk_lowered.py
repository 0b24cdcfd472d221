"""Rule: a contract's risk is not below the default of its tier."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import Edit, remove
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool
from assent.contract.tiers import DEFAULT_RISK


def check(tool: LintedTool) -> Iterator[RawFinding]:
    contract = tool.contract
    if contract is None:
        return
    usual = DEFAULT_RISK[contract.side_effect]
    if contract.risk < usual:
        yield RawFinding(f"its risk is {contract.risk}; for {contract.side_effect} it is {usual} by itself", "risk")


def mend(tool: LintedTool, at: str) -> Iterator[Edit]:
    yield remove("risk")


RULE = Rule(
    name="risk-lowered",
    severity="warning",
    summary="A contract lowers the risk below what the side effect has by itself.",
    why="The risk decides whether a person is asked. Lowering it is allowed, and should be somebody's decision.",
    fix="Remove `risk:`, or keep it and say why: `# assent: allow risk-lowered because ...`.",
    each=check,
    mend=mend,
    flags=({"contracts": {"delete_draft": {"side_effect": "destructive", "risk": "medium"}}},),
    passes=(
        {"contracts": {"delete_draft": {"side_effect": "destructive"}}},
        {"contracts": {"read_salary": {"side_effect": "read", "risk": "high"}}},
    ),
)
