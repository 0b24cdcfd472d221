"""Rule: texts and lists in arguments have a maximum length."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool

_LIMITS = ("maxLength", "enum", "const", "format", "pattern")


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.tier == "read":
        return
    endless = [
        field.name
        for field in tool.inputs
        if (field.is_a("string") and not field.bounded(*_LIMITS))
        or (field.is_a("array") and not field.bounded("maxItems"))
    ]
    if endless:
        shown = ", ".join(endless[:5]) + (" and more" if len(endless) > 5 else "")
        yield RawFinding(f"these may be of any length: {shown}", "/inputSchema")


RULE = Rule(
    name="string-unbounded",
    severity="note",
    summary="A tool that acts takes texts or lists of any length.",
    why="What has no bound is more than a person who is asked can read, and fills stores and logs.",
    fix="Give texts a `maxLength`, an `enum`, a `format` or a `pattern`, and lists a `maxItems`.",
    each=check,
    flags=(
        {
            "name": "create_note",
            "description": "Creates a note.",
            "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        },
        {
            "name": "add_labels",
            "description": "Adds labels.",
            "inputSchema": {"type": "object", "properties": {"labels": {"type": "array"}}},
        },
    ),
    passes=(
        {
            "name": "create_note",
            "description": "Creates a note.",
            "inputSchema": {"type": "object", "properties": {"text": {"type": "string", "maxLength": 2000}}},
        },
        {
            "name": "list_notes",
            "description": "Lists notes.",
            "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}},
        },
    ),
)
