"""Rule: the specification allows the tool name."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool

_LONGEST = 128
_ALLOWED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if len(tool.name) > _LONGEST:
        yield RawFinding(f"the name has {len(tool.name)} characters; {_LONGEST} are allowed", "/name")
    strange = sorted(set(tool.name) - _ALLOWED)
    if strange or not tool.name:
        shown = " ".join(repr(character) for character in strange[:5]) or "nothing"
        yield RawFinding(f"the name holds {shown}", "/name")


RULE = Rule(
    name="name-invalid",
    severity="error",
    summary="A name has characters or a length that the specification does not allow.",
    why="Clients refuse the tool, or the whole list.",
    fix="Use 1 to 128 letters, digits, underscores, hyphens and dots.",
    each=check,
    flags=({"name": "list notes"}, {"name": "x" * 129}, {"name": "notes/list"}),
    passes=({"name": "list_notes"}, {"name": "notes.list-all"}),
)
