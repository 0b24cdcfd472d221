"""Rule: the side effects of a contract say what a repetition does."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool

_WORDS = r"again|another|each|every|idempoten\w*|once|re-?run\w*|repeat\w*|repetition|retr\w+|same|second|twice"
_REPETITION = re.compile(rf"\b(?:{_WORDS})\b", re.IGNORECASE)


def check(tool: LintedTool) -> Iterator[RawFinding]:
    contract = tool.contract
    if contract is None or tool.tier == "read" or not contract.side_effects:
        return
    if not any(_REPETITION.search(sentence) for sentence in contract.side_effects):
        yield RawFinding("its side effects do not say what a repetition does", "side_effects")


_ADDS = {"side_effect": "write", "side_effects": ["A note is added."]}

RULE = Rule(
    name="repetition-undescribed",
    severity="note",
    summary="The side effects of a contract do not say what a repeated call does.",
    why="After a timeout an agent must decide whether to call again, and a person reads these sentences before a yes.",
    fix="Add a sentence to `side_effects:`, such as: Repeating the call adds a second one.",
    each=check,
    flags=({"contracts": {"create_note": _ADDS}},),
    passes=(
        {"contracts": {"create_note": {**_ADDS, "side_effects": ["A note is added.", "Repeating adds a second one."]}}},
        {"contracts": {"create_note": {"side_effect": "write"}}},
        {"contracts": {"list_notes": {"side_effect": "read", "side_effects": ["Counts the view."]}}},
    ),
)
