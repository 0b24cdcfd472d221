"""Rules about commands, secrets and keys in arguments and files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool, Target

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


COMMAND_INPUT = Rule(
    name="command-input",
    severity="warning",
    summary="A tool takes a free-form command, script or statement.",
    why="Whoever can write the text can do everything the server can; no hint, scope or confirmation describes that.",
    fix="Offer the operations one by one, or an enumeration; where it must be, ask an approver and guard the text.",
    each=check_command_input,
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


def check_secret_input(tool: LintedTool) -> Iterator[RawFinding]:
    for field in tool.inputs:
        if field.secret and not field.is_a("boolean") and not field.is_a("integer"):
            yield RawFinding(
                f"{field.name} is a secret that the model would have to write", f"/inputSchema{field.pointer}"
            )


SECRET_INPUT = Rule(
    name="secret-input",
    severity="warning",
    summary="A tool takes a password, key or token as an argument.",
    why="What is an argument passes through the model, its context, its provider and every log on the way.",
    fix="Take credentials from the server's configuration or from the caller's authentication.",
    each=check_secret_input,
    flags=(
        {"name": "login", "inputSchema": {"type": "object", "properties": {"password": {"type": "string"}}}},
        {"name": "fetch", "inputSchema": {"type": "object", "properties": {"apiKey": {"type": "string"}}}},
        {
            "name": "connect",
            "inputSchema": {
                "type": "object",
                "properties": {"to": {"$ref": "#/$defs/Server"}},
                "$defs": {"Server": {"type": "object", "properties": {"password": {"type": "string"}}}},
            },
        },
        {"name": "verify", "inputSchema": {"type": "object", "properties": {"otpCode": {"type": "string"}}}},
    ),
    passes=(
        {"name": "open", "inputSchema": {"type": "object", "properties": {"file_token": {"type": "string"}}}},
        {"name": "list", "inputSchema": {"type": "object", "properties": {"page_token": {"type": "string"}}}},
        {"name": "ask", "inputSchema": {"type": "object", "properties": {"max_tokens": {"type": "integer"}}}},
        {"name": "rotate", "inputSchema": {"type": "object", "properties": {"secret_id": {"type": "string"}}}},
    ),
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


def check_literal_key(target: Target) -> Iterator[tuple[str, RawFinding]]:
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


LITERAL_KEY = Rule(
    name="literal-key",
    severity="warning",
    summary="A configuration holds a key, token or password as it is.",
    why="Configurations are committed, copied and shown.",
    fix="Write ${NAME} and put the value into the environment.",
    whole=check_literal_key,
    flags=(
        {"configuration": "auth:\n  api_keys:\n    - {name: ci, key: hunter2-hunter2}\n"},
        {"configuration": 'upstreams:\n  a: {url: "http://a", headers: {Authorization: "Bearer abcdef123456"}}\n'},
        {"configuration": "store: postgresql://user:pass@host/db\n"},
    ),
    passes=(
        {"configuration": 'auth:\n  api_keys:\n    - {name: ci, key: "${CI_KEY}"}\n'},
        {"configuration": "store: sqlite:///assent.db\nsecrets: {directory: .assent}\n"},
    ),
)
