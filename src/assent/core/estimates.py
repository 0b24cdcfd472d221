"""Estimates by name: which sibling gives the price of a spend, and the price in its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from assent.contract.fields import Cost
from assent.contract.pointers import MISSING, resolve

# Totals come first, because a price can be per piece.
_PRICES = (
    "total",
    "total_price",
    "totalPrice",
    "total_cost",
    "totalCost",
    "price",
    "cost",
    "amount",
    "credits",
    "estimate",
)
UNITS = ("currency", "unit", "units")
MOST_UNIT = 20
_LONGEST = 100


def estimate_names(name: str) -> list[str]:
    """The names that a tool with the price of `name` may have, the likeliest first."""
    found = [f"{name}.estimate", f"estimate_{name}", f"{name}_estimate"]
    for mark in (".", "_", "-", "/"):
        before, _, _ = name.rpartition(mark)
        _, _, after = name.partition(mark)
        if before:
            found += [f"{before}{mark}estimate", f"estimate{mark}{after}"]
    return found


def fitting(schema: Any, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the arguments that an estimate accepts; None if it needs others."""
    if not isinstance(schema, Mapping):
        return None
    properties, required = schema.get("properties"), schema.get("required")
    known = properties if isinstance(properties, Mapping) else {}
    fit = {name: value for name, value in arguments.items() if name in known}
    return fit if all(name in [*fit] for name in (required if isinstance(required, list) else ())) else None


def price_in(estimate: Any, depth: int = 3) -> str | None:
    """Return the price in an estimate's result as text."""
    if not isinstance(estimate, Mapping) or not depth:
        return None
    for name in _PRICES:
        value = estimate.get(name)
        if isinstance(value, Mapping) and (within := price_in(value, depth - 1)) is not None:
            return within
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            unit = next((estimate[key] for key in UNITS if isinstance(estimate.get(key), str)), None)
            return f"{value} {unit or ('credits' if name == 'credits' else '')}".strip()[:_LONGEST]
    return None


class PriceText(NamedTuple):
    """What a call costs: the text that budgets read, and the unit that people need besides."""

    text: str | None = None
    unit: str = ""
    """As the tool or the caller states it; empty if the contract's currency is in the text."""

    @property
    def with_unit(self) -> str | None:
        return f"{self.text} {self.unit}" if self.text and self.unit else self.text


NO_PRICE = PriceText()


def unit_at(document: object, pointer: str) -> str:
    """The unit that a document states beside the amount at a pointer; `credits` for an amount of that name."""
    above, _, name = pointer.rpartition("/")
    beside = resolve(document, above)
    stated = (beside.get(key) for key in UNITS) if isinstance(beside, dict) else ()
    found = next((one for one in stated if isinstance(one, str) and 0 < len(one) <= MOST_UNIT), "")
    return found or ("credits" if name == "credits" else "")


def as_price(amount: Any, cost: Cost | None) -> str:
    return f"{amount} {cost.currency}" if cost is not None and cost.currency else f"{amount}"


def amount_at(document: object, pointer: str) -> Any:
    """The value at the pointer if it can be an amount: a number, or a text that is not empty. Otherwise MISSING."""
    amount = resolve(document, pointer)
    is_one = isinstance(amount, int | float) if not isinstance(amount, str) else amount.strip()
    return amount if is_one and not isinstance(amount, bool) else MISSING
