"""Rule: Anthropic's directory requires this hint."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    claims = tool.claims
    if claims.read_only is None and claims.destructive is None:
        yield RawFinding("it has neither readOnlyHint nor destructiveHint", "/annotations")
    elif not claims.read_only and claims.destructive is None:
        yield RawFinding("it is not read-only and has no destructiveHint", "/annotations/destructiveHint")


RULE = Rule(
    name="anthropic-hints",
    severity="error",
    summary="Anthropic's connector directory wants readOnlyHint: true, or destructiveHint, on every tool.",
    why="A submission with tools that say neither is rejected.",
    fix="Set readOnlyHint to true where the tool only reads, and destructiveHint everywhere else.",
    profiles=("anthropic",),
    each=check,
    flags=({"name": "list_notes"}, {"name": "create_note", "annotations": {"readOnlyHint": False}}),
    passes=(
        {"name": "list_notes", "annotations": {"readOnlyHint": True}},
        {"name": "create_note", "annotations": {"destructiveHint": False}},
    ),
)
