"""Rule: the amount of a spending call has a maximum."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.fields import Field
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool

_AMOUNTS = frozenset(
    (
        *("amount", "price", "qty", "quantity", "notional", "total", "budget", "bid", "credits"),
        *("amount_usd", "amount_cents", "amount_in_cents", "budget_value"),
    )
)
# What ends so is an amount in whatever it begins with: charge_amount, daily_budget.
_ENDS = ("_amount", "_budget", "_qty", "_notional", "_credits")
_BOUNDS = ("maximum", "exclusiveMaximum", "enum", "const")


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.tier == "read" or tool.inference.read_only:
        return
    spends = tool.tier == "external_spend" or tool.inference.tier == "external_spend"
    for field in tool.inputs:
        priced = "price" in field.pointer.lower() or "price" in tool.name.lower()
        if (priced and not spends) or not (field.plain in _AMOUNTS or field.plain.endswith(_ENDS)):
            continue  # what something is to cost others, or no amount
        at = f"/inputSchema{field.pointer}"
        if _number(field) and not field.bounded(*_BOUNDS):
            yield RawFinding(f"{field.name} has no maximum", at)
        elif spends and not _number(field) and field.is_a("string") and not field.bounded("enum", "const", "pattern"):
            yield RawFinding(f"{field.name} is a text, which has no maximum", at)


def _number(field: Field) -> bool:
    return field.is_a("number") or field.is_a("integer")


RULE = Rule(
    name="amount-unbounded",
    severity="warning",
    summary="An amount of money or things has no maximum.",
    why="A slip of the model by three zeros is a valid call.",
    fix="Give the amount a `maximum`, in the schema or by a `bounds` guard.",
    each=check,
    flags=(
        {
            "name": "transfer_money",
            "description": "Transfers money.",
            "inputSchema": {"type": "object", "properties": {"amount": {"type": "number"}}},
        },
        {
            "name": "purchase_shares",
            "description": "Purchases shares and charges the account.",
            "inputSchema": {"type": "object", "properties": {"orderQty": {"type": ["string", "null"]}}},
        },
        {
            "name": "create_campaign",
            "description": "Creates a campaign.",
            "inputSchema": {
                "type": "object",
                "properties": {"daily_budget": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
            },
        },
    ),
    passes=(
        {
            "name": "transfer_money",
            "description": "Transfers money.",
            "inputSchema": {
                "type": "object",
                "properties": {"amount": {"type": "string", "pattern": "^[0-9]{1,3}$"}, "note": {"type": "string"}},
            },
        },
        {
            "name": "create_product",
            "description": "Creates a product.",
            "inputSchema": {"type": "object", "properties": {"price": {"type": "number"}}},
        },
        {
            "name": "transfer_money",
            "description": "Transfers money.",
            "inputSchema": {"type": "object", "properties": {"amount": {"type": "number", "maximum": 500}}},
        },
        {
            "name": "list_orders",
            "description": "Lists orders.",
            "inputSchema": {"type": "object", "properties": {"amount": {"type": "number"}}},
        },
    ),
)
