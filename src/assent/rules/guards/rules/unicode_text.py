"""Guard `unicode_text`: texts have no characters that deceive a reader."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from assent.core.deceptive_characters import BIDIRECTIONAL, BLANK, JOINERS, LINES, look_alikes
from assent.rules.guards.context import Context
from assent.rules.guards.rule import Examples, ValueRule

Trick = Literal["invisible", "bidirectional", "control", "look_alikes", "compatibility"]


class UnicodeText(ValueRule):
    """No text may have characters that a person does not see, or that look like others.

    `invisible`: characters that draw nothing, also the tag characters. Joiners and variation selectors beside non-ASCII
    characters are left alone, because emoji and many scripts need them. `bidirectional`: characters that change the
    direction. `control`: control characters except line ends and tabs. `look_alikes`: letters of another script inside
    ASCII words. `compatibility`: forms such as full-width letters.
    """

    texts_alone: ClassVar[bool] = True
    examples: ClassVar[Examples] = Examples(
        {},
        passes=({"text": "Grüße aus Köln 👩‍💻"}, {"text": "line one\nline two"}, {"text": "привет"}),
        objects=(
            {"text": "pay\u200bpal"},
            {"text": "a\u202eb"},
            {"text": "раypal"},
            {"text": "a\x07"},
            {"text": "a\U000e0041"},
        ),
    )

    tricks: Annotated[tuple[Trick, ...], Field(min_length=1, description="What to find.")] = (
        *("invisible", "bidirectional", "control", "look_alikes"),
    )

    def objection(self, value: Any, context: Context) -> str | None:
        if not isinstance(value, str) or (value.isascii() and value.isprintable()):
            return None
        return next((reason for trick in self.tricks if (reason := _FINDERS[trick](value))), None)


def _invisible(text: str) -> str | None:
    for place, character in enumerate(text):
        if character in BIDIRECTIONAL or (character.isascii()):
            continue
        if character in BLANK or unicodedata.category(character) in ("Cf", "Co", "Cn"):
            before = text[place - 1] if place else " "
            if character not in JOINERS or before.isascii():
                return "it contains an invisible character"
    return None


def _bidirectional(text: str) -> str | None:
    return None if BIDIRECTIONAL.isdisjoint(text) else "it contains a character that changes the direction"


def _control(text: str) -> str | None:
    found = any(unicodedata.category(character) == "Cc" and character not in LINES for character in set(text))
    return "it contains a control character" if found else None


def _look_alikes(text: str) -> str | None:
    return "it contains letters that look like others" if look_alikes(text) else None


def _compatibility(text: str) -> str | None:
    return None if text.isascii() or unicodedata.is_normalized("NFKC", text) else "it contains compatibility characters"


_FINDERS = {
    "invisible": _invisible,
    "bidirectional": _bidirectional,
    "control": _control,
    "look_alikes": _look_alikes,
    "compatibility": _compatibility,
}
