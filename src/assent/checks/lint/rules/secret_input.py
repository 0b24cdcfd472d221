"""Rule: a tool does not take a secret as an argument."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    for field in tool.inputs:
        if field.secret and not field.is_a("boolean") and not field.is_a("integer"):
            yield RawFinding(
                f"{field.name} is a secret that the model would have to write", f"/inputSchema{field.pointer}"
            )


RULE = Rule(
    name="secret-input",
    severity="warning",
    summary="A tool takes a password, key or token as an argument.",
    why="What is an argument passes through the model, its context, its provider and every log on the way.",
    fix="Take credentials from the server's configuration or from the caller's authentication.",
    each=check,
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
