"""Guard `forbid_fields`: fields are not used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from assent.rules.guards.context import NO_CONTEXT, Context
from assent.rules.guards.rule import Denial, Examples, GuardRule


class ForbidFields(GuardRule):
    """None of the fields may be present.

    On results, `action: mask` replaces their values: texts by a mark, numbers by 0, true by false, and so on below. In
    texts, the values are found behind the names, in XML, and in the columns of CSV and tables.
    """

    needs_fields: ClassVar[bool] = True
    on_results: ClassVar[bool] = True
    masks: ClassVar[bool] = True
    examples: ClassVar[Examples] = Examples(
        {"fields": ["bcc", "/options/force"]},
        passes=({"to": "ann@example.com"}, {"force": True}, {"bcc": None}),
        objects=({"bcc": "eve@evil.org"}, {"BCC": ["x"]}, {"options": {"Force": False}}, {"mail": {"bcc": ""}}),
    )

    def denies(self, arguments: Mapping[str, Any], context: Context = NO_CONTEXT) -> Denial | None:
        if all(value is None for value in self.selected.pick(arguments)):
            return None
        return next(
            (path, "this field is not allowed") for path, value in self.checked_values(arguments) if value is not None
        )
