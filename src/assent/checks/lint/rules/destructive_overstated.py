"""Rule: a read-only tool does not claim to be destructive."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.claims.destructive and not tool.claims.read_only and tool.inference.read_only and tool.confident:
        yield RawFinding(f"destructiveHint is true, but {tool.because}", "/annotations/destructiveHint")


RULE = Rule(
    name="destructive-overstated",
    severity="note",
    summary="A tool that by its definition only reads is marked destructive.",
    why="A warning on what is harmless takes the weight from the warnings that matter.",
    fix="Set destructiveHint to false and readOnlyHint to true; or say in the description what can be lost.",
    each=check,
    flags=(
        {
            "name": "search_notes",
            "description": "Searches notes.",
            "annotations": {"readOnlyHint": False, "destructiveHint": True},
        },
    ),
    passes=(
        {
            "name": "drop_notes",
            "description": "Drops all notes.",
            "annotations": {"readOnlyHint": False, "destructiveHint": True},
        },
    ),
)
