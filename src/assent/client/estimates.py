"""Estimates: which tool gives the price of a call, and the price in its result."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Any

from assent.client.tool_policy import ToolPolicy

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
_CURRENCIES = ("currency", "unit", "units")
_LONGEST = 100
_NUMBER = re.compile(r"-?\d[\d_,]*(?:\.\d+)?")


def estimate_of(name: str, standing: ToolPolicy, listed: Container[str]) -> str | None:
    """Return the tool that estimates a call of `name`: the one in the contract, or a sibling by name."""
    said = standing.contract.get("estimate")
    if isinstance(said, str):
        return said if said in listed else None
    return next((sibling for sibling in _siblings(name) if sibling in listed and sibling != name), None)


def _siblings(name: str) -> list[str]:
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
    return fit if set(required if isinstance(required, list) else ()) <= set(fit) else None


def price_in(estimate: Any, depth: int = 3) -> str | None:
    """Return the price in an estimate's result as text."""
    if not isinstance(estimate, Mapping) or not depth:
        return None
    for name in _PRICES:
        value = estimate.get(name)
        if isinstance(value, Mapping) and (within := price_in(value, depth - 1)) is not None:
            return within
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            unit = next((estimate[key] for key in _CURRENCIES if isinstance(estimate.get(key), str)), None)
            return f"{value} {unit or ('credits' if name == 'credits' else '')}".strip()[:_LONGEST]
    return None


def same_price(one: str | None, other: str) -> bool:
    """Whether two prices have the same number and no different currency."""
    first, second = (_NUMBER.search(text or "") for text in (one, other))
    if first is None or second is None or first.group() != second.group():
        return False
    money, other_money = ("".join(_parts(text or "")[1].split()) for text in (one, other))
    return not money or not other_money or money == other_money


def at_most(price: str | None, agreed: str | None) -> bool:
    """Whether a price is at most the agreed one, in the same currency; incomparable prices must be equal."""
    if price == agreed:
        return True
    if price is None or agreed is None:
        return False
    (one, money), (other, agreed_money) = _parts(price), _parts(agreed)
    return one is not None and other is not None and money == agreed_money and 0 <= one <= other


def _parts(price: str) -> tuple[float | None, str]:
    """Return the number and the text around it."""
    found = _NUMBER.search(price)
    if found is None or "," in found.group():
        return None, price  # a comma is a decimal point in some countries
    return float(found.group()), price[: found.start()] + price[found.end() :]
