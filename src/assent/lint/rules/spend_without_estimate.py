"""Does anybody know the price before they pay?"""

from __future__ import annotations

from collections.abc import Iterator

from assent.infer.words import split_name
from assent.lint.keys import rehearses
from assent.lint.rule import Rule, Said
from assent.lint.target import Target

_PRICING = {"estimate", "quote", "price", "prices", "pricing", "cost", "preview", "simulate"}


def check(target: Target) -> Iterator[tuple[str, Said]]:
    offered = any(_PRICING & set(split_name(tool.name)) for tool in target.subjects)
    for tool in target.subjects:
        if tool.tier != "external_spend" or rehearses(tool):
            continue
        if tool.contract is not None:
            if tool.contract.estimate is None and tool.contract.cost is None:
                yield tool.name, Said("it spends, and its contract names neither an estimate nor a cost", "estimate")
        elif not offered and tool.confident and "estimate" not in tool.projection:
            yield tool.name, Said("it spends, and this server has no tool that names the price first", "/inputSchema")


RULE = Rule(
    name="spend-without-estimate",
    severity="warning",
    summary="A tool spends, and nothing says how much before it does.",
    why="A person cannot agree to a price nobody names, and a budget cannot be reserved.",
    fix="Name the estimating tool (`estimate:`) or the argument that holds the price (`cost:`), or offer a dry run.",
    whole=check,
    flags=(
        {"contracts": {"place_order": {"side_effect": "external_spend"}}},
        {"name": "purchase_credits", "description": "Purchases credits and charges the card."},
    ),
    passes=(
        {
            "contracts": {
                "place_order": {
                    "side_effect": "external_spend",
                    "estimate": {"tool": "estimate_order", "amount": "/price"},
                }
            }
        },
        {
            "tools": [
                {"name": "purchase_credits", "description": "Purchases credits and charges the card."},
                {"name": "estimate_purchase", "description": "Estimates the price."},
            ]
        },
    ),
)
