"""Guard `require_pattern`: every text of a field matches a regular expression."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

from pydantic import Field

from assent.rules.guards.context import Context
from assent.rules.guards.patterns import LinearPattern, find_match
from assent.rules.guards.rule import Examples, ValueRule


class RequirePattern(ValueRule):
    """Every text of the fields must match the regular expression as a whole.

    The expression runs on an engine whose time is linear in the text. Numbers are compared as they are written in
    JSON. A null passes: use `require_fields` to require a value.
    """

    needs_fields: ClassVar[bool] = True
    examples: ClassVar[Examples] = Examples(
        {"fields": ["ticket"], "pattern": "OPS-[0-9]+"},
        passes=({"ticket": "OPS-17"}, {"note": "anything"}),
        objects=({"ticket": "OPS-17; rm"}, {"ticket": "OPS-17\n"}, {"ticket": "ops-17"}, {"ticket": 17}),
    )

    pattern: LinearPattern = Field(description="The expression for the whole text.")

    @cached_property
    def _whole(self) -> str:
        return f"^(?:{self.pattern})$"

    def objection(self, value: Any, context: Context) -> str | None:
        if value is None:
            return None
        text = value if isinstance(value, str) else str(value)
        found = find_match(self._whole, text)
        if found is None:
            return "it is too long to be checked"
        return None if found else "it does not match the required pattern"
