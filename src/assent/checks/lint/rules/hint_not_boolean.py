"""Rule: every hint is a boolean."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import Edit, is_safe_hint, put, remove
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool

HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_WORDS = {"true": True, "false": False}


def check(tool: LintedTool) -> Iterator[RawFinding]:
    for hint in HINTS:
        if hint in tool.annotations and not isinstance(tool.annotations[hint], bool):
            yield RawFinding(
                f"{hint} is {str(tool.annotations[hint])[:40]!r}, not true or false", f"/annotations/{hint}"
            )
    given = tool.definition.get("annotations")
    if given is not None and not isinstance(given, dict):
        yield RawFinding("annotations is not an object", "/annotations")


def mend(tool: LintedTool, at: str) -> Iterator[Edit]:
    hint = at.rpartition("/")[2]
    if tool.contract is not None or hint not in HINTS:
        return
    value = _WORDS.get(str(tool.annotations[hint]).strip().lower())
    if tool.annotations[hint] is None:
        yield remove("annotations", hint)
    elif value is not None and is_safe_hint(tool, hint, value):
        yield put(value, "annotations", hint)


RULE = Rule(
    name="hint-not-boolean",
    severity="error",
    summary="A hint is something other than true or false.",
    why='Hosts drop what is no boolean, some refuse the whole list of tools, and a text such as "false" counts as true '
    "where it is read carelessly.",
    fix="Write true or false without quotes, or leave the hint out.",
    each=check,
    mend=mend,
    flags=(
        {"name": "list_notes", "annotations": {"readOnlyHint": "true"}},
        {"name": "list_notes", "annotations": {"openWorldHint": None}},
        {"name": "list_notes", "annotations": ["readOnly"]},
    ),
    passes=({"name": "list_notes", "annotations": {"readOnlyHint": True}}, {"name": "list_notes"}),
)
