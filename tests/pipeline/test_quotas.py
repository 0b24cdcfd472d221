"""Do limits and budgets stop a call in the claim, and cost nothing otherwise?"""

from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from assent.core.match import Match
from assent.core.outcome import Answer, Refusal
from assent.core.principal import Principal
from assent.core.quotas import RateLimit, SpendBudget, read_price
from assent.ports import NotReached, OutcomeUnknown
from assent.testing.world import AGENT, World

BUY: dict[str, Any] = {
    "side_effect": "external_spend",
    "risk": "medium",
    "confirmation": {"by": "none", "because": "a test"},
    "cost": {"amount": "/price", "currency": "EUR"},
    "idempotency": {"key": "auto"},
}
CONTRACTS: dict[str, Any] = {"buy": BUY, "send": {"side_effect": "write"}, "look": {"side_effect": "read"}}
HUNDRED = SpendBudget(amount=Decimal(100), currency="EUR", per="1d")


def world(*, limits: tuple[RateLimit, ...] = (), budgets: tuple[SpendBudget, ...] = (), **options: Any) -> World:
    made = World(CONTRACTS, **options)
    made.but(limits=limits, budgets=budgets)
    return made


async def code(there: World, tool: str, arguments: dict[str, Any] | None = None, **options: Any) -> str:
    outcome = await there.call(tool, arguments or {}, **options)
    return outcome.code if isinstance(outcome, Refusal) else "answered"


async def test_the_call_that_would_overspend_is_refused_with_what_is_left() -> None:
    there = world(budgets=(HUNDRED,))
    assert await code(there, "buy", {"price": 60.1}) == "answered"
    outcome = await there.call("buy", {"price": 39.91})
    assert isinstance(outcome, Refusal)
    problem = outcome.problem()
    assert (problem["code"], problem["status"]) == ("claim.budget_exceeded", 402)
    assert (problem["limit"], problem["left"]) == ("100", "39.9")
    assert await code(there, "buy", {"price": "39.90"}) == "answered"
    assert len(there.upstream.effects) == 2


async def test_a_cent_beyond_a_budget_of_thirty_digits_is_one_too_many() -> None:
    there = world(budgets=(SpendBudget(amount=Decimal("9" * 28 + ".99"), currency="EUR", per="1d"),))
    assert await code(there, "buy", {"price": "9" * 28 + ".98"}) == "answered"
    assert await code(there, "buy", {"price": "0.02"}) == "claim.budget_exceeded"
    assert await code(there, "buy", {"price": "0.01"}) == "answered"
    assert await code(there, "buy", {"price": "0.01"}, key="second") == "claim.budget_exceeded"


async def test_a_new_window_begins_anew() -> None:
    there = world(budgets=(HUNDRED,))
    assert await code(there, "buy", {"price": 100}) == "answered"
    there.clock.advance(86400)
    assert await code(there, "buy", {"price": 100}, key="tomorrow") == "answered"
    assert await code(there, "buy", {"price": 1}) == "claim.budget_exceeded"


async def test_replays_of_a_key_are_free() -> None:
    there = world(budgets=(HUNDRED,), limits=(RateLimit(calls=1, per="1h"),))
    assert await code(there, "buy", {"price": 100}, key="k") == "answered"
    for _ in range(3):
        outcome = await there.call("buy", {"price": 100}, key="k")
        assert isinstance(outcome, Answer) and outcome.replayed


@pytest.mark.parametrize(
    ("end", "left"), [(NotReached("down"), "answered"), (OutcomeUnknown("gone"), "claim.budget_exceeded")]
)
async def test_only_what_did_not_happen_is_given_back(end: Exception, left: str) -> None:
    there = world(budgets=(HUNDRED,))
    there.upstream.functions["buy"] = lambda _: end
    await there.call("buy", {"price": 100})
    there.upstream.functions.clear()
    assert await code(there, "buy", {"price": 100}, key="second") == left


@pytest.mark.parametrize("price", [None, -1, "free", "1_0", "NaN", "Infinity", "9" * 40, "١٢", True])
async def test_a_price_that_cannot_be_read_could_be_any(price: Any) -> None:
    there = world(budgets=(HUNDRED,))
    arguments = {} if price is None else {"price": price}
    assert await code(there, "buy", arguments) == "claim.budget_exceeded"
    assert there.upstream.effects == []


