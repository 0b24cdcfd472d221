"""What will it cost: which tool says so, and what did it say?"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Any

from assent.client.tool_policy import ToolPolicy

# What is to be paid in all comes first: a price may be that of one piece.
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
    """The tool that says what a call of `name` costs: as the contract names it, or the sibling of that name."""
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
    """The arguments an estimate knows; None where it needs others."""
    if not isinstance(schema, Mapping):
        return None
    properties, required = schema.get("properties"), schema.get("required")
    known = properties if isinstance(properties, Mapping) else {}
    fit = {name: value for name, value in arguments.items() if name in known}
    return fit if set(required if isinstance(required, list) else ()) <= set(fit) else None


def price_in(estimate: Any, depth: int = 3) -> str | None:
    """The price in an estimate's result, as a person reads it."""
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
    """Whether two prices name the same number, and no different money."""
    first, second = (_NUMBER.search(text or "") for text in (one, other))
    if first is None or second is None or first.group() != second.group():
        return False
    money, other_money = ("".join(_parts(text or "")[1].split()) for text in (one, other))
    return not money or not other_money or money == other_money


def at_most(price: str | None, agreed: str | None) -> bool:
    """Whether a price is at most the one agreed to, in the same money; what cannot be compared must be the same."""
    if price == agreed:
        return True
    if price is None or agreed is None:
        return False
    (one, money), (other, agreed_money) = _parts(price), _parts(agreed)
    return one is not None and other is not None and money == agreed_money and 0 <= one <= other


def _parts(price: str) -> tuple[float | None, str]:
    """The number, and all that stands around it."""
    found = _NUMBER.search(price)
    if found is None or "," in found.group():
        return None, price  # a comma is a point to some
    return float(found.group()), price[: found.start()] + price[found.end() :]
