"""Finds attacks in the texts of tool definitions: instructions to the model and invisible characters (ADR 0151)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ORDERS = "description-orders"
RULES = (ORDERS, "hidden-characters")


def attacks_in(definition: Mapping[str, Any], only: tuple[str, ...] = RULES) -> list[str]:
    """Return what looks like an attack in one definition, one sentence each."""
    from assent.checks.lint.run import lint
    from assent.checks.lint.target import LintedTool, Target

    found = lint(Target("", (LintedTool(definition),)), only=only).findings
    return [f"{one.rule}: {one.message}" + (f" at {one.at}" if one.at else "") for one in found]


def orders_in(definition: Mapping[str, Any]) -> list[str]:
    """Return the orders to the model in one definition, one sentence each."""
    return attacks_in(definition, (ORDERS,))
