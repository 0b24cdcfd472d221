"""Rule: destructiveHint false does not contradict the rest of the definition."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import set_true
from assent.checks.lint.fields import presses, restarts
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if presses(tool) or restarts(tool):
        return
    if tool.claims.destructive is False and not tool.claims.read_only and tool.inference.destructive and tool.confident:
        reasons = tool.inference.reasons
        why = reasons[1] if len(reasons) > 1 else tool.because
        fix = "Correct `side_effect:`; or the words, if nothing can be lost." if tool.contract else ""
        yield RawFinding(f"destructiveHint is false, but {why}", "/annotations/destructiveHint", fix)


RULE = Rule(
    name="destructive-contradicted",
    severity="error",
    summary="A tool claims not to be destructive, but its name, text or parameters say that it loses something.",
    why="Vendors differ on whether an update destroys. On deleting, revoking, cancelling and running "
    "anything at all they do not: hosts ask about those, and this claim stops them.",
    fix="Set destructiveHint to true; if nothing can be lost, say so in the description.",
    each=check,
    mend=set_true,
    flags=(
        {
            "name": "delete_order",
            "description": "Deletes an order.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
        {
            "name": "bulk_edit",
            "description": "Edits many records.",
            "inputSchema": {"type": "object", "properties": {"operation": {"enum": ["update", "delete"]}}},
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
    ),
    passes=(
        {
            "name": "tap",
            "description": "Taps the screen.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
        {
            "name": "restart_service",
            "description": "Restarts a service.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
        {
            "name": "delete_order",
            "description": "Deletes an order.",
            "annotations": {"readOnlyHint": False, "destructiveHint": True},
        },
        {
            "name": "update_order",
            "description": "Updates an order.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
    ),
)
