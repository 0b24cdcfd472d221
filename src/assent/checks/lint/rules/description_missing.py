"""Rule: a tool has a description."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if not tool.description.strip() and not tool.partial:
        yield RawFinding("it has no description", "/description")


RULE = Rule(
    name="description-missing",
    severity="warning",
    summary="A tool has no description.",
    why="The model chooses tools by their descriptions, and a reviewer has nothing to check the hints against.",
    fix="Say in one sentence what it does, beginning with the verb.",
    each=check,
    flags=({"name": "list_notes"}, {"name": "list_notes", "description": " "}),
    passes=({"name": "list_notes", "description": "Lists notes."},),
)
