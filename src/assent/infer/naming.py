"""Which word of a tool's name says what the tool does?"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from assent.infer.lexicon import CONJUNCTION, NOUN_TOO, VERBS
from assent.infer.words import split_name

_SEGMENT = re.compile(r"--|[./:]+")
_CAMEL_TAIL = re.compile(r"^(?:[A-Za-z]+[_-])+([a-z]+[A-Z]\w*)$")
_PREPOSITIONS = frozenset({"to", "for", "by", "from", "of", "with", "in", "on", "as", "at", "without", "before", "after"})


@dataclass(frozen=True, slots=True)
class NameReading:
    """The main verb of a name, verbs beside it, and the words left over."""

    verb: str | None
    place: str
    beside: tuple[str, ...]
    words: tuple[str, ...]

    @property
    def kind(self) -> str:
        return VERBS[self.verb] if self.verb else "none"


def read_name(name: str, said: Collection[str] = ()) -> NameReading:
    """Read a name; `said` are the verbs its description leads with and settle doubtful cases."""
    words = split_name(name)
    operation = _operation(name)
    index = _main(operation, said)
    if index is None:
        operation, index = words, _main(words, said)
    if index is None:
        return NameReading(None, "none", (), words)
    return NameReading(operation[index], _place(index, operation), _beside(operation, index), words)


def _operation(name: str) -> tuple[str, ...]:
    """The words of the part that names the operation: after dots and slashes, or a camel-case tail."""
    tail = _SEGMENT.split(name)[-1] or name
    camel = _CAMEL_TAIL.match(tail)
    return split_name(camel.group(1) if camel else tail)


def _main(words: tuple[str, ...], said: Collection[str]) -> int | None:
    verbs = [i for i, word in enumerate(words) if word in VERBS]
    if not verbs:
        return None
    for i in verbs:
        if words[i] in said and VERBS[words[i]] != "noun" and not _governed(words, i):
            if verbs[0] > 0 or i == 0 or (words[0] in NOUN_TOO and words[i] not in NOUN_TOO):
                return i
    pure = [i for i in verbs if words[i] not in NOUN_TOO and not _governed(words, i)]
    if verbs[0] == 0 and VERBS[words[0]] != "noun":
        return _from_first(words, pure)
    if pure:
        return pure[-1] if pure[-1] == len(words) - 1 else pure[0]
    acting = [i for i in verbs if VERBS[words[i]] != "noun" and not _governed(words, i)]
    if acting:
        return acting[-1] if acting[-1] == len(words) - 1 else acting[0]
    return verbs[-1]


def _from_first(words: tuple[str, ...], pure: list[int]) -> int:
    """The first word can be a verb; when it can be a thing as well, a certain verb beside or last wins."""
    if VERBS[words[0]] == "look" and pure and pure[-1] == len(words) - 1:
        return pure[-1]
    if words[0] in NOUN_TOO and pure and pure[0] > 0 and (pure[0] == 1 or pure[-1] == len(words) - 1):
        return pure[0] if pure[0] == 1 else pure[-1]
    return 0


def _governed(words: tuple[str, ...], index: int) -> bool:
    """Whether a preposition before the word makes it part of the object."""
    return index > 0 and words[index - 1] in _PREPOSITIONS


def _beside(words: tuple[str, ...], main: int) -> tuple[str, ...]:
    """Verbs joined to the main one: `search_and_replace`, `pause_resume`, `list_update`."""
    found = []
    for i, word in enumerate(words):
        if i == main or VERBS.get(word, "noun") == "noun" or _governed(words, i):
            continue
        joined = i > 0 and words[i - 1] in CONJUNCTION
        certain = word not in NOUN_TOO
        if joined or (certain and abs(i - main) == 1) or (main == 0 and certain and i == len(words) - 1):
            found.append(word)
    return tuple(found)


def _place(index: int, words: tuple[str, ...]) -> str:
    if index == 0:
        return "only" if len(words) == 1 else "first"
    return "last" if index == len(words) - 1 else "middle"
