"""Rule: the schemas of a tool are JSON Schemas of objects that a gateway can check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool
from assent.contract.documents import schema_validator


def check(tool: LintedTool) -> Iterator[RawFinding]:
    for key in ("inputSchema", "outputSchema"):
        if key in tool.definition:
            wrong = _wrong(tool.definition[key])
            if wrong:
                yield RawFinding(f"{key} {wrong}", f"/{key}")


def _wrong(schema: Any) -> str | None:
    if not isinstance(schema, Mapping):
        return "is not an object"
    if schema.get("type", "object") != "object":
        return f"is of type {str(schema['type'])[:40]!r}; arguments and structured results are objects"
    try:
        schema_validator(dict(schema))
    except ValueError as error:
        return f"cannot be used: {str(error)[:200]}"
    return None


RULE = Rule(
    name="schema-invalid",
    severity="error",
    summary="An input or output schema is not a JSON Schema of an object.",
    why="Clients refuse the tool or skip the check; a gateway withholds it.",
    fix="Correct the schema. References must stay inside it.",
    each=check,
    flags=(
        {"name": "list_notes", "inputSchema": {"type": "strnig"}},
        {"name": "list_notes", "inputSchema": {"type": "object", "properties": {"id": {"type": "strnig"}}}},
        {"name": "list_notes", "inputSchema": {"$ref": "https://example.com/schema.json"}},
        {"name": "list_notes", "inputSchema": []},
    ),
    passes=({"name": "list_notes", "inputSchema": {"type": "object"}}, {"name": "list_notes"}),
)
