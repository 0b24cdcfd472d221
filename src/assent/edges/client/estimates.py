"""What will it cost: which tool says so, and what did it say?"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Any

from assent.edges.client.standing import Standing

_PRICES = ("price", "total", "total_price", "totalPrice", "cost", "total_cost", "amount", "credits", "estimate")
_CURRENCIES = ("currency", "unit", "units")
_NUMBER = re.compile(r"-?\d[\d_,]*(?:\.\d+)?")


def estimate_of(name: str, standing: Standing, listed: Container[str]) -> str | None:
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


def price_in(estimate: Any) -> str | None:
    """The price in an estimate's result, as a person reads it."""
    if not isinstance(estimate, Mapping):
        return None
    for name in _PRICES:
        value = estimate.get(name)
        if isinstance(value, Mapping):
            return price_in(value)
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            unit = next((estimate[key] for key in _CURRENCIES if isinstance(estimate.get(key), str)), None)
            return f"{value} {unit or ('credits' if name == 'credits' else '')}".strip()
    return None


def same_price(one: str | None, other: str) -> bool:
    """Whether two prices name the same number."""
    first, second = (_NUMBER.search(text or "") for text in (one, other))
    return first is not None and second is not None and first.group() == second.group()
