"""Guard `block_values`: no field has a blocked value."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, ClassVar

import orjson
from pydantic import Field

from assent.rules.guards.context import Context
from assent.rules.guards.rule import Examples, ValueRule
from assent.rules.guards.text import CONTROL, skeleton
from assent.rules.guards.values import read_number


class BlockValues(ValueRule):
    """No value may be one of the blocked values.

    Texts are compared as a person reads them: without regard to case, invisible characters, spaces at the ends and
    letters that look alike. A number, true, false or null written as text equals the value.
    """

    needs_fields: ClassVar[bool] = True
    examples: ClassVar[Examples] = Examples(
        {"fields": ["environment", "replicas"], "values": ["production", 0]},
        passes=({"environment": "staging"}, {"replicas": 1}, {"note": "production"}),
        objects=({"environment": " Production"}, {"environment": "prоduction"}, {"replicas": "0.0"}),
    )

    values: Annotated[
        tuple[str | bool | int | float | None, ...], Field(min_length=1, description="The blocked values.")
    ]

    @cached_property
    def _blocked(self) -> frozenset[Any]:
        return frozenset(key for value in self.values for key in _keys(value))

    def objection(self, value: Any, context: Context) -> str | None:
        return "it is a blocked value" if not self._blocked.isdisjoint(_keys(value)) else None


def _keys(value: Any) -> list[Any]:
    """The forms in which a value is compared."""
    if isinstance(value, bool) or value is None:
        return [orjson.dumps(value).decode()]
    number = read_number(value)
    text = [skeleton(CONTROL.sub("", value)).strip()] if isinstance(value, str) else []
    return [*text, number] if number is not None else text
