"""Rules about tools that spend."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from assent.checks.lint.fields import Field, rehearses, takes_key
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool, Target
from assent.contract.infer.features.words import plain_forms, split_name

_AMOUNTS = frozenset(
    (
        *("amount", "price", "qty", "quantity", "notional", "total", "budget", "bid", "credits"),
        *("amount_usd", "amount_cents", "amount_in_cents", "budget_value"),
    )
)
# What ends so is an amount in whatever it begins with: charge_amount, daily_budget.
_ENDS = ("_amount", "_budget", "_qty", "_notional", "_credits")
_BOUNDS = ("maximum", "exclusiveMaximum", "enum", "const")


def check_amount_unbounded(tool: LintedTool) -> Iterator[RawFinding]:
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


AMOUNT_UNBOUNDED = Rule(
    name="amount-unbounded",
    severity="warning",
    summary="An amount of money or things has no maximum.",
    why="A slip of the model by three zeros is a valid call.",
    fix="Give the amount a `maximum`, in the schema or by a `bounds` guard.",
    each=check_amount_unbounded,
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


_ESTIMATES = frozenset({"estimate", "quote"})
_REHEARSALS = frozenset({"preview", "simulate"})
_PRICES = frozenset({"price", "prices", "pricing", "cost", "costs"})
_SAYS_NOTHING = frozenset({"get", "list", "show", "fetch", "check", "calculate", "compute", "create", "request", "for"})


def check_spend_without_estimate(target: Target) -> Iterator[tuple[str, RawFinding]]:
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


SPEND_WITHOUT_ESTIMATE = Rule(
    name="spend-without-estimate",
    severity="warning",
    summary="A tool spends, and nothing says how much before it does.",
    why="A person cannot agree to a price nobody names, and a budget cannot be reserved.",
    fix="Name the estimating tool (`estimate:`) or the argument that holds the price (`cost:`), or offer a dry run.",
    whole=check_spend_without_estimate,
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


def check_spend_without_key(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.tier != "external_spend" or takes_key(tool):
        return
    if tool.contract is None and tool.confident:
        yield RawFinding("it spends, and takes no idempotency key", "/inputSchema/properties")


SPEND_WITHOUT_KEY = Rule(
    name="spend-without-key",
    severity="warning",
    summary="A tool spends money or credits, and a repetition cannot be told from a second order.",
    why="Answers get lost and clients repeat calls. Without a key the second call charges again.",
    fix="Take an idempotency key as an argument, or put the tool under a contract, which derives one.",
    each=check_spend_without_key,
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
