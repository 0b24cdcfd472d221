"""The user's own words, and whether they give a value, name a record or ask for an action."""

from __future__ import annotations

from collections.abc import Iterable

from assent.flow.text import words
from assent.flow.values import amount_of, values_in
from assent.flow.word_set import word_set

MOST_USER_TEXT = 16_384
"""How many characters of a user's words are kept per conversation; the newest count."""
LONGEST_NAME = 8
_ID_WORDS = word_set("id ids number no nr file event item order ticket issue task invoice row case pr request")
_ENDINGS = ("ations", "ation", "ings", "ing", "ies", "ied", "ed", "es", "s", "e", "y")


def stem(word: str) -> str:
    """A word without its ending, so that forms of one word are equal."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) > 2:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


class UserWords:
    """The words of a user in one conversation."""

    def __init__(self, text: str = "") -> None:
        self.text = text[-MOST_USER_TEXT:]
        self.words = words(self.text)
        self._known = frozenset(self.words)
        self._stems = frozenset(map(stem, self._known))
        self._values = frozenset((value.kind, value.exact) for value in values_in(self.text))
        self.names = frozenset(
            "".join(self.words[start : start + size])
            for size in range(1, LONGEST_NAME + 1)
            for start in range(len(self.words) - size + 1)
        )

    def __bool__(self) -> bool:
        return bool(self.words)

    def add(self, text: str) -> UserWords:
        """These words and a further text. A text that they contain already changes nothing."""
        return self if not text or text in self.text else UserWords(f"{self.text}\n{text}" if self.text else text)

    def give(self, kind: str, exact: str) -> bool:
        """Whether the user wrote this very value."""
        return (kind, exact) in self._values

    def give_number(self, text: str) -> bool:
        return ("amount", amount_of(text)) in self._values

    def name(self, squeezed: str) -> bool:
        """Whether the user wrote this name, as consecutive words."""
        return squeezed in self.names

    def contain(self, word: str) -> bool:
        return word in self._known

    def contain_form(self, word: str) -> bool:
        """Whether the user wrote a word or one of its plain forms: `book`, `booked`, `booking`."""
        return word in self._known or (len(word) > 2 and stem(word) in self._stems)

    def name_id(self, text: str) -> bool:
        """Whether the user wrote this number after a word that introduces an id, as in `file 7` or `#7`."""
        return any(
            word == text and before in _ID_WORDS for before, word in zip(self.words, self.words[1:], strict=False)
        )

    def contain_any(self, some: Iterable[str]) -> bool:
        return not self._known.isdisjoint(some)
