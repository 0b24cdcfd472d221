"""Does a store hold rates and budgets, whoever spends and however many at once?"""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest

from assent.core.claims import ClaimRecord, Settlement, State
from assent.core.quotas import BudgetCharge, Quotas, RateSlot
from assent.errors import StoreError
from assent.ports import ClaimExists, OverBudget, RateLimited, Store
from support.store_suite.drafts import NOW, OpenStore, claim_draft, entry, marks, succeeded

DAY = 86400.0


def charge(amount: str, limit: str = "100", tally: str = "ann's day", until: float = NOW + DAY) -> Quotas:
    return Quotas(charges=(BudgetCharge(tally, Decimal(amount), Decimal(limit), until),))


def rate(calls: int = 3, per: float = 60.0, name: str = "ann's calls") -> Quotas:
    return Quotas(rates=(RateSlot(name, calls, per),))


class DuesPromises:
    """Promises about rates and budgets."""

    async def test_a_budget_is_spent_to_the_last_cent_and_no_further(self, store: Store) -> None:
        for number, amount in enumerate(("33.33", "33.33", "33.34")):
            await store.claim(claim_draft(f"{number}"), entry(), None, NOW, charge(amount))
        with pytest.raises(OverBudget) as over:
            await store.claim(claim_draft("more"), entry(), None, NOW, charge("0.01"))
        assert (over.value.limit, over.value.left) == (Decimal(100), Decimal(0))
        assert await store.claim_by_id("more") is None
        assert await marks(store) == ["intent"] * 3

    async def test_amounts_are_decimals_not_binary_fractions(self, store: Store) -> None:
        for number in range(10):
            await store.claim(claim_draft(f"{number}"), entry(), None, NOW, charge("0.1", "1"))
        with pytest.raises(OverBudget):
            await store.claim(claim_draft("more"), entry(), None, NOW, charge("1e-27", "1"))

    async def test_amounts_of_thirty_digits_are_counted_to_the_last(self, store: Store) -> None:
        limit = "9" * 30
        await store.claim(claim_draft("most"), entry(), None, NOW, charge("9" * 29 + "0", limit))
        for number in range(9):
            await store.claim(claim_draft(f"{number}"), entry(), None, NOW, charge("1", limit))
        with pytest.raises(OverBudget) as over:
            await store.claim(claim_draft("more"), entry(), None, NOW, charge("1e-30", limit))
        assert over.value.left == 0

    async def test_what_is_given_back_of_thirty_digits_is_what_was_taken(self, store: Store) -> None:
        limit = "1" + "0" * 29
        await store.claim(claim_draft("stays"), entry(), None, NOW, charge("0.000000000000000000000000000001", limit))
        await store.claim(claim_draft("goes"), entry(), None, NOW, charge("9" * 29, limit))
        await store.settle("goes", 1, Settlement(State.FAILED_NO_EFFECT, NOW), [])
        with pytest.raises(OverBudget) as over:
            await store.afford(charge(limit, limit), NOW)
        assert over.value.left == Decimal("99999999999999999999999999999.999999999999999999999999999999")

    async def test_an_amount_that_cannot_be_counted_exactly_is_refused_and_nothing_is_kept(self, store: Store) -> None:
        await store.claim(claim_draft("first"), entry(), None, NOW, charge("1"))
        with pytest.raises(StoreError, match="too many digits"):
            await store.claim(claim_draft("fine"), entry(), None, NOW, charge("1e-300"))
        assert await store.claim_by_id("fine") is None
        await store.claim(claim_draft("last"), entry(), None, NOW, charge("99"))

    async def test_what_is_under_way_counts_however_many_spend_at_once(self, open_store: OpenStore) -> None:
        stores = [await open_store() for _ in range(3)]
        tries = [
            stores[number % 3].claim(claim_draft(f"{number}"), entry(), None, NOW, charge("7", "50"))
            for number in range(30)
        ]
        ends = await asyncio.gather(*tries, return_exceptions=True)
        assert sum(isinstance(end, ClaimRecord) for end in ends) == 7
        assert sum(isinstance(end, OverBudget) for end in ends) == 23

    @pytest.mark.parametrize(
        ("state", "left"),
        [
            (State.SUCCEEDED, False),
            (State.FAILED, False),
            (State.IN_DOUBT, False),
            (State.FAILED_NO_EFFECT, True),
        ],
    )
    async def test_only_what_had_no_effect_is_given_back(self, store: Store, state: State, left: bool) -> None:
        await store.claim(claim_draft(), entry(), None, NOW, charge("100"))
        await store.settle("claim", 1, Settlement(state, NOW + 1), [])
        again = store.claim(claim_draft("again"), entry(), None, NOW + 2, charge("100"))
        if left:
            assert (await again).state is State.STARTED
        else:
            with pytest.raises(OverBudget):
                await again

    async def test_nothing_is_given_back_twice(self, store: Store) -> None:
        await store.claim(claim_draft("a"), entry(), None, NOW, charge("60"))
        await store.claim(claim_draft("b"), entry(), None, NOW, charge("40"))
        for _ in range(2):
            await store.settle("a", 1, Settlement(State.FAILED_NO_EFFECT, NOW), [])
        await store.claim(claim_draft("c"), entry(), None, NOW, charge("60"))
        with pytest.raises(OverBudget):
            await store.claim(claim_draft("d"), entry(), None, NOW, charge("1"))

    async def test_a_doubt_settled_as_not_done_gives_back_what_it_held(self, store: Store) -> None:
        await store.claim(claim_draft(), entry(), None, NOW, charge("100"))
        await store.settle("claim", 1, Settlement(State.IN_DOUBT, NOW), [])
        await store.settle("claim", 1, Settlement(State.FAILED_NO_EFFECT, NOW), [])
        await store.claim(claim_draft("again"), entry(), None, NOW, charge("100"))

    async def test_what_a_taken_claim_would_cost_is_not_spent(self, store: Store) -> None:
        await store.claim(claim_draft(), entry(), None, NOW)
        with pytest.raises(ClaimExists):
            await store.claim(claim_draft(), entry(), None, NOW, charge("100"))
        await store.claim(claim_draft("other"), entry(), None, NOW, charge("100"))

    async def test_windows_and_owners_are_counted_apart(self, store: Store) -> None:
        await store.claim(claim_draft("a"), entry(), None, NOW, charge("100"))
        await store.claim(claim_draft("b"), entry(), None, NOW, charge("100", tally="bob's day"))
        await store.claim(claim_draft("c"), entry(), None, NOW + DAY, charge("100", tally="ann's next day"))

    async def test_every_due_is_paid_or_none(self, store: Store) -> None:
        both = Quotas(rate(1).rates, charge("1").charges + charge("1", "0.5", "small").charges)
        with pytest.raises(OverBudget):
            await store.claim(claim_draft(), entry(), None, NOW, both)
        await store.claim(claim_draft(), entry(), None, NOW, Quotas(rate(1).rates, charge("100").charges))

    async def test_a_rate_lets_a_burst_through_and_then_one_at_a_time(self, store: Store) -> None:
        for _ in range(3):
            await store.admit(rate(), NOW)
        with pytest.raises(RateLimited) as limited:
            await store.admit(rate(), NOW)
        assert limited.value.seconds == pytest.approx(20.0)
        await store.admit(rate(), NOW + 20)
        with pytest.raises(RateLimited):
            await store.admit(rate(), NOW + 39)
        await store.admit(rate(), NOW + 40)

    async def test_what_can_be_afforded_is_looked_at_without_paying(self, store: Store) -> None:
        owed = Quotas(rate(1).rates, charge("100").charges)
        for _ in range(3):
            await store.afford(owed, NOW)
        await store.admit(owed, NOW)
        with pytest.raises(RateLimited):
            await store.afford(rate(1), NOW)
        with pytest.raises(OverBudget):
            await store.afford(charge("0.01"), NOW)

    async def test_a_refused_call_takes_no_place(self, store: Store) -> None:
        await store.admit(rate(1), NOW)
        for _ in range(5):
            with pytest.raises(RateLimited):
                await store.claim(claim_draft(), entry(), None, NOW + 1, rate(1))
        await store.claim(claim_draft(), entry(), None, NOW + 60, rate(1))

    async def test_a_rate_holds_across_processes(self, open_store: OpenStore) -> None:
        stores = [await open_store() for _ in range(3)]
        tries = [stores[number % 3].admit(rate(10), NOW) for number in range(40)]
        ends = await asyncio.gather(*tries, return_exceptions=True)
        assert sum(end is None for end in ends) == 10
        assert sum(isinstance(end, RateLimited) for end in ends) == 30

    async def test_a_clock_that_was_set_back_does_not_lock_a_caller_out(self, store: Store) -> None:
        await store.admit(rate(), NOW + 365 * DAY)
        await store.admit(rate(), NOW)
        for second in range(20, 200, 20):  # three calls in 60 seconds: one every 20
            with pytest.raises(RateLimited) as limited:
                await store.claim(claim_draft(f"early-{second}"), entry(), None, NOW + second - 1, rate())
            assert limited.value.seconds <= 20.0
            await store.claim(claim_draft(f"{second}"), entry(), None, NOW + second, rate())

    async def test_replicas_whose_clocks_differ_share_a_rate(self, store: Store) -> None:
        for _ in range(3):
            await store.admit(rate(per=1.0), NOW)
        for behind in (0.2, 1.0, 59.0):
            with pytest.raises(RateLimited) as limited:
                await store.admit(rate(per=1.0), NOW - behind)
            assert limited.value.seconds <= behind + 1.0

    async def test_counts_outlive_the_process(self, open_store: OpenStore) -> None:
        first = await open_store()
        await first.claim(claim_draft(), entry(), None, NOW, Quotas(rate(1).rates, charge("100").charges))
        await first.close()
        again = await open_store()
        with pytest.raises(RateLimited):
            await again.admit(rate(1), NOW)
        with pytest.raises(OverBudget):
            await again.claim(claim_draft("other"), entry(), None, NOW, charge("1"))
        await again.settle("claim", 1, Settlement(State.FAILED_NO_EFFECT, NOW), [])
        await again.claim(claim_draft("other"), entry(), None, NOW, charge("100"))

    async def test_a_settled_claim_remembers_what_it_cost(self, store: Store) -> None:
        await store.claim(claim_draft(), entry(), None, NOW, charge("12.50"))
        await store.settle("claim", 1, succeeded(), [])
        record = await store.claim_by_id("claim")
        assert record is not None and record.charges == (("ann's day", Decimal("12.50")),)
