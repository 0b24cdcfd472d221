"""Do a test caller and a live one of the same name share nothing but their name?"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from assent.core.outcome import Answer, Refusal
from assent.core.quotas import SpendBudget
from assent.mcp.request_state import RequestStateCodec
from assent.pipeline.approve import approve
from assent.pipeline.settle import settle
from assent.testing import AGENT, ANN, World

TESTER = replace(AGENT, mode="test")
PAY: dict[str, Any] = {
    "side_effect": "external_spend",
    "risk": "medium",
    "confirmation": {"by": "none", "because": "a test"},
    "cost": {"amount": "/price", "currency": "EUR"},
}


@pytest.mark.parametrize("fields", [{}, {"natural": {"by": ["price"]}}])
async def test_what_was_done_at_the_test_endpoint_is_not_replayed_to_a_live_caller(fields: dict[str, Any]) -> None:
    world = World({"pay": {**PAY, **fields}}, has_test=True)
    rehearsed = await world.call("pay", {"price": 5}, key="order-1", by=TESTER)
    real = await world.call("pay", {"price": 5}, key="order-1")
    assert isinstance(rehearsed, Answer) and isinstance(real, Answer)
    assert not real.replayed
    assert len(world.upstream.effects) == 2


async def test_other_arguments_at_the_test_endpoint_do_not_take_a_live_callers_key() -> None:
    world = World({"pay": PAY}, has_test=True)
    await world.call("pay", {"price": 1}, key="order-1", by=TESTER)
    assert isinstance(await world.call("pay", {"price": 5}, key="order-1"), Answer)


async def test_play_money_is_not_spent_of_a_live_budget() -> None:
    world = World({"pay": PAY}, has_test=True)
    world.but(budgets=(SpendBudget(amount=Decimal(10), currency="EUR", per="1d", each=("tenant",)),))
    assert isinstance(await world.call("pay", {"price": 10}, key="a", by=TESTER), Answer)
    assert isinstance(await world.call("pay", {"price": 10}, key="a"), Answer)
    over = await world.call("pay", {"price": 1}, key="b", by=TESTER)
    assert isinstance(over, Refusal)
    assert over.code == "claim.budget_exceeded"


async def test_a_test_call_needs_no_person_where_the_operator_says_so_and_a_live_one_does() -> None:
    world = World({"wipe": {"side_effect": "destructive", "confirmation": {"by": "approver"}}}, has_test=True)
    assert not isinstance(await world.call("wipe", by=TESTER), Answer)
    world.but(test_confirmation="none")
    assert isinstance(await world.call("wipe", by=TESTER), Answer)
    assert not isinstance(await world.call("wipe"), Answer)


def test_the_state_of_a_test_call_is_none_for_a_live_caller_of_the_same_name() -> None:
    seal = RequestStateCodec(bytes(32), lambda: 1_000.0)
    state = seal.close({"claim": "c", "epoch": 1, "state": None}, TESTER, "pay")
    assert seal.open(state, TESTER, "pay") == {"claim": "c", "epoch": 1, "state": None}
    assert seal.open(state, AGENT, "pay") is None
    assert seal.open(seal.close({"approval": "a"}, AGENT, "pay"), TESTER, "pay") is None


@pytest.mark.parametrize("by", ["user", "approver"])
async def test_test_credentials_decide_about_calls_to_test_endpoints_alone(by: str) -> None:
    world = World({"wipe": {"side_effect": "destructive", "confirmation": {"by": by}}}, has_test=True)
    await world.call("wipe")
    await world.call("wipe", by=TESTER)
    about = {one.facts["mode"]: one.id for one in await world.store.approvals()}
    tess = replace(ANN, id="tess", mode="test")
    with pytest.raises(Refusal, match="not_entitled"):
        await approve(tess, about["live"], "approve", world.ports)
    assert (await approve(tess, about["test"], "approve", world.ports)).approved_at is not None
    assert (await approve(ANN, about["live"], "approve", world.ports)).approved_at is not None


async def test_test_credentials_settle_nothing() -> None:
    world = World({"pay": {"side_effect": "write"}}, {"pay": lambda _: ConnectionError("lost")})
    await world.call("pay")
    [doubtful] = await world.store.claims()
    tess = replace(ANN, mode="test", roles=frozenset({"operator"}))
    with pytest.raises(Refusal, match="not_entitled"):
        await settle(tess, doubtful.id, "not-done", world.ports)
