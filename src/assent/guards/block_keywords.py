"""Guard `block_keywords`: no text contains a blocked word."""

from __future__ import annotations

import re
import unicodedata
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, ConfigDict, Field

from assent.core.render import BLANK
from assent.guards.rule import GuardRule

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_GAP = re.compile(r"\s+")


def fold(text: str) -> str:
    """The text as a person reads it: compatibility forms and case folded, invisible characters dropped, gaps as one
    space.
    """
    if text.isascii():
        return _GAP.sub(" ", text.lower())
    seen = "".join(c for c in text if c not in BLANK)  # Before normalising, which would turn some of them into others.
    normal = unicodedata.normalize("NFKC", seen)
    shown = "".join(c for c in normal if unicodedata.category(c) not in ("Cf", "Mn"))
    return _GAP.sub(" ", shown.casefold())


def readings(text: str) -> tuple[str, ...]:
    """The text as a person reads it, and as a program reads it that drops control characters and line ends."""
    if not _CONTROL.search(text):
        return (fold(text),)
    return fold(_CONTROL.sub(" ", text)), fold(_CONTROL.sub("", text))


def _visible(keyword: str) -> str:
    if not fold(_CONTROL.sub("", keyword)):
        raise ValueError("it has no visible character, so every text would contain it")
    return keyword


Keyword = Annotated[str, Field(min_length=1), AfterValidator(_visible)]


class BlockKeywords(GuardRule):
    """No text may contain one of `keywords`, in any case, across lines, with any invisible characters in between."""

    model_config = ConfigDict(frozen=True, extra="forbid", ignored_types=(cached_property,))

    name: ClassVar[str] = "block_keywords"
    texts_alone: ClassVar[bool] = True
    keywords: Annotated[tuple[Keyword, ...], Field(min_length=1)]

    @cached_property
    def _folded(self) -> tuple[str, ...]:
        return tuple(readings(keyword)[-1] for keyword in self.keywords)

    def objection(self, value: Any) -> str | None:
        if not isinstance(value, str):
            return None
        if any(keyword in text for text in readings(value) for keyword in self._folded):
            return "it contains a blocked word"
        return None
