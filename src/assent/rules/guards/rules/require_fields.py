"""Guard `require_fields`: fields are present and not empty."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

from assent.rules.guards.context import NO_CONTEXT, Context
from assent.rules.guards.rule import Denial, Examples, GuardRule
from assent.rules.guards.text import visible_part
from assent.rules.guards.values import Fields


class RequireFields(GuardRule):
    """Each of the fields must be present with a value.

    Null, a text without a visible character, an empty list and an empty object are no values.
    """

    needs_fields: ClassVar[bool] = True
    on_results: ClassVar[bool] = True
    examples: ClassVar[Examples] = Examples(
        {"fields": ["reason", "/order/id"]},
        passes=({"reason": "Customer asked", "order": {"id": 7}}, {"reason": "x", "order": {"id": 0}}),
        objects=({"order": {"id": 7}}, {"reason": " \u200b", "order": {"id": 7}}, {"reason": "x", "id": 7}),
    )

    @cached_property
    def _each(self) -> tuple[tuple[str, Fields], ...]:
        return tuple((name, Fields((name,))) for name in self.fields)

    def denies(self, arguments: Mapping[str, Any], context: Context = NO_CONTEXT) -> Denial | None:
        for name, field in self._each:
            found = field.pick(arguments)
            if not found or any(map(_is_empty, found)):
                return name, "it is required"
        return None


def _is_empty(value: Any) -> bool:
    if isinstance(value, str):
        return not visible_part(value).strip()
    return value is None or (isinstance(value, list | dict) and not value)
