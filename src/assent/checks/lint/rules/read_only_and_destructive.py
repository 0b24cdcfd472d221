"""Rule: readOnlyHint and destructiveHint are not both true."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import Edit, put
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.claims.read_only and tool.claims.destructive:
        yield RawFinding("it claims to be read-only and destructive at once", "/annotations/destructiveHint")


def mend(tool: LintedTool, at: str) -> Iterator[Edit]:
    if tool.contract is None and not tool.inference.read_only and "readOnlyHint" in tool.annotations:
        yield put(False, "annotations", "readOnlyHint")


RULE = Rule(
    name="read-only-and-destructive",
    severity="error",
    summary="A tool claims to be read-only and destructive at once.",
    why="One of the two is wrong. Hosts that look at readOnlyHint first run it without asking.",
    fix="Decide which it is. A tool that only reads destroys nothing.",
    each=check,
    mend=mend,
    flags=({"name": "purge_cache", "annotations": {"readOnlyHint": True, "destructiveHint": True}},),
    passes=(
        {"name": "purge_cache", "annotations": {"readOnlyHint": False, "destructiveHint": True}},
        {"name": "list_cache", "annotations": {"readOnlyHint": True, "destructiveHint": False}},
        {"name": "list_cache", "annotations": {"readOnlyHint": True}},
    ),
)
