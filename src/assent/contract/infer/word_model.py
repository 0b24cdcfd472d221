"""Bag-of-words logistic regression, used when the rules are unsure (ADR 0035)."""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import resources
from itertools import chain, islice, pairwise
from typing import Any, Final, NamedTuple

from assent.contract.infer.features.tool import ToolFeatures
from assent.contract.infer.lexicon import ENGLISH, OTHER_LANGUAGES

_BODY: Final = 2500
_LINES: Final = 20
_OPENING: Final = 40
_WORD = re.compile(r"[a-z]+")
_LETTERS: Final = b"abcdefghijklmnopqrstuvwxyz"
# Per character: part of a word, space, end of line, or end of sentence when a space follows.
_CHARACTER_CLASSES: Final = bytes(
    code if code in _LETTERS else 46 if code in b".!?:" else 10 if code == 10 else 32 if chr(code).isspace() else 45
    for code in range(256)
)
_APART: Final = bytes.maketrans(b".-", b"  ")
# A Greek or Cyrillic letter next to a Latin one, or an invisible character between two letters.
_DISGUISED = re.compile(r"[a-z][\u00ad\u0370-\u052f\u200b-\u200f\u2060-\u2064\ufeff]|[\u0370-\u052f][a-z]")
_ENDINGS: Final = ("ing", "ed", "es", "s")
_STEM: Final = 3
_TOLD: Final = 3
# Places whose words are used unstemmed.
_VERBATIM: Final = ("name", "names", "line", "phrase", "input")
_STEMMED: Final = ("opening", "text")

# One word or two adjacent words.
WordOrPair = str | tuple[str, str]
# Per place: each word that occurs there, once.
Traits = Mapping[str, Iterable[WordOrPair]]


class WordScore(NamedTuple):
    """Probabilities that a tool is read-only and that it is destructive."""

    reading: float
    losing: float


class Weights(NamedTuple):
    """Trained model: the biases, and per place the weight of each word.

    A word has a weight for read-only, a weight for destructive, and its share of all words. `stems` maps each form of a
    word to its stem.
    """

    reading: float
    losing: float
    places: Mapping[str, Mapping[WordOrPair, tuple[float, float, float]]]
    stems: Mapping[str, str] | None = None


# Empty model: no words, zero bias.
SILENT: Final = Weights(0.0, 0.0, {})


def weigh(tool: ToolFeatures, weights: Weights | None = None) -> WordScore:
    """Return the probabilities for a tool."""
    scales = weights or load_weights()
    places = scales.places
    heard = [
        added
        for place, said in list_traits(tool, scales.stems.get if scales.stems else _stem).items()
        if place in places
        for added in map(places[place].get, said)
        if added
    ]
    reading, losing, share = map(sum, zip(*heard, strict=True)) if heard else (0.0, 0.0, 0.0)
    size = math.sqrt(share) or 1.0
    return WordScore(_likelihood(reading / size + scales.reading), _likelihood(losing / size + scales.losing))


def tell_readers(tool: ToolFeatures, weights: Weights | None = None) -> str:
    """Return the words with the largest weight for read-only, as written or else as stems."""
    traits, scales = list_traits(tool), weights or load_weights()
    heard = _word_contributions(traits, scales, _VERBATIM) or _word_contributions(traits, scales, _STEMMED)
    return ", ".join(sorted(heard, key=lambda words: (-heard[words], words))[:_TOLD])


def _word_contributions(traits: Traits, scales: Weights, places: tuple[str, ...]) -> Mapping[str, float]:
    """Return each known word's weight for read-only, at the place where it is largest."""
    heard: dict[str, float] = {}
    for place in places:
        known = scales.places.get(place, {})
        for words in traits[place]:
            if words in known:
                told = join_words(words)
                heard[told] = max(heard.get(told, -math.inf), known[words][0])
    return heard


def is_foreign(text: str) -> bool:
    """Whether the text is in a language that the model was not trained on."""
    words = frozenset(_WORD.findall(text[:_BODY].lower()))
    return len(words & OTHER_LANGUAGES) > len(words & ENGLISH) or not words


def is_disguised(text: str) -> bool:
    """Whether a word contains letters of another script or invisible characters."""
    return _DISGUISED.search(text[:_BODY].lower()) is not None


def list_traits(tool: ToolFeatures, stem: Callable[[str], Any] | None = None) -> Traits:
    """Return every word by the place where it occurs; `stem` may return nothing for a word."""
    stem = stem or _stem
    lines = _list_lines(tool.description[:_BODY].lower())
    opening = lines[0][:_OPENING] if lines else []
    name = tool.name.words
    return {
        "name": dict.fromkeys(name),
        "names": dict.fromkeys(pairwise(name)),
        "named": dict.fromkeys(name[:1]),
        "line": dict.fromkeys(line[0] for line in lines),
        "begins": dict.fromkeys(map(stem, opening[:1])),
        "opening": dict.fromkeys(map(stem, opening)),
        "phrase": dict.fromkeys(pairwise(opening)),
        "text": dict.fromkeys(map(stem, chain.from_iterable(lines))),
        "input": dict.fromkeys(filter(None, "_".join(sorted(tool.params)).split("_"))),
        "choice": dict.fromkeys(choice.verb for choice in tool.parameters.choices),
    }


def _list_lines(text: str) -> list[list[str]]:
    """Return the words of each line or sentence, up to the length limit; other letters become numbers."""
    sorts = text.encode("ascii", "xmlcharrefreplace").translate(_CHARACTER_CLASSES).replace(b". ", b"\n")
    lines = map(str.split, sorts.translate(_APART).decode("ascii").split("\n"))
    return list(islice(filter(None, lines), _LINES))


def join_words(words: WordOrPair) -> str:
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
    """Load the shipped weights at first use."""
    text = resources.files("assent.contract.infer").joinpath("weights.json").read_text(encoding="utf-8")
    return parse_weights(json.loads(text))


def parse_weights(data: Mapping[str, Mapping[str, list[float]]]) -> Weights:
    """Parse weights: `rest` has the biases, every other place has the weights of its words."""
    reading, losing = data["rest"][""]
    places = {
        place: {_parse_words(words): (added[0], added[1], added[2]) for words, added in table.items()}
        for place, table in data.items()
        if place != "rest"
    }
    known = {words for place in ("begins", "opening", "text") for words in data.get(place, ())}
    forms = ((stem + ending, stem) for stem in known for ending in ("", *_ENDINGS))
    return Weights(reading, losing, places, {form: stem for form, stem in forms if _stem(form) == stem})


def _parse_words(text: str) -> WordOrPair:
    first, _, second = text.partition(" ")
    return (first, second) if second else first
