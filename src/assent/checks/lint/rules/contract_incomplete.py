"""Rule: a contract says everything that an agent should know before a call."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool
from assent.contract.completeness import missing_fields


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.contract is None:
        return
    known_elsewhere = {"description", "output"} if tool.partial else set()
    for field in missing_fields(tool.contract, tool.definition):
        if field not in known_elsewhere:
            yield RawFinding(f"its contract does not say its {field.replace('_', ' ')}", field)


_WHOLE = {
    "side_effect": "read",
    "description": "Lists notes.",
    "category": "notes",
    "permissions": [],
    "side_effects": [],
    "failure_modes": {},
    "output": {"type": "object"},
}

RULE = Rule(
    name="contract-incomplete",
    severity="error",
    summary="A contract leaves open what an agent should know before a call.",
    why="Nothing said and nothing there look alike. Under mcp-first a server with such a contract does not start, and "
    "the gateway withholds the tool.",
    fix="Write the field; an empty list says that there are none.",
    each=check,
    profiles=("mcp-first",),
    flags=({"contracts": {"notes.list": {"side_effect": "read"}}},),
    passes=({"contracts": {"notes.list": _WHOLE}}, {"name": "notes.list"}),
)
