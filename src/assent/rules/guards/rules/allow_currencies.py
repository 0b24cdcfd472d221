"""Guard `allow_currencies`: only allowed currencies are used."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from assent.rules.guards.context import Context
from assent.rules.guards.rule import Examples, ValueRule


class AllowCurrencies(ValueRule):
    """Every currency must be one of the allowed codes, in upper or lower case."""

    usual_fields: ClassVar[tuple[str, ...]] = ("currency", "currency_code", "currencyCode", "currencies")
    examples: ClassVar[Examples] = Examples(
        {"currencies": ["EUR", "CHF"]},
        passes=({"currency": "eur"}, {"currencies": ["CHF", "EUR"]}, {"amount": 5}),
        objects=({"currency": "USD"}, {"currency": "€"}, {"currency": "EUR "}, {"currency": ""}),
    )

    currencies: Annotated[
        tuple[Annotated[str, Field(pattern=r"^[A-Z]{3,10}$")], ...],
        Field(min_length=1, description="The codes of the allowed currencies."),
    ]

    def objection(self, value: Any, context: Context) -> str | None:
        if value is None:
            return None
        allowed = isinstance(value, str) and value.isascii() and value.upper() in self.currencies
        return None if allowed else "it is not an allowed currency"
