"""Guard `max_amount`: an amount of money stays below a limit in its currency."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import Field

from assent.rules.guards.context import NO_CONTEXT, Context
from assent.rules.guards.rule import Denial, Examples, FieldName, GuardRule
from assent.rules.guards.text import name_key
from assent.rules.guards.values import Fields, named_scalars, read_number

Currency = Annotated[str, Field(pattern=r"^[A-Z]{3,10}$")]


class MaxAmount(GuardRule):
    """Every amount must be at most the limit of its currency, and not negative.

    The amounts are in `fields`, the currency in `currency`; where it is not an argument of the call itself, the limit
    of `default` counts as well. A currency without a limit, a missing currency without a
    `default`, and an amount that is not a plain number are not allowed. With `minor_units`, amounts are in cents. Use
    `budgets:` for limits on what several calls spend together.
    """

    usual_fields: ClassVar[tuple[str, ...]] = ("amount", "total", "price")
    examples: ClassVar[Examples] = Examples(
        {"limits": {"EUR": 500, "JPY": 80000}, "default": "EUR"},
        passes=({"amount": 500}, {"amount": "80000", "currency": "jpy"}, {"quantity": 9999}),
        objects=(
            {"amount": 500.01},
            {"amount": 10, "currency": "USD"},
            {"amount": "1,000"},
            {"amount": -5},
            {"amount": 600, "currency": ["JPY", "EUR"]},
        ),
    )

    limits: Annotated[dict[Currency, Annotated[Decimal, Field(ge=0)]], Field(min_length=1, description="The limits.")]
    currency: FieldName = Field("currency", description="The field of the currency.")
    default: Currency | None = Field(None, description="The currency of a call that names none.")
    minor_units: Annotated[int, Field(ge=0, le=4, description="Digits after the point: 2 if amounts are in cents.")] = 0

    @cached_property
    def _currency(self) -> Fields:
        return Fields((self.currency,))

    def denies(self, arguments: Mapping[str, Any], context: Context = NO_CONTEXT) -> Denial | None:
        amounts = [one for path, value in self.checked_values(arguments) for one in named_scalars(path, value)]
        if not amounts:
            return None
        limit = self._limit(context.known_arguments(arguments))
        if limit is None:
            return self.currency, "its currency has no limit"
        for path, value in amounts:
            amount = None if value is None else read_number(value)
            if amount is None:
                if value is None:
                    continue
                return path, "it is not an amount"
            if not 0 <= amount.scaleb(-self.minor_units) <= limit:
                return path, f"it is not between 0 and {limit:f}"
        return None

    def _limit(self, arguments: Mapping[str, Any]) -> Decimal | None:
        """The smallest limit of the named currencies; None if one of them has none."""
        named = [text for _, value in self._currency.find_values(arguments) for _, text in named_scalars("", value)]
        codes = [name_key(one).upper() if isinstance(one, str) else "" for one in named if one is not None]
        if not codes or (self.default and not self.currency.startswith("/") and self.currency not in arguments):
            codes.append(self.default or "")  # A currency elsewhere may not be the one that the tool reads.
        found = [self.limits.get(code) for code in codes]
        return None if None in found else min(one for one in found if one is not None)
