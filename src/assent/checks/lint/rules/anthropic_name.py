"""Rule: Anthropic's directory accepts the tool name."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if len(tool.name) > 64:
        yield RawFinding(f"the name has {len(tool.name)} characters; 64 are allowed", "/name")


RULE = Rule(
    name="anthropic-name",
    severity="error",
    summary="Anthropic's connector directory allows names of at most 64 characters.",
    why="A submission with longer names is rejected.",
    fix="Shorten the name.",
    profiles=("anthropic",),
    each=check,
    flags=({"name": "a" * 65},),
    passes=({"name": "a" * 64},),
)
