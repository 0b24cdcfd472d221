"""Policies read how much of a budget is used."""

from __future__ import annotations

from decimal import Decimal

from assent.core.outcome import Answer, Outcome, Refusal
from assent.core.quotas import SpendBudget
from assent.rules.policy.engine import PolicyEngine
from assent.rules.policy.source import parse_policies
from assent.testing import AGENT, World

LOW = """
@id("low-budget")
@reason("Most of the budget is used")
forbid (principal, action, resource) when { context.budget.used_percent >= 80 };
"""
BUY = {
    "side_effect": "external_spend",
    "confirmation": {"by": "none", "because": "the budget decides"},
    "step_up": None,
    "cost": {"amount": "/amount", "currency": "EUR"},
    "input": {"type": "object", "properties": {"amount": {"type": "number"}, "item": {"type": "string"}}},
}
BUDGET = SpendBudget(amount=Decimal(100), currency="EUR", per=86_400)


def world(*budgets: SpendBudget) -> World:
    made = World({"buy": BUY}, {"buy": lambda call: {"ok": True}})
    made.but(budgets=budgets, policies=PolicyEngine(parse_policies(LOW, "low.cedar")))
    return made


async def buy(made: World, amount: int, item: str) -> Outcome:
    return await made.call("buy", {"amount": amount, "item": item}, by=AGENT)


async def test_a_policy_decides_by_the_share_of_a_budget_that_is_used() -> None:
    made = world(BUDGET)
    assert isinstance(await buy(made, 79, "first"), Answer)
    assert isinstance(await buy(made, 1, "second"), Answer)
    refused = await buy(made, 1, "third")
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.facts["policy"]) == ("guard.policy_denied", "low-budget")


async def test_the_fullest_budget_counts() -> None:
    calls = SpendBudget(amount=Decimal(2), per=3_600)
    made = world(BUDGET, calls)
    assert isinstance(await buy(made, 1, "first"), Answer)
    assert isinstance(await buy(made, 1, "second"), Answer)
    refused = await buy(made, 1, "third")
    assert isinstance(refused, Refusal) and refused.code == "guard.policy_denied"


async def test_without_a_budget_nothing_is_used() -> None:
    assert isinstance(await buy(world(), 1_000, "first"), Answer)
