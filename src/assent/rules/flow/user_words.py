"""The user's own words, and whether they give a value, name a record or ask for an action (ADR 0132)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import accumulate

from assent.rules.flow.actions import Requests
from assent.rules.flow.values import amount_of, values_in, word_set, words

MOST_USER_TEXT = 16_384
"""How many characters of a user's words are kept per conversation; the newest count."""
LONGEST_NAME = 8
_ID_WORDS = word_set("id ids number no nr file event item order ticket issue task invoice row case pr request")
_COMMON = word_set(
    "a an the this that these those it its of at in on for to from with by and or but if then so as is are be was were "
    "do does did can could would should will shall may must have has had i me my we us our you your he she they them "
    "his her their please kindly thanks thank hi hello hey dear also just now today tomorrow new last next first all "
    "any every some each one three what which who when where how why there here not no yes about into out up down "
    "get give find look check see read show tell list search open need want like make let help know sure send write "
    "reply answer forward pay transfer create add update change delete remove book bill mail mails email emails "
    "over two message messages file files document documents account amount money number name address date time"
)
_PASTED = re.compile(
    r"^[ \t]*>[^\n]*|```[\s\S]*?(?:```|\Z)|\"[^\"]{120,}\"|“[^”]{120,}”|„[^“]{120,}“|«[^»]{120,}»|「[^」]{60,}」|"
    r"^[^\n\w]{0,20}(?:original message|begin forwarded message|forwarded message|ursprüngliche nachricht|"
    r"weitergeleitete nachricht|message d'origine|message transféré|mensaje original|mensaje reenviado)[\s\S]*",
    re.IGNORECASE | re.MULTILINE,
)
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
        own = _PASTED.sub("\n", self.text)
        self.pasted = "\n".join(_PASTED.findall(self.text)) if own != self.text else ""
        """What the user quoted: a mail, a block of code, a long quotation. It is no request and gives no value."""
        self.words = words(own)
        self._own = own
        self._requests: Requests | None = None
        self._known = frozenset(self.words)
        self._stems = frozenset(map(stem, self._known))
        self._values = frozenset((value.kind, value.exact) for value in values_in(own))
        self._joined_words = "".join(self.words)
        self._bounds = frozenset(accumulate(map(len, self.words), initial=0))

    def __bool__(self) -> bool:
        return bool(self.words)

    def work(self, text: str) -> int:
        """How many characters `add` reads; none if these words contain the text already."""
        if not text or text[-MOST_USER_TEXT:] in self.text:
            return 0
        return min(len(self.text) + len(text), MOST_USER_TEXT)

    def add(self, text: str) -> UserWords:
        """These words and a further text. A text that they contain already changes nothing."""
        if self.work(text) == 0:
            return self
        return UserWords(f"{self.text}\n{text[-MOST_USER_TEXT:]}" if self.text else text)

    @property
    def requests(self) -> Requests:
        """The actions and rights that the user asks for."""
        if self._requests is None:
            self._requests = Requests(self._own)
        return self._requests

    def give(self, kind: str, exact: str) -> bool:
        """Whether the user wrote this very value."""
        return (kind, exact) in self._values

    def give_number(self, text: str) -> bool:
        return ("amount", amount_of(text)) in self._values

    def name(self, squeezed: str) -> bool:
        """Whether the user wrote this name, as consecutive words."""
        at = self._joined_words.find(squeezed) if squeezed else -1
        while at >= 0 and not (at in self._bounds and at + len(squeezed) in self._bounds):
            at = self._joined_words.find(squeezed, at + 1)
        return at >= 0

    def record_names(self) -> Iterator[str]:
        """What can name a record: consecutive words that are not all common ones. `Please` is the title of nothing."""
        for start in range(len(self.words)):
            telling = False
            for size, word in enumerate(self.words[start : start + LONGEST_NAME], 1):
                telling = telling or word not in _COMMON
                if telling:
                    yield "".join(self.words[start : start + size])

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
