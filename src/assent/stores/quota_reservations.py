"""Reserves the quotas of a call: a slot in each of its rate limits and an amount in each of its budgets.

It happens in the transaction of the claim (`record_rules`), all or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, Inexact

from assent.core.quotas import EXACT, BudgetCharge, Quotas, RateSlot
from assent.errors import StoreError
from assent.ports import OverBudget, RateLimited

_SKEW = 60.0
"""Seconds by which the clocks of replicas may differ."""


@dataclass(frozen=True, slots=True)
class WindowSpend:
    """The amount spent in one window of one budget."""

    spent: Decimal
    until: float


def reserve(
    quotas: Quotas, rates: Mapping[str, float], tallies: Mapping[str, WindowSpend], now: float
) -> tuple[dict[str, float], dict[str, WindowSpend]]:
    """The rates and tallies with these quotas taken; raises RateLimited or OverBudget if one does not allow it."""
    arrivals = {rate.name: _arrival(rate, rates.get(rate.name, now), now) for rate in quotas.rates}
    return arrivals, {charge.tally: _add_charge(charge, tallies.get(charge.tally)) for charge in quotas.charges}


def _arrival(rate: RateSlot, stored: float, now: float) -> float:
    """GCRA: the time at which the next call would arrive if all calls came evenly.

    A stored time far beyond a whole period from now means that the clock was set back. The rate then counts as
    having one slot left: this call passes, its time is stored by today's clock, and later calls follow the
    rate. Within `_SKEW` the time may come from another replica's clock and is used as it is.
    """
    step = rate.per / rate.calls
    if stored > now + rate.per + max(rate.per, _SKEW):
        stored = now + rate.per - step
    due = max(stored, now) + step
    early = due - now - rate.per
    if early > 1e-6:
        raise RateLimited(early)
    return due


def _add_charge(charge: BudgetCharge, known: WindowSpend | None) -> WindowSpend:
    tally = known or WindowSpend(Decimal(0), charge.until)
    try:
        spent, left = EXACT.add(tally.spent, charge.amount), EXACT.subtract(charge.limit, tally.spent)
    except Inexact:
        raise StoreError(f"An amount has too many digits to be added exactly: {charge.amount:.3e}.") from None
    if spent > charge.limit:
        raise OverBudget(charge.limit, left)
    return replace(tally, spent=spent)


def give_back(charges: Iterable[tuple[str, Decimal]], tallies: Mapping[str, WindowSpend]) -> dict[str, WindowSpend]:
    """The tallies without what an effect reserved that did not happen. A window that has ended needs no return."""
    return {
        name: replace(tallies[name], spent=max(Decimal(0), EXACT.subtract(tallies[name].spent, amount)))
        for name, amount in charges
        if name in tallies
    }
