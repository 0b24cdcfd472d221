"""Guard `block_keywords`: no text contains a blocked word."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from assent.rules.guards.context import Context
from assent.rules.guards.rule import Examples, ValueRule
from assent.rules.guards.text import CONTROL, fold, readings, skeleton


def _visible(keyword: str) -> str:
    if not fold(CONTROL.sub("", keyword)):
        raise ValueError("it has no visible character, so every text would contain it")
    return keyword


Keyword = Annotated[str, Field(min_length=1), AfterValidator(_visible)]


class BlockKeywords(ValueRule):
    """No text may contain one of the blocked words.

    A word is found in any case, across lines, inside other words, with invisible or control characters in between,
    and with letters of other scripts that look like its own.
    """

    texts_alone: ClassVar[bool] = True
    examples: ClassVar[Examples] = Examples(
        {"keywords": ["password", "drop table"]},
        passes=({"text": "Pass the word on."}, {"text": "DROP the TABLE"}),
        objects=({"text": "My PASSWORD is 1234"}, {"text": "pass\u200bword"}, {"query": "drop\n  table users"}),
    )

    keywords: Annotated[tuple[Keyword, ...], Field(min_length=1, description="The blocked words and phrases.")]

    @cached_property
    def _folded_keywords(self) -> tuple[str, ...]:
        found = (form for keyword in self.keywords for form in (readings(keyword)[-1], skeleton(keyword)))
        return tuple(dict.fromkeys(found))

    def objection(self, value: Any, context: Context) -> str | None:
        if not isinstance(value, str):
            return None
        forms = readings(value) if value.isascii() else (*readings(value), skeleton(value))
        for text in forms:
            for keyword in self._folded_keywords:
                if keyword in text:
                    return "it contains a blocked word"
        return None
