"""Rule: a tool with hints has the decisive ones."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import write_default
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    claims = tool.claims
    if claims.read_only is None and (claims.destructive is not None or claims.open_world is not None):
        yield RawFinding("readOnlyHint is not set, which means: not read-only", "/annotations/readOnlyHint")
    if claims.read_only is False and claims.destructive is None and tool.contract is None:
        yield RawFinding("destructiveHint is not set, which means: destructive", "/annotations/destructiveHint")


RULE = Rule(
    name="hints-partial",
    severity="warning",
    summary="A tool gives some hints and leaves out one that decides.",
    why="An absent hint is not neutral. The specification reads it as: not read-only, destructive, not "
    "idempotent, open to the world.",
    fix="Set it explicitly, even where the default is what you mean.",
    each=check,
    mend=write_default,
    flags=(
        {"name": "create_note", "annotations": {"readOnlyHint": False}},
        {"name": "list_notes", "annotations": {"openWorldHint": False}},
    ),
    passes=(
        {"name": "create_note", "annotations": {"readOnlyHint": False, "destructiveHint": False}},
        {"name": "list_notes", "annotations": {"readOnlyHint": True}},
        {"name": "list_notes"},
        {"contracts": {"create_note": {"side_effect": "write"}}},
    ),
)
