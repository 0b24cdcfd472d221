"""Lexicon: word classes loaded from the data file."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from assent.contract.infer.features.words import plain_forms, read_data, word_set

WordGroups = Mapping[str, frozenset[str]]

_PREFIXES: Final[WordGroups] = {"un": frozenset({"add", "change"}), "re": frozenset({"add", "change", "look"})}


def _load() -> Mapping[str, WordGroups]:
    return {
        table: {key: frozenset(words.split()) for key, words in rows.items()}
        for table, rows in read_data("lexicon.toml").items()
    }


def _with_prefixes(verbs: Mapping[str, str]) -> Mapping[str, str]:
    """Add the prefixed forms: `uncomplete` and `recalculate` always change something."""
    derived = {
        prefix + verb: "change"
        for verb, kind in verbs.items()
        for prefix, kinds in _PREFIXES.items()
        if kind in kinds and len(verb) > 3
    }
    return {**derived, **verbs}


_LEXICON: Final = _load()
VERBS: Final = _with_prefixes({verb: kind for kind, verbs in _LEXICON["verbs"].items() for verb in verbs})
# Named groups of verbs and nouns, which rules refer to.
VERB_GROUPS: Final = _LEXICON["verb_groups"]
# Per verb: the class that it has next to certain words, and these words.
OTHER_CLASS: Final = {key.split()[0]: (key.split()[1], words) for key, words in _LEXICON["other_class"].items()}
# Per ambiguous word: the words after which both form one noun, such as `pull request`.
COMPOUNDS: Final = _LEXICON["compounds"]
# Agent nouns and their verb, such as `reader` and `read`.
AGENTS: Final = {word: verb for verb, words in _LEXICON["agents"].items() for word in words}
SPENDING: Final = _LEXICON["spending"]
LOSING: Final = _LEXICON["losing"]
NOUNS: Final = _LEXICON["nouns"]
INPUTS: Final = _LEXICON["inputs"]
NOUN_TOO: Final = _LEXICON["grammar"]["noun_too"]
NOUN_FIRST: Final = _LEXICON["grammar"]["noun_first"]
FILLER: Final = _LEXICON["grammar"]["filler"]
DETERMINER: Final = _LEXICON["grammar"]["determiner"]
CONJUNCTION: Final = _LEXICON["grammar"]["conjunction"]
PREPOSITION: Final = _LEXICON["grammar"]["preposition"]
# The most frequent words of English, and of other languages.
ENGLISH: Final = _LEXICON["grammar"]["english"]
OTHER_LANGUAGES: Final = _LEXICON["grammar"]["other_languages"]

# Groups of verb classes.
READING: Final = frozenset({"read", "look"})
ACTING: Final = word_set("add change destroy send share spend drive")
MIXED: Final = ACTING | {"manage", "run"}
# Classes that say little about the action, so that the description decides.
VAGUE: Final = word_set("none noun manage run look read session")
# Classes whose effect cannot be taken back.
GRAVE: Final = frozenset({"destroy", "send", "spend", "drive"})
VERB_CLASSES: Final[WordGroups] = {"reading": READING, "acting": ACTING, "mixed": MIXED, "vague": VAGUE, "grave": GRAVE}


@lru_cache(maxsize=65536)
def find_verb(word: str) -> str | None:
    """Return the base form of a known inflected verb, or None."""
    form = next((form for form in plain_forms(word) if form in VERBS), None)
    return form if form is not None and VERBS[form] != "noun" else None
