"""Rule: a tool has a title."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    inside = tool.annotations.get("title")
    if not tool.title.strip() and not (isinstance(inside, str) and inside.strip()):
        yield RawFinding("it has no title: people will be asked about its raw name", "/title")


RULE = Rule(
    name="title-missing",
    severity="note",
    summary="A tool has no title.",
    why="The title is what a person sees when asked whether a call may run.",
    fix="Give it a short title, in `title` and in `annotations.title`.",
    each=check,
    flags=({"name": "ordr_upd_v2"}, {"name": "list_notes", "title": "  "}),
    passes=({"name": "list_notes", "title": "List notes"}, {"name": "list", "annotations": {"title": "List notes"}}),
)
