"""What do we know about a word?"""

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Final

from assent.infer.words import plain_forms


def _load() -> Mapping[str, Mapping[str, frozenset[str]]]:
    text = resources.files("assent.infer").joinpath("lexicon.toml").read_text(encoding="utf-8")
    return {
        table: {key: frozenset(words.split()) for key, words in rows.items()}
        for table, rows in tomllib.loads(text).items()
    }


def _with_prefixes(verbs: Mapping[str, str]) -> Mapping[str, str]:
    """`uncomplete` and `recheck` mean what their stems mean, undone or done again."""
    derived = {
        prefix + verb: "change" if kind in {"add", "change"} else kind
        for verb, kind in verbs.items()
        for prefix, kinds in _PREFIXES.items()
        if kind in kinds and len(verb) > 3
    }
    return {**derived, **verbs}


_PREFIXES: Final = {"un": {"add", "change"}, "re": {"add", "change", "look"}}
_LEXICON: Final = _load()
VERBS: Final[Mapping[str, str]] = _with_prefixes(
    {verb: kind for kind, verbs in _LEXICON["verbs"].items() for verb in verbs}
)
NOUNS: Final = _LEXICON["nouns"]
NOUN_TOO: Final = _LEXICON["grammar"]["noun_too"]
NOUN_FIRST: Final = _LEXICON["grammar"]["noun_first"]
FILLER: Final = _LEXICON["grammar"]["filler"]
DETERMINER: Final = _LEXICON["grammar"]["determiner"]
CONJUNCTION: Final = _LEXICON["grammar"]["conjunction"]


def verb_class(word: str) -> str | None:
    """The class of a verb in its plain form."""
    return VERBS.get(word)


@lru_cache(maxsize=65536)
def find_verb(word: str) -> str | None:
    """The plain form of an inflected verb we know."""
    for form in plain_forms(word):
        if form in VERBS:
            return form
    return None


def is_thing(word: str) -> bool:
    """Whether the word can stand for a thing as well."""
    return word in NOUN_TOO
