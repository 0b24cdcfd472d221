"""Guard `block_patterns`: no text matches a blocked regular expression."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import Field

from assent.rules.guards.context import Context
from assent.rules.guards.patterns import LinearPattern, find_match, forms_of
from assent.rules.guards.rule import Examples, ValueRule


class BlockPatterns(ValueRule):
    """No text may match one of the regular expressions, anywhere in it.

    The expressions run on an engine whose time is linear in the text; look-around and back references are errors at
    load. A text is tried as it is, and without invisible characters and compatibility forms. Masking replaces the
    whole text.
    """

    texts_alone: ClassVar[bool] = True
    masks: ClassVar[bool] = True
    examples: ClassVar[Examples] = Examples(
        {"patterns": ["INV-[0-9]{6}"], "ignore_case": True},
        passes=({"text": "Invoice 123456"}, {"text": "INV-12"}),
        objects=({"text": "see inv-123456"}, {"text": "INV-１２３４５６"}, {"text": "IN\u200bV-123456"}),
    )

    patterns: Annotated[tuple[LinearPattern, ...], Field(min_length=1, description="The blocked expressions.")]
    ignore_case: bool = Field(False, description="Whether upper and lower case are the same.")

    @cached_property
    def _flagged_patterns(self) -> tuple[str, ...]:
        return tuple(f"(?i:{one})" if self.ignore_case else one for one in self.patterns)

    def objection(self, value: Any, context: Context) -> str | None:
        if not isinstance(value, str):
            return None
        for form in forms_of(value):
            for pattern in self._flagged_patterns:
                found = find_match(pattern, form)
                if found is not False:
                    return "it matches a blocked pattern" if found else "it is too long to be checked"
        return None
