"""Rule: Anthropic's directory requires a title."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import Edit, put
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    inside = tool.annotations.get("title")
    if not (isinstance(inside, str) and inside.strip()):
        yield RawFinding("annotations.title is missing", "/annotations/title")
    if not tool.title.strip():
        yield RawFinding("title is missing", "/title")


def mend(tool: LintedTool, at: str) -> Iterator[Edit]:
    inside = tool.annotations.get("title")
    if tool.contract is None and at == "/title" and isinstance(inside, str) and inside.strip():
        yield put(inside, "title")
    elif tool.contract is None and at != "/title" and tool.title.strip():
        yield put(tool.title, "annotations", "title")


RULE = Rule(
    name="anthropic-title",
    severity="error",
    summary="Anthropic's connector directory wants a title on every tool; in both places it is seen everywhere.",
    why="A submission with tools that have no title is rejected.",
    fix="Write the same title in `title` and in `annotations.title`.",
    profiles=("anthropic",),
    each=check,
    mend=mend,
    flags=({"name": "list_notes"}, {"name": "list_notes", "title": "List notes"}),
    passes=({"name": "list_notes", "title": "List notes", "annotations": {"title": "List notes"}},),
)