async def test_other_currencies_and_tools_without_a_price_are_not_charged() -> None:
    there = world(budgets=(SpendBudget(amount=Decimal(1), currency="USD", per="1d"),))
    assert await code(there, "buy", {"price": 50}) == "answered"
    assert await code(there, "send") == "answered"


async def test_a_budget_without_a_currency_counts_calls() -> None:
    there = world(budgets=(SpendBudget(amount=Decimal(2), per="1d", match=Match(tier="write")),))
    codes = [await code(there, "send") for _ in range(3)]
    assert codes == ["answered", "answered", "claim.budget_exceeded"]
    assert await code(there, "look") == "answered"


async def test_limits_count_each_principal_and_say_when_to_come_back() -> None:
    there = world(limits=(RateLimit(calls=2, per="1m"),))
    assert [await code(there, "look") for _ in range(2)] == ["answered"] * 2
    outcome = await there.call("look", {})
    assert isinstance(outcome, Refusal)
    assert (outcome.code, outcome.status, outcome.facts["retry_after_ms"]) == ("claim.rate_limited", 429, 30_000)
    assert await code(there, "look", by=Principal("other", "agent", scopes=frozenset({"*"}))) == "answered"
    there.clock.advance(30)
    assert await code(there, "look") == "answered"


async def test_a_limit_counts_together_what_it_is_told_to() -> None:
    other = Principal("other", "agent", scopes=frozenset({"*"}))
    there = world(limits=(RateLimit(calls=1, per="1m", each=("tenant", "tool")),))
    assert await code(there, "look", by=AGENT) == "answered"
    assert await code(there, "look", by=other) == "claim.rate_limited"
    assert await code(there, "send", by=other) == "answered"


async def test_a_rehearsal_takes_its_place_in_the_rate_and_spends_nothing() -> None:
    plan = {**BUY, "dry_run": {"mode": "offered"}}
    there = World({"buy": plan})
    there.but(limits=(RateLimit(calls=2, per="1m"),), budgets=(HUNDRED, SpendBudget(amount=Decimal(1), per="1d")))
    rehearsal = {"price": 100, "dryRun": True}
    assert [await code(there, "buy", rehearsal) for _ in range(3)] == ["answered", "answered", "claim.rate_limited"]
    there.clock.advance(60)
    assert await code(there, "buy", {"price": 100}) == "answered"


async def test_a_refused_call_leaves_its_key_unused() -> None:
    there = world(budgets=(HUNDRED,))
    await there.call("buy", {"price": 100})
    assert await code(there, "buy", {"price": 5}, key="k") == "claim.budget_exceeded"
    there.clock.advance(86400)
    assert await code(there, "buy", {"price": 6}, key="k") == "answered"


async def test_observing_notes_what_would_have_been_refused_and_lets_it_run() -> None:
    there = world(budgets=(HUNDRED,), limits=(RateLimit(calls=1, per="1h", match=Match(tool="look")),), mode="observe")
    assert await code(there, "buy", {"price": 101}) == "answered"
    assert [await code(there, "look") for _ in range(2)] == ["answered"] * 2
    intents = [one.entry for one in await there.store.entries() if one.entry.kind == "intent"]
    assert intents[0].facts["would"] == ["claim.budget_exceeded"]


@pytest.mark.parametrize(
    "fields",
    [
        {"amount": 0, "per": "1d"},
        {"amount": "1.5", "per": "1d"},
        {"amount": "Infinity", "currency": "EUR", "per": "1d"},
        {"amount": 1, "currency": "€", "per": "1d"},
        {"amount": 1, "per": "soon"},
        {"amount": 1, "per": "1d", "each": ["session"]},
    ],
)
def test_a_budget_that_makes_no_sense_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SpendBudget(**fields)


def test_prices_are_read_exactly() -> None:
    price = read_price("0.1 EUR", "EUR")
    assert price is not None and price.amount * 3 == Decimal("0.3")
    assert read_price("12 USD", "EUR") is None
