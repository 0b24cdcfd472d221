"""Looks at rate limits and budgets before a person is asked; `claim` reserves them."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from assent.contract.pointers import MISSING, resolve
from assent.core.call import Call
from assent.core.quotas import BudgetCharge, Quotas, SpendBudget, quotas_of
from assent.pipeline.claim import quota_refusal
from assent.pipeline.trace import CallTrace
from assent.ports import OverBudget, Ports, RateLimited


async def check_quotas(call: Call, ports: Ports, trace: CallTrace) -> None:
    """Refuse a call that its limits and budgets do not allow now. Nothing is reserved.

    Where another tool estimates the price, budgets of money wait for `check_estimate`.
    """
    if call.tool.contract.estimate is None:
        await _check(call, stated_price(call), ports.budgets, "guard", ports, trace)
    else:
        await _check(call, None, tuple(one for one in ports.budgets if one.currency is None), "guard", ports, trace)


async def check_estimate(call: Call, price: str | None, ports: Ports, trace: CallTrace) -> None:
    """Refuse a call whose estimated price its budgets do not allow now. Nothing is reserved."""
    if call.tool.contract.estimate is not None:
        await _check(call, price, ports.budgets, "rehearse", ports, trace)


async def _check(
    call: Call, price: str | None, budgets: tuple[SpendBudget, ...], stage: str, ports: Ports, trace: CallTrace
) -> None:
    if call.dry_run or trace.observing:  # A dry run spends no budget. In observe mode, `claim` notes what it exceeds.
        return
    now = ports.now()
    quotas = quotas_of(call, ports.limits, budgets, price, now) if ports.limits or budgets else None
    if not quotas:
        return
    try:
        await ports.store.afford(quotas, now)
    except (RateLimited, OverBudget) as exceeded:
        refusal = quota_refusal(exceeded)
        trace.stopped(stage, f"{refusal.code}: {refusal.problem()['detail']}")
        raise refusal from None


async def used_percent(call: Call, ports: Ports) -> int:
    """How much is used of the fullest budget that counts this call, in whole percent; 0 if none does."""
    now = ports.now()
    charges = quotas_of(call, (), ports.budgets, None, now).charges
    return max([int(100 * (1 - await budget_left(one, ports, now) / one.limit)) for one in charges], default=0)


async def budget_left(charge: BudgetCharge, ports: Ports, now: float) -> Decimal:
    """What is left of a budget: asked with an amount that none can hold, so that the answer names it."""
    try:
        await ports.store.afford(Quotas(charges=(replace(charge, amount=Decimal("Infinity")),)), now)
    except OverBudget as over:
        return max(Decimal(0), over.left)
    return charge.limit


def stated_price(call: Call) -> str | None:
    """The price that the arguments state, as text; None if the contract reads none from them."""
    cost = call.tool.contract.cost
    amount = amount_at(call.stated, cost.amount) if cost else MISSING
    if cost is None or amount is MISSING:
        return None
    return f"{amount} {cost.currency}" if cost.currency else f"{amount}"


def amount_at(document: object, pointer: str) -> object:
    """The value at the pointer if it can be an amount: a number, or a text that is not empty. Otherwise MISSING."""
    amount = resolve(document, pointer)
    is_one = isinstance(amount, int | float) if not isinstance(amount, str) else amount.strip()
    return amount if is_one and not isinstance(amount, bool) else MISSING
