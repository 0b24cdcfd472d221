"""Positions of values and definitions in a JSON text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Member:
    """Position of a key and its value; the key is empty in a list."""

    key: str
    begins: int
    named: int
    value: int
    ends: int


def members(text: str, at: int) -> Iterator[Member]:
    """Yield the members of the object, or items of the list, that starts at this position."""
    closing = {"{": "}", "[": "]"}[text[at]]
    place = skip(text, at + 1)
    while text[place] != closing:
        begins = named = place
        key = ""
        if closing == "}":
            key, named = _DECODER.raw_decode(text, place)
            place = skip(text, skip(text, named) + 1)
        value = place
        _, ends = _DECODER.raw_decode(text, value)
        yield Member(key, begins, named, value, ends)
        place = skip(text, ends)
        if text[place] == ",":
            place = skip(text, place + 1)


def skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def definitions_in(text: str) -> list[tuple[int, int]]:
    """Return start and end of each definition, in one document or line by line.

    The result is empty for a text that nests too deeply.
    """
    with suppress(RecursionError):
        return [span for begins, ends in _documents(text) for span in _definitions_between(text, begins, ends)]
    return []


def _documents(text: str) -> Iterator[tuple[int, int]]:
    try:
        json.loads(text)
    except ValueError:
        yield from _lines(text)
    else:
        yield skip(text, 0), len(text.rstrip())


def lines_of_names(text: str) -> Iterator[int]:
    """Yield the line of each definition's name."""
    line, last = 1, 0
    for begins, _ in definitions_in(text):
        at = _value(text, begins, "name") or begins
        line += text.count("\n", last, at)
        last = at
        yield line


def _definitions_between(text: str, begins: int, ends: int) -> list[tuple[int, int]]:
    """Return the items of a list or of a tools/list result, bare or inside a JSON-RPC response, else the value
    itself.
    """
    at = begins
    for key in ("result", "tools"):
        inner = _value(text, at, key)
        at = inner if inner is not None and text[inner] == ("{" if key == "result" else "[") else at
    return [(one.value, one.ends) for one in members(text, at)] if text[at] == "[" else [(begins, ends)]


def _value(text: str, at: int, key: str) -> int | None:
    if text[at] != "{":
        return None
    return next((one.value for one in reversed(list(members(text, at))) if one.key == key), None)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    for line in text.split("\n"):
        stripped = line.strip()
        if stripped:
            begins = at + len(line) - len(line.lstrip())
            yield begins, begins + len(stripped)
        at += len(line) + 1
