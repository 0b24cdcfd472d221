"""Do the arguments avoid these words?"""

from __future__ import annotations

import unicodedata
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field

from assent.core.render import BLANK
from assent.guards.rule import Rule


def fold(text: str) -> str:
    """The text as it reads: compatibility forms and case folded, invisible characters dropped."""
    if text.isascii():
        return text.lower()
    seen = "".join(c for c in text if c not in BLANK)  # before normalising, which turns some of them into others
    normal = unicodedata.normalize("NFKC", seen)
    return "".join(c for c in normal if unicodedata.category(c) not in ("Cf", "Mn")).casefold()


class BlockKeywords(Rule):
    """No text may contain one of `keywords`, in whatever case or disguise of invisible characters."""

    model_config = ConfigDict(frozen=True, extra="forbid", ignored_types=(cached_property,))

    name: ClassVar[str] = "block_keywords"
    texts_alone: ClassVar[bool] = True
    keywords: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]

    @cached_property
    def _folded(self) -> tuple[str, ...]:
        return tuple(fold(keyword) for keyword in self.keywords)

    def objection(self, value: Any) -> str | None:
        if not isinstance(value, str):
            return None
        text = fold(value)
        for keyword in self._folded:
            if keyword in text:
                return "it contains a blocked word"
        return None
