"""A required dry run serves one real call, also if two calls arrive at once; a sibling estimate gives the price."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from assent.core.outcome import Answer, Refusal
from assent.testing import AGENT, World

SEND: dict[str, Any] = {
    "side_effect": "write",
    "risk": "low",
    "dry_run": {"mode": "required", "argument": "dryRun", "simulated": "accepted"},
}


async def test_of_two_calls_at_once_after_one_dry_run_one_runs() -> None:
    world = World({"send": SEND})
    await world.call("send", {"to": "a", "dryRun": True})
    both = await asyncio.gather(*(world.call("send", {"to": "a"}, key=key) for key in ("one", "two")))
    assert [type(one) for one in sorted(both, key=lambda one: isinstance(one, Refusal))] == [Answer, Refusal]
    assert next(one.code for one in both if isinstance(one, Refusal)) == "rehearse.dry_run_required"
    assert len(world.upstream.effects) == 1


async def test_a_replay_needs_no_further_dry_run_and_a_new_one_serves_the_next_call() -> None:
    world = World({"send": SEND})
    await world.call("send", {"to": "a", "dryRun": True})
    assert isinstance(await world.call("send", {"to": "a"}, key="one"), Answer)
    again = await world.call("send", {"to": "a"}, key="one")
    assert isinstance(again, Answer) and again.replayed
    world.clock.advance(1)
    await world.call("send", {"to": "a", "dryRun": True})
    assert isinstance(await world.call("send", {"to": "a"}, key="two"), Answer)


SPEND = {"side_effect": "external_spend", "confirmation": {"by": "user"}}


async def priced(**contracts: Any) -> str:
    functions = {name: lambda arguments: {"price": 240, "unit": "credits"} for name in contracts}
    world = World({"orders.place": SPEND, **contracts}, functions)
    await world.call("orders.place", {"item": "x"}, key="k", by=replace(AGENT, scopes=frozenset()))
    (approval,) = await world.store.approvals()
    return next((line for line in approval.text.splitlines() if "Price" in line), "")


async def test_the_question_about_a_spend_has_the_price_of_the_matching_estimate() -> None:
    schema = {"type": "object", "properties": {"item": {"type": "string"}}}
    assert "240 credits" in await priced(**{"orders.estimate": {"side_effect": "read", "input": schema}})


async def test_no_price_is_taken_from_a_tool_that_acts_or_that_the_caller_may_not_call() -> None:
    schema = {"type": "object", "properties": {"item": {"type": "string"}}}
    assert await priced(**{"orders.estimate": {"side_effect": "write", "input": schema}}) == ""
    locked = {"side_effect": "read", "input": schema, "permissions": ["prices:read"], "visibility": "locked"}
    assert await priced(**{"orders.estimate": locked}) == ""
    assert await priced(**{"other.estimate": {"side_effect": "read", "input": schema}}) == ""
