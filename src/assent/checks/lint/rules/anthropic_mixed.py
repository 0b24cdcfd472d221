"""Rule: one tool does not both read and write, depending on an argument."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool
from assent.contract.infer.features.parameters import read_parameters
from assent.contract.infer.lexicon import READING

_SAFE = {"GET", "HEAD", "OPTIONS"}


def check(tool: LintedTool) -> Iterator[RawFinding]:
    choices = read_parameters(tool.definition.get("inputSchema")).choices
    reads = [choice.verb for choice in choices if choice.kind in READING]
    acts = [choice.verb for choice in choices if choice.kind not in READING and choice.certain]
    if reads and acts:
        yield RawFinding(f"it can {reads[0]} and {acts[0]}, as an argument says", "/inputSchema")
        return
    for field in tool.inputs:
        offered = {str(value).upper() for part in field.options for value in part.get("enum") or ()}
        if field.plain in ("method", "http_method", "verb") and offered & _SAFE and offered - _SAFE:
            yield RawFinding(f"{field.name} offers safe and unsafe HTTP methods", f"/inputSchema{field.pointer}")


RULE = Rule(
    name="anthropic-mixed",
    severity="error",
    summary="Anthropic's connector directory wants reading and writing in separate tools.",
    why="One tool has one set of hints: if it mixes, either reads are asked about or writes are not.",
    fix="Split it: one tool that reads, others that write.",
    profiles=("anthropic",),
    each=check,
    flags=(
        {
            "name": "notes",
            "inputSchema": {"type": "object", "properties": {"action": {"enum": ["list", "get", "delete"]}}},
        },
        {"name": "api", "inputSchema": {"type": "object", "properties": {"method": {"enum": ["GET", "POST"]}}}},
    ),
    passes=(
        {"name": "notes", "inputSchema": {"type": "object", "properties": {"action": {"enum": ["list", "get"]}}}},
        {"name": "notes", "inputSchema": {"type": "object", "properties": {"order": {"enum": ["asc", "desc"]}}}},
    ),
)
