"""Rules about estimates, idempotency keys, dry runs and secrets of tools that spend, change or export much."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assent.checks.lint.fields import Field, presses, rehearses, selection, takes_key
from assent.checks.lint.rule import RawFinding
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


_ESTIMATES = frozenset({"estimate", "quote"})
_REHEARSALS = frozenset({"preview", "simulate"})
_PRICES = frozenset({"price", "prices", "pricing", "cost", "costs"})
_SAYS_NOTHING = frozenset({"get", "list", "show", "fetch", "check", "calculate", "compute", "create", "request", "for"})


def check_all_spend_without_estimate(target: Target) -> Iterator[tuple[str, RawFinding]]:
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


def check_spend_without_key(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.tier != "external_spend" or takes_key(tool):
        return
    if tool.contract is None and tool.confident:
        yield RawFinding("it spends, and takes no idempotency key", "/inputSchema/properties")


_WORD = re.compile(r"[a-z]+")
_ALL = re.compile(r"^\w+s? (?:all|every|everything)\b", re.IGNORECASE)
_BULK = frozenset({"bulk", "mass", "broadcast", "campaign", "newsletter"})


def check_bulk_without_dry_run(tool: LintedTool) -> Iterator[RawFinding]:
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


def check_export_without_secret(tool: LintedTool) -> Iterator[RawFinding]:
    contract = tool.contract
    declared = contract is not None and (contract.natural or "secrets" in contract.model_fields_set)
    issues = tool.tier == "share_export"
    if declared or not (issues or tool.contract is not None):
        return
    # Whatever the tier is, a result with a password in it shows one.
    shown = [field for field in tool.outputs if (field.issued if issues else field.secret)]
    if shown:
        yield RawFinding(
            f"its result has {shown[0].name}, which is not declared a secret", f"/outputSchema{shown[0].pointer}"
        )
    elif issues and tool.contract is not None and not tool.outputs:
        yield RawFinding("its contract does not say which part of the result is a secret", "secrets")
