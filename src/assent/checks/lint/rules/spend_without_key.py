"""Finds tools that spend without an idempotency key."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.fields import takes_key
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.tier != "external_spend" or takes_key(tool):
        return
    if tool.contract is None and tool.confident:
        yield RawFinding("it spends, and takes no idempotency key", "/inputSchema/properties")


RULE = Rule(
    name="spend-without-key",
    severity="warning",
    summary="A tool spends money or credits, and a repetition cannot be told from a second order.",
    why="Answers get lost and clients repeat calls. Without a key the second call charges again.",
    fix="Take an idempotency key as an argument, or put the tool under a contract, which derives one.",
    each=check,
    flags=({"name": "purchase_credits", "description": "Purchases credits and charges the card."},),
    passes=(
        {
            "name": "purchase_credits",
            "description": "Purchases credits and charges the card.",
            "inputSchema": {"type": "object", "properties": {"idempotency_key": {"type": "string"}}},
        },
        {"contracts": {"place_order": {"side_effect": "external_spend"}}},
        {"name": "list_orders", "description": "Lists orders."},
    ),
)
