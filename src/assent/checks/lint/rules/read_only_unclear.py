"""Rule: something besides readOnlyHint shows that a tool only reads."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.claims.read_only and not tool.inference.read_only and not tool.confident:
        yield RawFinding(
            "it claims to be read-only, and nothing in its name, text or parameters supports that",
            "/annotations/readOnlyHint",
        )


RULE = Rule(
    name="read-only-unclear",
    severity="note",
    summary="A tool claims to be read-only, and its definition does not say what it does.",
    why="A person who reviews the claim has only the definition to go by.",
    fix="Begin the description with what the tool returns: Lists, Returns, Searches.",
    each=check,
    flags=({"name": "frobnicator", "annotations": {"readOnlyHint": True}},),
    passes=(
        {"name": "frobnicator", "description": "Returns the frobs.", "annotations": {"readOnlyHint": True}},
        {"name": "frobnicator", "annotations": {"readOnlyHint": False}},
    ),
)
