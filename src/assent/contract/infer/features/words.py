"""Reads the data files, splits names into words and finds the base form of a word."""

import re
import tomllib
from functools import lru_cache
from importlib import resources
from typing import Any

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_DIGIT = re.compile(r"[0-9]")
_PARTS = re.compile(r"[A-Za-z]+")
_VERSION = re.compile(r"(?:(?<=[a-z0-9])V|(?<![A-Za-z])[vV])\d+(?![A-Za-z0-9])")
# Words that only look like a verb in the third person.
_THINGS = frozenset({"news"})


def read_data(path: str) -> dict[str, Any]:
    """Return the content of a TOML file of this package."""
    return tomllib.loads(resources.files("assent.contract.infer").joinpath(path).read_text(encoding="utf-8"))


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text, for short tables of words in code."""
    return frozenset(text.split())


@lru_cache(maxsize=65536)
def split_name(name: str) -> tuple[str, ...]:
    """Split an identifier into lower-case words, without versions and numbers."""
    if name.islower() and not _DIGIT.search(name):
        return tuple(_PARTS.findall(name))
    spaced = _HUMP.sub(" ", _VERSION.sub(" ", name))
    return tuple(word.lower() for word in _PARTS.findall(spaced))


@lru_cache(maxsize=65536)
def plain_forms(word: str) -> tuple[str, ...]:
    """Return the possible base forms of a verb, most likely first."""
    if word in _THINGS:
        return (word,)
    forms = [word]
    if word.endswith("ies") and len(word) > 4:
        forms.append(word[:-3] + "y")
    elif word.endswith("es") and len(word) > 4:
        forms += [word[:-1], word[:-2]]
    elif word.endswith("s") and not word.endswith("ss") and len(word) > 3:
        forms.append(word[:-1])
    elif word.endswith("ing") and len(word) > 5:
        stem = word[:-3]
        forms += [stem, stem + "e"]
        if len(stem) > 3 and stem[-1] == stem[-2]:
            forms.append(stem[:-1])
    return tuple(forms)
