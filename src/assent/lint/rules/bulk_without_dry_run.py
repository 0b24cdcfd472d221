"""Rule: a call on many items has a dry run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assent.lint.rule import RawFinding, Rule
from assent.lint.target import LintedTool
from assent.lint.tool_traits import presses, rehearses, selection

_WORD = re.compile(r"[a-z]+")
_BULK = frozenset({"bulk", "mass", "broadcast", "campaign", "newsletter"})


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.tier == "read" or (tool.contract is None and not tool.confident):
        return
    harmful = tool.tier == "destructive" or (tool.contract is None and tool.inference.destructive)
    overwriting = tool.contract.overwrites if tool.contract else tool.inference.overwrites
    if not (harmful or overwriting or _sends_to_many(tool)) or rehearses(tool) or presses(tool):
        return
    if _sends_to_many(tool):
        yield RawFinding("one call sends to many people, and there is no dry run", "/inputSchema")
        return
    many = selection(tool)
    if many is not None or (tool.contract is not None and tool.contract.bulk):
        what = many.name if many is not None else "a bulk call"
        yield RawFinding(f"{what} can name many things at once, and there is no dry run", "/inputSchema")


def _sends_to_many(tool: LintedTool) -> bool:
    """Whether its name says that it sends to many people at once, as in `emails_bulk_send`."""
    sends = any("communicates with others" in reason for reason in tool.inference.reasons)
    return sends and not _BULK.isdisjoint(_WORD.findall(tool.name.lower()))


RULE = Rule(
    name="bulk-without-dry-run",
    severity="warning",
    summary="A tool changes, deletes or sends many things at once, and a call cannot be rehearsed.",
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
            "name": "emails_bulk_send",
            "description": "Sends a template to all contacts of a segment.",
            "inputSchema": {"type": "object", "properties": {"segmentId": {"type": "string"}}},
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
