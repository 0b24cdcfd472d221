"""Rule: a spending tool has an estimate of the price."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from assent.checks.lint.fields import rehearses
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool, Target
from assent.contract.infer.features.words import plain_forms, split_name

_ESTIMATES = frozenset({"estimate", "quote"})
_REHEARSALS = frozenset({"preview", "simulate"})
_PRICES = frozenset({"price", "prices", "pricing", "cost", "costs"})
_SAYS_NOTHING = frozenset({"get", "list", "show", "fetch", "check", "calculate", "compute", "create", "request", "for"})


def check(target: Target) -> Iterator[tuple[str, RawFinding]]:
    common = _common_words(target)
    offers = [tool for tool in target.subjects if _names_a_price(tool)]
    for tool in target.subjects:
        if tool.tier != "external_spend" or rehearses(tool):
            continue
        if tool.contract is not None:
            if tool.contract.estimate is None and tool.contract.cost is None:
                yield (
                    tool.name,
                    RawFinding("it spends, and its contract names neither an estimate nor a cost", "estimate"),
                )
            continue
        priced = "estimate" in tool.projection or any(_is_about(offer, tool, common) for offer in offers)
        if tool.confident and not priced:
            yield tool.name, RawFinding("it spends, and no tool of this server names its price first", "/inputSchema")


def _names_a_price(tool: LintedTool) -> bool:
    words = set(split_name(tool.name))
    if words & (_ESTIMATES | _REHEARSALS):
        return True
    return bool(words & _PRICES) and tool.tier in ("read", "compute")


def _is_about(offer: LintedTool, spend: LintedTool, common: int) -> bool:
    """Whether a price is that of this spend: both are about one thing, one names the other, or it is a list of all."""
    words = set(split_name(offer.name)[common:])
    about = words - _ESTIMATES - _REHEARSALS - _PRICES - _SAYS_NOTHING
    if not about and words & (_ESTIMATES | _PRICES):
        return True
    if _forms(about) & _forms(split_name(spend.name)[common:]):
        return True
    return offer.name in spend.description or spend.name in offer.description


def _forms(words: Iterable[str]) -> set[str]:
    return {form for word in words for form in plain_forms(word)}


def _common_words(target: Target) -> int:
    """How many words every name begins with: they say whose the tools are, not what they are about."""
    if len(target.subjects) < 2:
        return 0
    places = zip(*(split_name(tool.name) for tool in target.subjects), strict=False)
    return next((at for at, words in enumerate(places) if len(set(words)) > 1), 0)


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
        {
            "tools": [
                {"name": "purchase_credits", "description": "Purchases credits and charges the card."},
                {"name": "preview_image", "description": "Shows a small version of an image."},
            ]
        },
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
        {
            "tools": [
                {"name": "shop_purchase_credits", "description": "Purchases credits and charges the card."},
                {"name": "shop_get_prices", "description": "Lists what everything costs."},
            ]
        },
    ),
)
