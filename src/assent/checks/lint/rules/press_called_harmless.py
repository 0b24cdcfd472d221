"""Rule: a tool that presses or types on a live screen does not claim to be harmless."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.fields import presses
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    claims = tool.claims
    if presses(tool) and tool.confident and claims.destructive is False and not claims.read_only:
        yield RawFinding(
            "destructiveHint is false, but what a press does depends on the screen", "/annotations/destructiveHint"
        )


RULE = Rule(
    name="press-called-harmless",
    severity="warning",
    summary="A tool that clicks, taps or types on a live screen claims that it cannot destroy anything.",
    why="The button may be the one that deletes or pays, and typed text may be sent. Vendors differ on it, so this is "
    "less than an error; a host that believes the claim does not ask.",
    fix="Set destructiveHint to true; or offer the presses that are safe as tools of their own.",
    each=check,
    flags=(
        {
            "name": "type_keys",
            "description": "Types text into the focused element.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
        {
            "name": "tap",
            "description": "Taps the screen.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
    ),
    passes=(
        {
            "name": "type_keys",
            "description": "Types text into the focused element.",
            "annotations": {"readOnlyHint": False, "destructiveHint": True},
        },
        {
            "name": "scroll",
            "description": "Scrolls the screen.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
        {
            "name": "delete_order",
            "description": "Deletes an order.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
    ),
)
