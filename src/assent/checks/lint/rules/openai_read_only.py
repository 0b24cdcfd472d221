"""Rule: OpenAI's reviewer accepts readOnlyHint true on this tool."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.claims.read_only and not tool.inference.read_only:
        yield RawFinding(
            f"it claims to be read-only, and a reviewer will ask why: {tool.because}", "/annotations/readOnlyHint"
        )


RULE = Rule(
    name="openai-read-only",
    severity="error",
    summary="For OpenAI's app directory a tool that enqueues, runs jobs or writes anything is not read-only.",
    why="Reviewers compare the hint with what the tool can do in any mode.",
    fix="Set readOnlyHint to false, or make the description say what is returned.",
    profiles=("openai",),
    each=check,
    flags=({"name": "start_report", "description": "Starts a report job.", "annotations": {"readOnlyHint": True}},),
    passes=({"name": "list_notes", "description": "Lists notes.", "annotations": {"readOnlyHint": True}},),
)
