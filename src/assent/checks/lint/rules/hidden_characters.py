"""Rule: texts contain no invisible characters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assent.checks.lint.edit import Edit, put
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool
from assent.core.hidden_characters import hidden_in, is_plain, without_hidden


def check(tool: LintedTool) -> Iterator[RawFinding]:
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


def mend(tool: LintedTool, at: str) -> Iterator[Edit]:
    """Texts lose them; a name is what callers know a tool or an argument by, and stays."""
    path = [part.replace("~1", "/").replace("~0", "~") for part in at.split("/")[1:]]
    holder: Any = tool.definition
    for key in path:
        holder = holder.get(key) if isinstance(holder, Mapping) else None
    if isinstance(holder, str) and path[-1] in ("title", "description") and (tool.contract is None or len(path) == 1):
        yield put(without_hidden(holder), *path)


RULE = Rule(
    name="hidden-characters",
    severity="error",
    summary="A name, title or description holds invisible or direction-changing characters.",
    why="The model reads them, the person who reviews the tool does not.",
    fix="Remove them.",
    each=check,
    mend=mend,
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
