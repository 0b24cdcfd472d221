"""Rule: a read-only tool does not set readOnlyHint false."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.claims.read_only is False and tool.inference.read_only and tool.confident and tool.contract is None:
        yield RawFinding(
            f"it says that it is not read-only, but {tool.because}: every host will ask before it runs",
            "/annotations/readOnlyHint",
        )


RULE = Rule(
    name="read-only-unclaimed",
    severity="note",
    summary="A tool that by its definition only reads says that it does not.",
    why="People are asked about calls that change nothing, and learn to say yes without reading.",
    fix="Set readOnlyHint to true; or say in the description what the tool changes.",
    each=check,
    flags=({"name": "list_orders", "description": "Lists orders.", "annotations": {"readOnlyHint": False}},),
    passes=(
        {"name": "list_orders", "description": "Lists orders.", "annotations": {"readOnlyHint": True}},
        {"name": "create_order", "description": "Creates an order.", "annotations": {"readOnlyHint": False}},
        {"contracts": {"get_report": {"side_effect": "compute", "description": "Gets a report."}}},
    ),
)
