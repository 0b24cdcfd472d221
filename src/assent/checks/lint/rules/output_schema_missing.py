"""Rule: a tool has an output schema."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.definition.get("outputSchema") is None and not tool.partial:
        yield RawFinding("it has no output schema", "/outputSchema")


RULE = Rule(
    name="output-schema-missing",
    severity="note",
    summary="A tool has no output schema.",
    why="Without one a result is text: nothing can be checked, no secret can be found in it, and the model "
    "guesses its form.",
    fix="Declare `outputSchema`, or `output:` in the contract.",
    each=check,
    flags=({"name": "list_notes"},),
    passes=({"name": "list_notes", "outputSchema": {"type": "object"}},),
)
