"""Reads a text as people and programs read it, so that a disguise does not change what a guard finds."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable
from functools import lru_cache

from assent.core.deceptive_characters import BLANK, twin_of

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_ATTACHED = frozenset({"Mn", "Me", "Mc", "Co"})
_DRAWN = re.compile(
    r"(?:NEGATIVE CIRCLED LATIN CAPITAL LETTER|NEGATIVE SQUARED LATIN CAPITAL LETTER|REGIONAL INDICATOR SYMBOL LETTER"
    r"|(?:PARENTHESIZED|TAG) LATIN (?:SMALL|CAPITAL) LETTER|LATIN LETTER SMALL CAPITAL"
    r"|LATIN (?:SMALL|CAPITAL) LETTER(?: TURNED)?(?= [A-Z](?: WITH .*)?\Z)) ([A-Z])(?: WITH .*)?"
)
_USUAL = frozenset(map(chr, range(128))).difference(string.ascii_uppercase)
_GAP = re.compile(r"\s+")


def fold(text: str) -> str:
    """The text as a person reads it: compatibility forms and case folded, invisible characters dropped, gaps as one
    space.
    """
    if text.isascii():
        return _with_spaces(text.lower())
    seen = _each(text, lambda c: "" if c in BLANK else c)  # Normalising would turn some of them into others.
    normal = unicodedata.normalize("NFKC", seen)
    return _with_spaces(_each(normal, lambda c: "" if unicodedata.category(c) in ("Cf", "Mn") else c).casefold())


def _with_spaces(text: str) -> str:
    """The text with each gap as one space."""
    return text if text.isprintable() and "  " not in text else _GAP.sub(" ", text)


def _each(text: str, change: Callable[[str], str]) -> str:
    """The text with each of its unusual characters changed."""
    changed = {ord(c): new for c in set(text).difference(_USUAL) if (new := change(c)) != c}
    return text.translate(changed) if changed else text


def readings(text: str) -> tuple[str, ...]:
    """The text as a person reads it, and as a program reads it that drops control characters and line ends."""
    if text.isalnum() and text.isascii():
        return (text.lower(),)
    if not CONTROL.search(text):
        return (fold(text),)
    return fold(CONTROL.sub(" ", text)), fold(CONTROL.sub("", text))


def skeleton(text: str) -> str:
    """The folded text without accents, and with ASCII letters for those that look like them: a Cyrillic `а` is `a`."""
    plain = fold(text if text.isascii() else _each(text, _drawn_letter))
    if plain.isascii():
        return plain
    bare = _each(unicodedata.normalize("NFKD", plain), lambda c: "" if unicodedata.category(c) in _ATTACHED else c)
    return _each(bare, _plain_letter)


def name_key(text: str) -> str:
    """A name as a lenient program compares it: folded, without gaps at its ends and control characters."""
    return fold(CONTROL.sub("", text) if CONTROL.search(text) else text).strip()


@lru_cache(4096)
def _drawn_letter(character: str) -> str:
    """The ASCII letter that a letter in a circle, square, bracket, flag or tag, or with a stroke, shows."""
    found = _DRAWN.fullmatch(unicodedata.name(character, "")) if not character.isascii() else None
    return found[1].lower() if found is not None else character


@lru_cache(4096)
def _plain_letter(character: str) -> str:
    return (twin_of(character) or character).lower()


def visible_part(text: str) -> str:
    """The text without characters that draw nothing; other characters keep their form."""
    if text.isascii():
        return text
    return "".join(c for c in text if c not in BLANK and unicodedata.category(c) != "Cf")
