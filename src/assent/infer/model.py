"""Which way do the words of a definition lean, where no rule knows what they mean?"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import resources
from itertools import chain, islice, pairwise
from typing import Any, Final, NamedTuple

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import ELSEWHERE, HERE

_BODY: Final = 2500
_LINES: Final = 20
_OPENING: Final = 40
_WORD = re.compile(r"[a-z]+")
_LETTERS: Final = b"abcdefghijklmnopqrstuvwxyz"
# Whether a character is part of a word, a space, ends a line, or ends a sentence if a space follows.
_SORTS: Final = bytes(
    code if code in _LETTERS else 46 if code in b".!?:" else 10 if code == 10 else 32 if chr(code).isspace() else 45
    for code in range(256)
)
_APART: Final = bytes.maketrans(b".-", b"  ")
# Greek or Cyrillic beside one of ours, or something between two letters that is not seen.
_DISGUISED = re.compile(r"[a-z][\u00ad\u0370-\u052f\u200b-\u200f\u2060-\u2064\ufeff]|[\u0370-\u052f][a-z]")
_ENDINGS: Final = ("ing", "ed", "es", "s")
_STEM: Final = 3
_TOLD: Final = 3
# Where words stand as they are written.
_VERBATIM: Final = ("name", "names", "line", "phrase", "input")
_STEMMED: Final = ("opening", "text")

# A word, or two that follow each other.
Words = str | tuple[str, str]
# For a place, every one that stands there, once.
Traits = Mapping[str, Iterable[Words]]


class WordScore(NamedTuple):
    """How likely it is, by its words, that a tool only reads, and that it loses something."""

    reading: float
    losing: float


class Weights(NamedTuple):
    """What was learnt: where the scales stand when they are empty, and at each place what each word adds.

    A word speaks for reading, for losing something, and has its share of all that is said. `stems` has the stem of each
    form of a word that is known by its stem.
    """

    reading: float
    losing: float
    places: Mapping[str, Mapping[Words, tuple[float, float, float]]]
    stems: Mapping[str, str] | None = None


# Scales that lean nowhere.
SILENT: Final = Weights(0.0, 0.0, {})


def weigh(evidence: ToolFeatures, weights: Weights | None = None) -> WordScore:
    """Add up the words, however many there are."""
    scales = weights or load_weights()
    places = scales.places
    heard = [
        added
        for place, said in list_traits(evidence, scales.stems.get if scales.stems else _stem).items()
        if place in places
        for added in map(places[place].get, said)
        if added
    ]
    reading, losing, share = map(sum, zip(*heard, strict=True)) if heard else (0.0, 0.0, 0.0)
    size = math.sqrt(share) or 1.0
    return WordScore(_likelihood(reading / size + scales.reading), _likelihood(losing / size + scales.losing))


def tell_readers(evidence: ToolFeatures, weights: Weights | None = None) -> str:
    """The words that spoke most for reading; their stems, where none is known as it is written."""
    traits, scales = list_traits(evidence), weights or load_weights()
    heard = _hear(traits, scales, _VERBATIM) or _hear(traits, scales, _STEMMED)
    return ", ".join(sorted(heard, key=lambda words: (-heard[words], words))[:_TOLD])


def _hear(traits: Traits, scales: Weights, places: tuple[str, ...]) -> Mapping[str, float]:
    """What each known word adds for reading, at the place where it adds most."""
    heard: dict[str, float] = {}
    for place in places:
        known = scales.places.get(place, {})
        for words in traits[place]:
            if words in known:
                told = join_words(words)
                heard[told] = max(heard.get(told, -math.inf), known[words][0])
    return heard


def is_foreign(text: str) -> bool:
    """Whether it is said in another language: that has not been learnt."""
    words = frozenset(_WORD.findall(text[:_BODY].lower()))
    return len(words & ELSEWHERE) > len(words & HERE) or not words


def is_disguised(text: str) -> bool:
    """Whether a word is spelt with letters of another language, or with some that are not seen."""
    return _DISGUISED.search(text[:_BODY].lower()) is not None


def list_traits(evidence: ToolFeatures, stem: Callable[[str], Any] | None = None) -> Traits:
    """Every word that is said, by the place where it is said; a `stem` that is given may know none of some."""
    stem = stem or _stem
    lines = _list_lines(evidence.text[:_BODY].lower())
    opening = lines[0][:_OPENING] if lines else []
    name = evidence.name.words
    return {
        "name": dict.fromkeys(name),
        "names": dict.fromkeys(pairwise(name)),
        "named": dict.fromkeys(name[:1]),
        "line": dict.fromkeys(line[0] for line in lines),
        "begins": dict.fromkeys(map(stem, opening[:1])),
        "opening": dict.fromkeys(map(stem, opening)),
        "phrase": dict.fromkeys(pairwise(opening)),
        "text": dict.fromkeys(map(stem, chain.from_iterable(lines))),
        "input": dict.fromkeys(filter(None, "_".join(sorted(evidence.inputs.names)).split("_"))),
        "choice": dict.fromkeys(choice.verb for choice in evidence.inputs.choices),
    }


def _list_lines(text: str) -> list[list[str]]:
    """The words of each line or sentence that has any, as far as they are read; other letters become numbers."""
    sorts = text.encode("ascii", "xmlcharrefreplace").translate(_SORTS).replace(b". ", b"\n")
    lines = map(str.split, sorts.translate(_APART).decode("ascii").split("\n"))
    return list(islice(filter(None, lines), _LINES))


def join_words(words: Words) -> str:
    return words if isinstance(words, str) else " ".join(words)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _STEM:
            return word[: -len(ending)]
    return word


def _likelihood(total: float) -> float:
    return 1 / (1 + math.exp(-max(min(total, 30.0), -30.0)))


@cache
def load_weights() -> Weights:
    """The weights next to the code, read when they are first needed."""
    text = resources.files("assent.infer").joinpath("weights.json").read_text(encoding="utf-8")
    return parse_weights(json.loads(text))


def parse_weights(data: Mapping[str, Mapping[str, list[float]]]) -> Weights:
    """At `rest` stands where the scales are when they are empty, at every other place what the words there add."""
    reading, losing = data["rest"][""]
    places = {
        place: {_parse_words(words): (added[0], added[1], added[2]) for words, added in table.items()}
        for place, table in data.items()
        if place != "rest"
    }
    known = {words for place in ("begins", "opening", "text") for words in data.get(place, ())}
    forms = ((stem + ending, stem) for stem in known for ending in ("", *_ENDINGS))
    return Weights(reading, losing, places, {form: stem for form, stem in forms if _stem(form) == stem})


def _parse_words(text: str) -> Words:
    first, _, second = text.partition(" ")
    return (first, second) if second else first
