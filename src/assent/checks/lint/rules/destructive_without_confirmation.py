"""Rule: a destructive tool asks for a confirmation."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import Edit, remove
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    contract = tool.contract
    if contract is None or contract.side_effect != "destructive":
        return
    if contract.confirmation.by == "none" or contract.autonomous:
        yield RawFinding("it destroys, and nobody is asked", "confirmation.by")


def mend(tool: LintedTool, at: str) -> Iterator[Edit]:
    """Without a `confirmation:` of its own, the one that its risk asks for holds."""
    if tool.contract is not None and tool.contract.confirmation.by == "none":
        yield remove("confirmation")


RULE = Rule(
    name="destructive-without-confirmation",
    severity="warning",
    summary="A contract lets a destructive tool run without asking anybody.",
    why="What is lost cannot be got back; the question is the last moment at which a person can stop it.",
    fix="Say `confirmation: {by: user}`, or `by: approver` where it must be proved.",
    each=check,
    mend=mend,
    flags=(
        {
            "contracts": {
                "delete_draft": {
                    "side_effect": "destructive",
                    "confirmation": {"by": "none", "because": "Only drafts."},
                }
            }
        },
        {"contracts": {"delete_draft": {"side_effect": "destructive", "risk": "low"}}},
    ),
    passes=({"contracts": {"delete_draft": {"side_effect": "destructive"}}},),
)
