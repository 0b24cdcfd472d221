"""Rules about input and output schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assent.checks.lint.edit import Edit, put
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool
from assent.contract.documents import schema_validator


def check_input_schema_missing(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.definition.get("inputSchema") is None:
        yield RawFinding("it has no input schema", "/inputSchema")


def mend_input_schema_missing(tool: LintedTool, at: str) -> Iterator[Edit]:
    if tool.contract is None:
        yield put({"type": "object"}, "inputSchema")


INPUT_SCHEMA_MISSING = Rule(
    name="input-schema-missing",
    severity="warning",
    summary="A tool has no input schema.",
    why="The specification requires one; without it any arguments at all are passed on.",
    fix='Declare `inputSchema`; for a tool without arguments {"type": "object", "additionalProperties": false}.',
    each=check_input_schema_missing,
    mend=mend_input_schema_missing,
    flags=({"name": "list_notes"},),
    passes=({"name": "list_notes", "inputSchema": {"type": "object"}},),
)


def check_output_schema_missing(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.definition.get("outputSchema") is None and not tool.partial:
        yield RawFinding("it has no output schema", "/outputSchema")


OUTPUT_SCHEMA_MISSING = Rule(
    name="output-schema-missing",
    severity="note",
    summary="A tool has no output schema.",
    why="Without one a result is text: nothing can be checked, no secret can be found in it, and the model "
    "guesses its form.",
    fix="Declare `outputSchema`, or `output:` in the contract.",
    each=check_output_schema_missing,
    flags=({"name": "list_notes"},),
    passes=({"name": "list_notes", "outputSchema": {"type": "object"}},),
)


def check_schema_invalid(tool: LintedTool) -> Iterator[RawFinding]:
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


SCHEMA_INVALID = Rule(
    name="schema-invalid",
    severity="error",
    summary="An input or output schema is not a JSON Schema of an object.",
    why="Clients refuse the tool or skip the check; a gateway withholds it.",
    fix="Correct the schema. References must stay inside it.",
    each=check_schema_invalid,
    flags=(
        {"name": "list_notes", "inputSchema": {"type": "strnig"}},
        {"name": "list_notes", "inputSchema": {"type": "object", "properties": {"id": {"type": "strnig"}}}},
        {"name": "list_notes", "inputSchema": {"$ref": "https://example.com/schema.json"}},
        {"name": "list_notes", "inputSchema": []},
    ),
    passes=({"name": "list_notes", "inputSchema": {"type": "object"}}, {"name": "list_notes"}),
)


_LIMITS = ("maxLength", "enum", "const", "format", "pattern")


def check_string_unbounded(tool: LintedTool) -> Iterator[RawFinding]:
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


STRING_UNBOUNDED = Rule(
    name="string-unbounded",
    severity="note",
    summary="A tool that acts takes texts or lists of any length.",
    why="What has no bound is more than a person who is asked can read, and fills stores and logs.",
    fix="Give texts a `maxLength`, an `enum`, a `format` or a `pattern`, and lists a `maxItems`.",
    each=check_string_unbounded,
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
