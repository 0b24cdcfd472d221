"""Guard `bounds`: numbers stay within bounds."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, ClassVar

from pydantic import Field, model_validator

from assent.rules.guards.context import Context
from assent.rules.guards.rule import Examples, ValueRule
from assent.rules.guards.values import read_number


class Bounds(ValueRule):
    """Every number in the fields must be between `least` and `most`.

    A number written as text counts as a number. Anything else in these fields is not allowed.
    """

    needs_fields: ClassVar[bool] = True
    examples: ClassVar[Examples] = Examples(
        {"fields": ["amount"], "least": 0, "most": 500},
        passes=({"amount": 500}, {"amount": "12.50"}, {"price": 9000}),
        objects=({"amount": 500.01}, {"amount": "1e6"}, {"amount": -1}, {"amount": "many"}, {"order": {"Amount": 501}}),
    )

    least: Decimal | None = Field(None, description="The smallest allowed number.")
    most: Decimal | None = Field(None, description="The largest allowed number.")

    @model_validator(mode="after")
    def _some_bound(self) -> Bounds:
        if self.least is None and self.most is None:
            raise ValueError("it has no bound; set least, most or both")
        if self.least is not None and self.most is not None and self.least > self.most:
            raise ValueError("`least` is more than `most`, so no number would pass")
        return self

    def objection(self, value: Any, context: Context) -> str | None:
        number = read_number(value)
        if number is None:
            return "it is not a number"
        if self.least is not None and number < self.least:
            return f"it is less than {self.least:f}"
        if self.most is not None and number > self.most:
            return f"it is more than {self.most:f}"
        return None
