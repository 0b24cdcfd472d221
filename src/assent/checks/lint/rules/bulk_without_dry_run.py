"""Rule: a call on many items has a dry run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assent.checks.lint.fields import presses, rehearses, selection
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool

_WORD = re.compile(r"[a-z]+")
_ALL = re.compile(r"^\w+s? (?:all|every|everything)\b", re.IGNORECASE)
_BULK = frozenset({"bulk", "mass", "broadcast", "campaign", "newsletter"})


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.tier == "read" or (tool.contract is None and not tool.confident):
        return
    harmful = tool.tier == "destructive" or (tool.contract is None and tool.inference.destructive)
    overwriting = tool.contract.overwrites if tool.contract else tool.inference.overwrites
    exports = tool.tier == "share_export"
    if not (harmful or overwriting or exports or _sends_to_many(tool)) or rehearses(tool) or presses(tool):
        return
    if _sends_to_many(tool):
        yield RawFinding("one call sends to many people, and there is no dry run", "/inputSchema")
        return
    if (harmful or exports) and _acts_on_all(tool):
        yield RawFinding("one call acts on everything there is, and there is no dry run", "/inputSchema")
        return
    many = selection(tool)
    if many is not None or (tool.contract is not None and tool.contract.bulk):
        what = many.name if many is not None else "a bulk call"
        yield RawFinding(f"{what} can name many things at once, and there is no dry run", "/inputSchema")


def _sends_to_many(tool: LintedTool) -> bool:
    """Whether its name says that it sends to many people at once, as in `emails_bulk_send`."""
    sends = any("communicates with others" in reason for reason in tool.inference.reasons)
    return sends and not _BULK.isdisjoint(_WORD.findall(tool.name.lower()))


def _acts_on_all(tool: LintedTool) -> bool:
    """Whether its name or first sentence says that it acts on everything, as in `purge_all`."""
    in_name = not {"all", "everything", *_BULK}.isdisjoint(_WORD.findall(tool.name.lower()))
    return in_name or _ALL.search(tool.description.split(".")[0][:300]) is not None


BULK_WITHOUT_DRY_RUN = Rule(
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
        {"name": "purge_all", "description": "Deletes all contacts."},
        {"contracts": {"bulk_export": {"side_effect": "share_export", "description": "Exports all customers."}}},
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
