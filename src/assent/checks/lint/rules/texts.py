"""Rules about titles and descriptions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from assent.checks.lint.edit import Edit, put
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool
from assent.core.hidden_characters import hidden_in, is_plain, without_hidden


def check_description_missing(tool: LintedTool) -> Iterator[RawFinding]:
    if not tool.description.strip() and not tool.partial:
        yield RawFinding("it has no description", "/description")


DESCRIPTION_MISSING = Rule(
    name="description-missing",
    severity="warning",
    summary="A tool has no description.",
    why="The model chooses tools by their descriptions, and a reviewer has nothing to check the hints against.",
    fix="Say in one sentence what it does, beginning with the verb.",
    each=check_description_missing,
    flags=({"name": "list_notes"}, {"name": "list_notes", "description": " "}),
    passes=({"name": "list_notes", "description": "Lists notes."},),
)


def check_title_in_one_place(tool: LintedTool) -> Iterator[RawFinding]:
    beside, inside = tool.title.strip(), tool.annotations.get("title")
    inside = inside.strip() if isinstance(inside, str) else ""
    if beside and not inside:
        yield RawFinding("the title stands beside the annotations only", "/annotations/title")
    elif inside and not beside:
        yield RawFinding("the title stands inside the annotations only", "/title")
    elif beside != inside:
        yield RawFinding(f"it has two titles: {beside[:60]!r} and {inside[:60]!r}", "/annotations/title")


def mend_title_in_one_place(tool: LintedTool, at: str) -> Iterator[Edit]:
    inside = tool.annotations.get("title")
    if tool.contract is None and at == "/title" and isinstance(inside, str):
        yield put(inside, "title")
    elif tool.contract is None and inside is None:
        yield put(tool.title, "annotations", "title")


TITLE_IN_ONE_PLACE = Rule(
    name="title-in-one-place",
    severity="note",
    summary="The title stands in one of its two places only, or differs between them.",
    why="Older hosts read `annotations.title`, newer ones `title`. Where it is missing, people see the raw name.",
    fix="Write the same title in both places.",
    each=check_title_in_one_place,
    mend=mend_title_in_one_place,
    flags=(
        {"name": "list_notes", "title": "List notes"},
        {"name": "list_notes", "annotations": {"title": "List notes"}},
        {"name": "list_notes", "title": "List notes", "annotations": {"title": "Notes"}},
    ),
    passes=({"name": "list_notes", "title": "List notes", "annotations": {"title": "List notes"}}, {"name": "list"}),
)


def check_title_missing(tool: LintedTool) -> Iterator[RawFinding]:
    inside = tool.annotations.get("title")
    if not tool.title.strip() and not (isinstance(inside, str) and inside.strip()):
        yield RawFinding("it has no title: people will be asked about its raw name", "/title")


TITLE_MISSING = Rule(
    name="title-missing",
    severity="note",
    summary="A tool has no title.",
    why="The title is what a person sees when asked whether a call may run.",
    fix="Give it a short title, in `title` and in `annotations.title`.",
    each=check_title_missing,
    flags=({"name": "ordr_upd_v2"}, {"name": "list_notes", "title": "  "}),
    passes=({"name": "list_notes", "title": "List notes"}, {"name": "list", "annotations": {"title": "List notes"}}),
)


_WORDS = r"again|another|each|every|idempoten\w*|once|re-?run\w*|repeat\w*|repetition|retr\w+|same|second|twice"
_REPETITION = re.compile(rf"\b(?:{_WORDS})\b", re.IGNORECASE)


def check_repetition_undescribed(tool: LintedTool) -> Iterator[RawFinding]:
    contract = tool.contract
    if contract is None or tool.tier == "read" or not contract.side_effects:
        return
    if not any(_REPETITION.search(sentence) for sentence in contract.side_effects):
        yield RawFinding("its side effects do not say what a repetition does", "side_effects")


_ADDS = {"side_effect": "write", "side_effects": ["A note is added."]}

REPETITION_UNDESCRIBED = Rule(
    name="repetition-undescribed",
    severity="note",
    summary="The side effects of a contract do not say what a repeated call does.",
    why="After a timeout an agent must decide whether to call again, and a person reads these sentences before a yes.",
    fix="Add a sentence to `side_effects:`, such as: Repeating the call adds a second one.",
    each=check_repetition_undescribed,
    flags=({"contracts": {"create_note": _ADDS}},),
    passes=(
        {"contracts": {"create_note": {**_ADDS, "side_effects": ["A note is added.", "Repeating adds a second one."]}}},
        {"contracts": {"create_note": {"side_effect": "write"}}},
        {"contracts": {"list_notes": {"side_effect": "read", "side_effects": ["Counts the view."]}}},
    ),
)


def check_hidden_characters(tool: LintedTool) -> Iterator[RawFinding]:
    for place, text in _texts(tool):
        found = dict.fromkeys(text[at] for at in hidden_in(text) if not is_plain(text[at]))
        if found:
            shown = ", ".join(f"U+{ord(character):04X}" for character in list(found)[:5])
            yield RawFinding(f"it holds characters that nobody sees: {shown}", place)


def _texts(tool: LintedTool) -> Iterator[tuple[str, str]]:
    yield "/name", tool.text("name")
    yield from tool.texts
    for field in tool.inputs:
        yield f"/inputSchema{field.pointer}", field.name


def mend_hidden_characters(tool: LintedTool, at: str) -> Iterator[Edit]:
    """Texts lose them; a name is what callers know a tool or an argument by, and stays."""
    path = [part.replace("~1", "/").replace("~0", "~") for part in at.split("/")[1:]]
    holder: Any = tool.definition
    for key in path:
        holder = holder.get(key) if isinstance(holder, Mapping) else None
    if isinstance(holder, str) and path[-1] in ("title", "description") and (tool.contract is None or len(path) == 1):
        yield put(without_hidden(holder), *path)


HIDDEN_CHARACTERS = Rule(
    name="hidden-characters",
    severity="error",
    summary="A name, title or description holds invisible or direction-changing characters.",
    why="The model reads them, the person who reviews the tool does not.",
    fix="Remove them.",
    each=check_hidden_characters,
    mend=mend_hidden_characters,
    flags=(
        {"name": "list_notes", "description": "Lists \x1b[8mall\x1b[0m notes."},
        {"name": "list_notes", "description": "Lists notes.\u200b\u200bAnd sends them."},
        {"name": "list_notes", "title": "List \u202enotes"},
        {"name": "list_notes", "description": "Lists.\U000e0041\U000e0042"},
        {"name": "list_notes", "description": "Lists \U0001f642\U000e0158\U000e0155\U000e015c notes"},
        {"name": "list_notes", "description": "Lists\u200d\ufe0f\u200d notes"},
        {"name": "list_notes", "inputSchema": {"type": "object", "$defs": {"Sort": {"enum": ["up\u200b"]}}}},
    ),
    passes=(
        {"name": "list_notes", "description": "Lists notes.\n\nWith line breaks, “quotes” and Umlaute: äöü."},
        {
            "name": "list_notes",
            "description": "\u2757\ufe0f \U0001f441\ufe0f\u200d\U0001f5e8\ufe0f 1\ufe0f\u20e3 "
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        },
        {
            "name": "list_notes",
            "description": "\U0001f3f4\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f only",
        },
        {"name": "list_notes", "description": "Friendly \U0001f468\u200d\U0001f469\u200d\U0001f467 notes"},
    ),
)
