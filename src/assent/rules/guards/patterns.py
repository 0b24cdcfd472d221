"""Regular expressions of guards, on an engine whose time is linear in the text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field

from assent.contract.patterns import compile_linear
from assent.rules.guards.text import visible_part

WINDOW = 100_000


def _linear(pattern: str) -> str:
    compile_linear(pattern)
    return pattern


LinearPattern = Annotated[str, Field(min_length=1), AfterValidator(_linear)]


def find_match(pattern: str, text: str) -> bool | None:
    """Whether the pattern is found in the text; None if the text is too long for it."""
    compiled = compile_linear(pattern)
    return bool(compiled.fits(text)) if len(text) <= compiled.longest else None


def find_in_windows(pattern: re.Pattern[str], text: str, overlap: int) -> Iterator[re.Match[str]]:
    """The matches in a text, searched piece by piece: one search of a long text would let no other thread run.

    A match and what the pattern looks at behind it must be shorter than `overlap`.
    """
    done = 0
    for start in range(0, max(1, len(text)), WINDOW):
        for match in pattern.finditer(text, max(start, done), min(len(text), start + WINDOW + overlap)):
            if match.start() >= start + WINDOW:
                break
            done = match.end()
            yield match


def forms_of(text: str) -> tuple[str, ...]:
    """The text as it is, and without invisible characters and compatibility forms if that differs."""
    if text.isascii():
        return (text,)
    plain = unicodedata.normalize("NFKC", visible_part(text))
    return (text, plain) if plain != text else (text,)


def glob_pattern(pattern: str) -> str:
    """The regular expression of a path glob: `*` and `?` stay within a segment, `**` crosses segments."""
    found, at = ["^"], 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            found.append("(?:.*/)?")
            at += 3
        elif pattern.startswith("**", at):
            found.append(".*")
            at += 2
        else:
            found.append({"*": "[^/]*", "?": "[^/]"}.get(pattern[at]) or literal(pattern[at]))
            at += 1
    return "(?s)" + "".join([*found, "$"])


def literal(character: str) -> str:
    """A character as an expression that matches only itself."""
    return "\\" + character if character in r".+*?()[]{}|^$\/-" else character
