"""Rule: OpenAI's reviewer accepts destructiveHint false on this tool."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import set_true
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool
from assent.contract.tiers import Tier


def check(tool: LintedTool) -> Iterator[RawFinding]:
    inference = tool.inference
    if tool.claims.destructive is False and not tool.claims.read_only and tool.confident:
        if inference.destructive:
            yield RawFinding("destructiveHint is false, but some mode of it erases", "/annotations/destructiveHint")
        elif inference.overwrites:
            yield RawFinding("destructiveHint is false, but it replaces what was there", "/annotations/destructiveHint")
        elif tool.tier is Tier.EXTERNAL_SPEND:
            yield RawFinding("destructiveHint is false, but it moves money or credits", "/annotations/destructiveHint")


RULE = Rule(
    name="openai-destructive",
    severity="error",
    summary="For OpenAI's app directory a tool is destructive if any mode of it can erase, overwrite or spend.",
    why="Reviewers compare the hint with what the tool can do in any mode.",
    fix="Set destructiveHint to true.",
    profiles=("openai",),
    each=check,
    mend=set_true,
    flags=(
        {
            "name": "update_note",
            "description": "Replaces the text of a note.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
        {
            "name": "place_order",
            "description": "Places an order and charges the card.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
    ),
    passes=(
        {
            "name": "create_note",
            "description": "Creates a note.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
        {
            "name": "update_note",
            "description": "Replaces the text of a note.",
            "annotations": {"readOnlyHint": False, "destructiveHint": True},
        },
    ),
)
