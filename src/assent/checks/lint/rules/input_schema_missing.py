"""Rule: a tool has an input schema."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import Edit, put
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.definition.get("inputSchema") is None:
        yield RawFinding("it has no input schema", "/inputSchema")


def mend(tool: LintedTool, at: str) -> Iterator[Edit]:
    if tool.contract is None:
        yield put({"type": "object"}, "inputSchema")


RULE = Rule(
    name="input-schema-missing",
    severity="warning",
    summary="A tool has no input schema.",
    why="The specification requires one; without it any arguments at all are passed on.",
    fix='Declare `inputSchema`; for a tool without arguments {"type": "object", "additionalProperties": false}.',
    each=check,
    mend=mend,
    flags=({"name": "list_notes"},),
    passes=({"name": "list_notes", "inputSchema": {"type": "object"}},),
)
