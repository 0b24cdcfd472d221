"""Rule: the title is in both places where hosts look."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import Edit, put
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    beside, inside = tool.title.strip(), tool.annotations.get("title")
    inside = inside.strip() if isinstance(inside, str) else ""
    if beside and not inside:
        yield RawFinding("the title stands beside the annotations only", "/annotations/title")
    elif inside and not beside:
        yield RawFinding("the title stands inside the annotations only", "/title")
    elif beside != inside:
        yield RawFinding(f"it has two titles: {beside[:60]!r} and {inside[:60]!r}", "/annotations/title")


def mend(tool: LintedTool, at: str) -> Iterator[Edit]:
    inside = tool.annotations.get("title")
    if tool.contract is None and at == "/title" and isinstance(inside, str):
        yield put(inside, "title")
    elif tool.contract is None and inside is None:
        yield put(tool.title, "annotations", "title")


RULE = Rule(
    name="title-in-one-place",
    severity="note",
    summary="The title stands in one of its two places only, or differs between them.",
    why="Older hosts read `annotations.title`, newer ones `title`. Where it is missing, people see the raw name.",
    fix="Write the same title in both places.",
    each=check,
    mend=mend,
    flags=(
        {"name": "list_notes", "title": "List notes"},
        {"name": "list_notes", "annotations": {"title": "List notes"}},
        {"name": "list_notes", "title": "List notes", "annotations": {"title": "Notes"}},
    ),
    passes=({"name": "list_notes", "title": "List notes", "annotations": {"title": "List notes"}}, {"name": "list"}),
)
