"""Rate limits and budgets, and what one call takes from them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact, InvalidOperation
from functools import cached_property
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from assent.contract.digest import digest_of
from assent.contract.fields import Duration
from assent.contract.model import Contract
from assent.core.call import Call
from assent.core.match import Match
from assent.errors import Fault

Each = Literal["principal", "tenant", "tool", "tier"]
MOST_DIGITS = 30
EXACT = Context(prec=6 * MOST_DIGITS, traps=[Inexact, InvalidOperation])
"""The context for adding amounts: Python's default would round beyond 28 digits. Every sum of readable amounts fits
exactly; one that does not fit is an error, never rounded.
"""


class _Quota(BaseModel):
    """A configured limit or budget."""

    model_config = ConfigDict(frozen=True, extra="forbid", ignored_types=(cached_property,))

    @cached_property
    def rule_digest(self) -> str:
        """Identifies the rule. It leaves out a budget's amount, so that raising the amount keeps what was spent."""
        return digest_of(self.model_dump(mode="json", exclude={"amount"}))


class RateLimit(_Quota):
    """A number of calls per time, counted per principal unless `each` says otherwise."""

    match: Match = Match()
    """The calls that it counts; without it, every call."""
    calls: Annotated[int, Field(ge=1, le=1_000_000)]
    """How many calls."""
    per: Duration
    """In which time."""
    each: tuple[Each, ...] = ("principal",)
    """What has a count of its own."""


class SpendBudget(_Quota):
    """An amount of money (with a currency) or a number of calls (without) per time window."""

    match: Match = Match()
    """The calls that it counts; without it, every call."""
    amount: Annotated[Decimal, Field(gt=0, max_digits=MOST_DIGITS, allow_inf_nan=False)]
    """How much money, or how many calls if there is no currency."""
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{3,10}$", to_upper=True)] | None = None
    """The currency, in any case; it is compared in capital letters."""
    per: Duration
    """The length of the window."""
    each: tuple[Each, ...] = ("principal",)
    """What has a count of its own."""

    @model_validator(mode="after")
    def _whole_calls(self) -> SpendBudget:
        if self.currency is None and self.amount != self.amount.to_integral_value():
            raise ValueError("a budget without a currency counts calls, so its amount must be a whole number")
        return self


@dataclass(frozen=True, slots=True)
class RateSlot:
    """One call's slot in a rate limit; `name` identifies the limit and whose it is."""

    name: str
    calls: int
    per: float


@dataclass(frozen=True, slots=True)
class BudgetCharge:
    """An amount in one window of one budget; `tally` identifies the budget, the window and whose it is."""

    tally: str
    amount: Decimal
    limit: Decimal
    until: float
    """When the window ends."""


@dataclass(frozen=True, slots=True)
class Quotas:
    """Everything that a call takes from limits and budgets; reserved in the claim's transaction, all or nothing."""

    rates: tuple[RateSlot, ...] = ()
    charges: tuple[BudgetCharge, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.rates or self.charges)


NOTHING = Quotas()


@dataclass(frozen=True, slots=True)
class ExactPrice:
    """The exact price of a call."""

    amount: Decimal
    currency: str | None = None


def read_price(text: str, currency: str | None) -> ExactPrice | None:
    """Read a price from a text; None if it is not one. Amounts are decimals, never binary fractions."""
    if currency and text.upper().endswith(f" {currency.upper()}"):
        text = text[: -len(currency) - 1]
    if len(text) > MOST_DIGITS + 2 or not text.isascii() or "_" in text:
        return None
    try:
        amount = Decimal(text)
    except InvalidOperation:
        return None
    plain = amount.is_finite() and amount >= 0 and abs(amount.adjusted()) <= MOST_DIGITS
    return ExactPrice(amount, currency) if plain else None


def quotas_of(
    call: Call, limits: tuple[RateLimit, ...], budgets: tuple[SpendBudget, ...], price_text: str | None, now: float
) -> Quotas:
    """The quotas of a call with that price; every matching limit and budget must allow it."""
    if not limits and not budgets:
        return NOTHING
    cost = call.tool.contract.cost
    price = read_price(price_text, cost.currency if cost else None) if price_text and budgets else None
    rates = tuple(
        RateSlot(_name("rate", line, call), line.calls, float(line.per)) for line in limits if line.match.holds(call)
    )
    charges = tuple(
        _charge(line, call, price, now) for line in budgets if line.match.holds(call) and _counts(line, call, price)
    )
    return Quotas(rates, charges) if rates or charges else NOTHING


def _counts(line: SpendBudget, call: Call, price: ExactPrice | None) -> bool:
    """Whether a call counts towards a budget: every call for a budget of calls, a priced call for one in its
    currency.
    """
    if line.currency is None:
        return True
    if call.tool.contract.cost is None and call.tool.contract.estimate is None:
        return False
    return price is None or price.currency is None or price.currency.upper() == line.currency


def budgets_never_spent(
    budgets: Sequence[SpendBudget], contracts: Iterable[Contract], listed: Callable[[str], Iterable[str]] = lambda _: ()
) -> list[Fault]:
    """The money budgets that no call could spend from: no matching contract has a cost in their currency.

    A tool has the name of its contract, or one of those under which it may be `listed`.
    """
    priced = [one for one in contracts if one.cost is not None or one.estimate is not None]
    faults = []
    for index, line in enumerate(budgets):
        matched = [
            one for one in priced if any(line.match.may_hold(one, name) for name in (one.name, *listed(one.name)))
        ]
        if line.currency is None or any(_currency(one) in (None, line.currency) for one in matched):
            continue
        costs = ", ".join(f"{one.name} costs {_currency(one) or 'what its estimate says'}" for one in priced)
        message = f"no contract that this budget matches costs {line.currency}, so it would never count anything"
        remedy = f"Correct its match or currency, or add `cost` to the contract ({costs or 'none has one'})"
        faults.append(Fault(message, remedy, f"budgets.{index}"))
    return faults


def _currency(contract: Contract) -> str | None:
    return contract.cost.currency.upper() if contract.cost is not None and contract.cost.currency else None


def _charge(line: SpendBudget, call: Call, price: ExactPrice | None, now: float) -> BudgetCharge:
    start = now // line.per * line.per
    if line.currency is None:
        amount = Decimal(1)
    else:  # An unreadable price could be any amount.
        amount = price.amount if price is not None else Decimal("Infinity")
    return BudgetCharge(_name("budget", line, call, repr(start)), amount, line.amount, start + line.per)


def _name(kind: str, line: RateLimit | SpendBudget, call: Call, window: str = "") -> str:
    """The name of a count. Test callers have their own counts."""
    principal, contract = call.principal, call.tool.contract
    values = {
        "tenant": (principal.tenant,),
        "principal": (principal.tenant, principal.id),
        "tool": (call.tool.upstream, call.tool.name),
        "tier": (contract.side_effect.value,),
    }
    parts = [kind, line.rule_digest, window, *(part for each in sorted(line.each) for part in (each, *values[each]))]
    parts += [principal.mode] if principal.mode == "test" else []
    joined = b"".join(
        len(text).to_bytes(4, "big") + text for text in (p.encode("utf-8", "surrogatepass") for p in parts)
    )
    return hashlib.sha256(b"assent dues v1\n" + joined).hexdigest()
