"""Estimates by name: which sibling gives the price of a spend, and the price in its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
