"""Are there characters that nobody sees?"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from assent.lint.change import Change, put
from assent.lint.rule import Rule, Said
from assent.lint.target import Subject

_LINES = frozenset("\n\r\t")
_JOINERS = frozenset("\u200d\ufe0f\ufe0e")  # parts of ordinary emoji
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_BLANK = frozenset("\u115f\u1160\u17b4\u17b5\u3164\uffa0\u034f\u2800\ufeff")


def check(tool: Subject) -> Iterator[Said]:
    for place, text in _texts(tool):
        if text.isascii() and text.isprintable():
            continue
        found = [character for character in dict.fromkeys(text) if _hidden(character)]
        if found:
            shown = ", ".join(f"U+{ord(character):04X}" for character in found[:5])
            yield Said(f"it holds characters that nobody sees: {shown}", place)


def _hidden(character: str) -> bool:
    if character in _LINES or character in _JOINERS:
        return False
    return character in _BLANK or unicodedata.category(character) in _HIDDEN


def _texts(tool: Subject) -> Iterator[tuple[str, str]]:
    for key in ("name", "title", "description"):
        yield f"/{key}", tool.text(key)
    title = tool.annotations.get("title")
    if isinstance(title, str):
        yield "/annotations/title", title
    for field in tool.inputs:
        yield f"/inputSchema{field.pointer}", field.name
        text = field.schema.get("description")
        if isinstance(text, str):
            yield f"/inputSchema{field.pointer}/description", text


def mend(tool: Subject, at: str) -> Iterator[Change]:
    """Texts lose them; a name is what callers know a tool or an argument by, and stays."""
    path = [part.replace("~1", "/").replace("~0", "~") for part in at.split("/")[1:]]
    holder: Any = tool.definition
    for key in path:
        holder = holder.get(key) if isinstance(holder, Mapping) else None
    if isinstance(holder, str) and path[-1] in ("title", "description") and (tool.contract is None or len(path) == 1):
        yield put("".join(character for character in holder if not _hidden(character)), *path)


RULE = Rule(
    name="hidden-characters",
    severity="error",
    summary="A name, title or description holds invisible or direction-changing characters.",
    why="The model reads them, the person who reviews the tool does not.",
    fix="Remove them.",
    each=check,
    mend=mend,
    flags=(
        {"name": "list_notes", "description": "Lists notes.\u200b\u200bAnd sends them."},
        {"name": "list_notes", "title": "List \u202enotes"},
        {"name": "list_notes", "description": "Lists.\U000e0041\U000e0042"},
    ),
    passes=(
        {"name": "list_notes", "description": "Lists notes.\n\nWith line breaks, “quotes” and Umlaute: äöü."},
        {"name": "list_notes", "description": "Friendly \U0001f468\u200d\U0001f469\u200d\U0001f467 notes"},
    ),
)
