"""Rule: Anthropic's reviewer expects destructiveHint true on this tool, which changes something."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import set_true
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool

_HARMLESS = ("read", "compute")


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.claims.destructive is not False or tool.claims.read_only or not tool.confident:
        return
    if tool.tier not in _HARMLESS and not tool.inference.read_only:
        yield RawFinding("destructiveHint is false, but it changes something", "/annotations/destructiveHint")


RULE = Rule(
    name="anthropic-destructive",
    severity="error",
    summary="For Anthropic's connector directory every tool that changes or deletes data is destructive.",
    why="Claude always asks before a destructive tool, and the directory wants every change to be asked about; the "
    "specification's narrower meaning, in which adding destroys nothing, is not the one reviewers use.",
    fix="Set destructiveHint to true.",
    profiles=("anthropic",),
    each=check,
    mend=set_true,
    flags=(
        {
            "name": "create_note",
            "description": "Creates a note.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
    ),
    passes=(
        {
            "name": "create_note",
            "description": "Creates a note.",
            "annotations": {"readOnlyHint": False, "destructiveHint": True},
        },
        {
            "name": "list_notes",
            "description": "Lists notes.",
            "annotations": {"readOnlyHint": True, "destructiveHint": False},
        },
        {"contracts": {"render_map": {"side_effect": "compute", "description": "Renders a map."}}},
        {"contracts": {"create_note": {"side_effect": "write", "description": "Creates a note."}}},
    ),
)
