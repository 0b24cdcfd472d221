"""Rule: a contract declares how its tool can fail."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.contract is not None and tool.tier != "read" and not tool.contract.failure_modes:
        yield RawFinding(
            "its contract declares no failure modes: every failure leaves the call in doubt", "failure_modes"
        )


RULE = Rule(
    name="failures-undeclared",
    severity="note",
    summary="A contract of a tool that acts declares no failure modes.",
    why="Only a declared failure can say that nothing happened. An undeclared one must be taken for unknown, "
    "and a call that is in doubt waits for a person.",
    fix="List the codes under `failure_modes:`, each with its class: no_effect, definite or unknown.",
    each=check,
    flags=({"contracts": {"create_note": {"side_effect": "write"}}},),
    passes=(
        {"contracts": {"create_note": {"side_effect": "write", "failure_modes": {"full": {"class": "no_effect"}}}}},
        {"contracts": {"list_notes": {"side_effect": "read"}}},
        {"name": "create_note", "description": "Creates a note."},
    ),
)
