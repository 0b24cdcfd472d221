"""Guard `bounds`: numbers stay within bounds."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import model_validator

from assent.guards.rule import GuardRule


class Bounds(GuardRule):
    """Every number in the fields must be between `least` and `most`; a number written as text counts as a number."""

    name: ClassVar[str] = "bounds"
    least: float | None = None
    most: float | None = None

    @model_validator(mode="after")
    def _some_bound(self) -> Bounds:
        if self.least is None and self.most is None:
            raise ValueError("it has no bound; set least, most or both")
        if not self.fields:
            raise ValueError("it needs `fields`, the arguments that it bounds")
        return self

    def objection(self, value: Any) -> str | None:
        number = _number(value)
        if number is None:
            return "it is not a number"
        if self.least is not None and number < self.least:
            return f"it is less than {self.least:g}"
        if self.most is not None and number > self.most:
            return f"it is more than {self.most:g}"
        return None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if number == number else None
