"""Is there an end to what a call may spend?"""

from __future__ import annotations

from collections.abc import Iterator

from assent.lint.fields import Field
from assent.lint.rule import Rule, Said
from assent.lint.target import Subject

_AMOUNTS = frozenset(
    [
        "amount",
        "price",
        "qty",
        "quantity",
        "notional",
        "total",
        "budget",
        "amount_usd",
        "amount_cents",
        "charge_amount",
        "bid",
        "credits",
    ]
)


def check(tool: Subject) -> Iterator[Said]:
    if tool.tier == "read" or tool.inference.read_only:
        return
    spends = tool.tier == "external_spend" or tool.inference.tier == "external_spend"
    for field in tool.inputs:
        if "price" in field.pointer.lower() and not spends:
            continue  # what something is to cost others
        if (
            field.plain in _AMOUNTS
            and _number(field)
            and not field.bounded("maximum", "exclusiveMaximum", "enum", "const")
        ):
            yield Said(f"{field.name} has no maximum", f"/inputSchema{field.pointer}")


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
    ),
    passes=(
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
