"""Rule: OpenAI's directory requires this hint."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import write_default
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    claims = tool.claims
    said = {
        "readOnlyHint": claims.read_only,
        "destructiveHint": claims.destructive,
        "openWorldHint": claims.open_world,
    }
    for hint, value in said.items():
        if value is None:
            yield RawFinding(f"{hint} is not set", f"/annotations/{hint}")


RULE = Rule(
    name="openai-hints",
    severity="error",
    summary="OpenAI's app directory wants readOnlyHint, destructiveHint and openWorldHint on every tool.",
    why="A missing hint blocks the submission, whatever the protocol's default is.",
    fix="Set all three explicitly.",
    profiles=("openai",),
    each=check,
    mend=write_default,
    flags=({"name": "list_notes", "annotations": {"readOnlyHint": True, "destructiveHint": False}},),
    passes=(
        {
            "name": "list_notes",
            "annotations": {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False},
        },
    ),
)
