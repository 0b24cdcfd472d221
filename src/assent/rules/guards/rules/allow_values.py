"""Guard `allow_values`: fields have one of the allowed values."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import Field

from assent.rules.guards.context import Context
from assent.rules.guards.rule import Examples, ValueRule

Scalar = str | bool | int | float | None


class AllowValues(ValueRule):
    """Every value of the fields must be one of the allowed values.

    Texts are compared exactly, or without regard to case with `ignore_case`. A text does not equal a number.
    """

    needs_fields: ClassVar[bool] = True
    examples: ClassVar[Examples] = Examples(
        {"fields": ["environment"], "values": ["staging", "dev", 1]},
        passes=({"environment": "staging"}, {"environment": 1}, {"name": "production"}),
        objects=(
            {"environment": "production"},
            {"environment": "Staging"},
            {"environment": True},
            {"environment": "1"},
        ),
    )

    values: Annotated[tuple[Scalar, ...], Field(min_length=1, description="The allowed values.")]
    ignore_case: bool = Field(False, description="Whether upper and lower case are the same.")

    @cached_property
    def _allowed(self) -> frozenset[tuple[str, Any]]:
        return frozenset(map(self._key, self.values))

    def _key(self, value: Any) -> tuple[str, Any]:
        if isinstance(value, str):
            return "text", value.casefold() if self.ignore_case else value
        return ("truth" if isinstance(value, bool) else "null" if value is None else "number"), value

    def objection(self, value: Any, context: Context) -> str | None:
        return None if self._key(value) in self._allowed else "it is not one of the allowed values"
