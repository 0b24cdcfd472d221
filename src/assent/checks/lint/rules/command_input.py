"""Rule: a tool does not execute free text."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool

_RUN = frozenset(
    ("command", "cmd", "shell", "shell_command", "command_line", "sql", "sql_query", "sql_statement", "cypher")
)
_RUN_BY_SOME = frozenset(("code", "script", "javascript", "statement", "expression", "source_code", "program"))


_ENDS = ("_command", "_sql", "_script", "_code", "_statement", "_query_string")


def check(tool: LintedTool) -> Iterator[RawFinding]:
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


RULE = Rule(
    name="command-input",
    severity="warning",
    summary="A tool takes a free-form command, script or statement.",
    why="Whoever can write the text can do everything the server can; no hint, scope or confirmation describes that.",
    fix="Offer the operations one by one, or an enumeration; where it must be, ask an approver and guard the text.",
    each=check,
    flags=(
        {
            "name": "run_command",
            "description": "Runs a shell command.",
            "inputSchema": {"type": "object", "properties": {"command": {"type": "string"}}},
        },
        {
            "name": "shell_execute",
            "description": "Executes a command on the host.",
            "inputSchema": {
                "type": "object",
                "properties": {"command": {"type": "array", "items": {"type": "string"}}},
            },
        },
        {
            "name": "execute_sql",
            "description": "Executes any SQL statement.",
            "inputSchema": {"type": "object", "properties": {"sql": {"type": "string"}}},
        },
    ),
    passes=(
        {
            "name": "run_checks",
            "description": "Runs the checks of a repository.",
            "inputSchema": {"type": "object", "properties": {"country_code": {"type": "string"}}},
        },
        {
            "name": "alerts_write",
            "description": "Create, update and delete alert rules.",
            "inputSchema": {"type": "object", "properties": {"expression": {"type": "string"}}},
        },
        {
            "name": "power",
            "description": "Switches the power.",
            "inputSchema": {"type": "object", "properties": {"command": {"enum": ["on", "off"]}}},
        },
    ),
)
