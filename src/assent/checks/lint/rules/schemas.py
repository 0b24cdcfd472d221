"""Rules about schemas and about commands, secrets and keys in arguments and files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from assent.checks.lint.edit import Edit, put
from assent.checks.lint.rule import RawFinding
from assent.checks.lint.target import LintedTool, Target
from assent.contract.documents import schema_validator


def check_input_schema_missing(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.definition.get("inputSchema") is None:
        yield RawFinding("it has no input schema", "/inputSchema")


def mend_input_schema_missing(tool: LintedTool, at: str) -> Iterator[Edit]:
    if tool.contract is None:
        yield put({"type": "object"}, "inputSchema")


def check_output_schema_missing(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.definition.get("outputSchema") is None and not tool.partial:
        yield RawFinding("it has no output schema", "/outputSchema")


def check_schema_invalid(tool: LintedTool) -> Iterator[RawFinding]:
    for key in ("inputSchema", "outputSchema"):
        if key in tool.definition:
            wrong = _schema_fault(tool.definition[key])
            if wrong:
                yield RawFinding(f"{key} {wrong}", f"/{key}")


def _schema_fault(schema: Any) -> str | None:
    if not isinstance(schema, Mapping):
        return "is not an object"
    if schema.get("type", "object") != "object":
        return f"is of type {str(schema['type'])[:40]!r}; arguments and structured results are objects"
    try:
        schema_validator(dict(schema))
    except ValueError as error:
        return f"cannot be used: {str(error)[:200]}"
    return None


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


_RUN = frozenset(
    ("command", "cmd", "shell", "shell_command", "command_line", "sql", "sql_query", "sql_statement", "cypher")
)
_RUN_BY_SOME = frozenset(("code", "script", "javascript", "statement", "expression", "source_code", "program"))


_ENDS = ("_command", "_sql", "_script", "_code", "_statement", "_query_string")


def check_command_input(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.inference.read_only and tool.confident:
        return
    runs = any(reason.startswith("it runs ") for reason in tool.inference.reasons)
    free = _RUN | _RUN_BY_SOME if runs else _RUN
    for field in tool.inputs:
        # A list of words is a command too, where one is run.
        text = field.is_a("string") or (runs and field.is_a("array"))
        named = field.plain in free or (runs and field.plain.endswith(_ENDS))
        if named and text and not field.bounded("enum", "const", "pattern"):
            yield RawFinding(f"{field.name} takes any text and runs it", f"/inputSchema{field.pointer}")


def check_secret_input(tool: LintedTool) -> Iterator[RawFinding]:
    for field in tool.inputs:
        if field.secret and not field.is_a("boolean") and not field.is_a("integer"):
            yield RawFinding(
                f"{field.name} is a secret that the model would have to write", f"/inputSchema{field.pointer}"
            )


_NAMED = re.compile(
    r"""["']?(?P<name>[\w-]*(?:key|token|secret|password|authorization)[\w-]*)["']?\s*:\s*["']?(?P<value>[^"'\s,}{\]]\S*[^"',}\]]*)""",
    re.IGNORECASE,
)
_SHAPED = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|xox[baprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.)"
)
_IN_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/:@]+:(?!\$\{)[^\s/@]+@")


def check_all_literal_key(target: Target) -> Iterator[tuple[str, RawFinding]]:
    for number, line in enumerate(target.configuration.splitlines(), start=1):
        code = line if '"' in line or "'" in line else line.partition(" #")[0]
        if code.lstrip().startswith("#"):
            continue
        named = next((one for one in _NAMED.finditer(code) if _literal(one["value"])), None)
        if named or _SHAPED.search(code) or _IN_ADDRESS.search(code):
            what = named["name"] if named else "a credential"
            yield "", RawFinding(f"{what} is written into the file", f"line {number}")


def _literal(value: str) -> bool:
    """Whether a value is a key itself: long enough, no path, no number, and nothing taken from the environment."""
    plain = value.removeprefix("Bearer ").removeprefix("Basic ").strip()
    return (
        "${" not in value
        and len(plain) >= 8
        and not plain.startswith(("/", "./", "http", "[", "{"))
        and (any(c.isdigit() for c in plain) or len(plain) >= 16)
    )
