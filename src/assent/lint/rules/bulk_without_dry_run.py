"""Rule: a call on many items has a dry run."""

from __future__ import annotations

from collections.abc import Iterator

from assent.lint.rule import RawFinding, Rule
from assent.lint.target import LintedTool
from assent.lint.tool_traits import presses, rehearses, selection


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.tier == "read" or (tool.contract is None and not tool.confident):
        return
    harmful = tool.tier == "destructive" or (tool.contract is None and tool.inference.destructive)
    overwriting = tool.contract.overwrites if tool.contract else tool.inference.overwrites
    if not (harmful or overwriting) or rehearses(tool) or presses(tool):
        return
    many = selection(tool)
    if many is not None or (tool.contract is not None and tool.contract.bulk):
        what = many.name if many is not None else "a bulk call"
        yield RawFinding(f"{what} can name many things at once, and there is no dry run", "/inputSchema")


RULE = Rule(
    name="bulk-without-dry-run",
    severity="warning",
    summary="A tool changes or deletes many things at once, and a call cannot be rehearsed.",
    why="Nobody can tell from a filter what it will hit. A dry run shows the count and a sample to whoever is asked.",
    fix="Offer a `dryRun` argument, or `dry_run: {mode: required}` in the contract.",
    each=check,
    flags=(
        {
            "name": "delete_messages",
            "description": "Deletes all messages that match.",
            "inputSchema": {"type": "object", "properties": {"filter": {"type": "string"}}},
        },
        {
            "contracts": {
                "purge": {
                    "side_effect": "destructive",
                    "selects": ["ids"],
                    "input": {"type": "object", "properties": {"ids": {"type": "array"}}},
                }
            }
        },
    ),
    passes=(
        {
            "name": "click",
            "description": "Clicks an element of the page.",
            "inputSchema": {"type": "object", "properties": {"selector": {"type": "string"}}},
        },
        {
            "name": "delete_messages",
            "description": "Deletes all messages that match.",
            "inputSchema": {
                "type": "object",
                "properties": {"filter": {"type": "string"}, "dryRun": {"type": "boolean"}},
            },
        },
        {
            "name": "delete_message",
            "description": "Deletes one message.",
            "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}},
        },
    ),
)
