"""How is one value of a JSON text changed with everything else left as it stands?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from assent.lint.change import Change

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Member:
    """Where a key and its value stand; in a list the key is empty."""

    key: str
    begins: int
    named: int
    value: int
    ends: int


def edited(text: str, change: Change) -> str:
    """The text of one object with the change made; raises ValueError or KeyError where the place is not there."""
    at = _skip(text, 0)
    for key in change.path[:-1]:
        at = _find(text, at, key).value
    last = change.path[-1]
    if change.deed == "rename":
        found = _find(text, at, last)
        return text[: found.begins] + json.dumps(change.value, ensure_ascii=False) + text[found.named :]
    if change.deed == "remove":
        return _without(text, list(members(text, at)), last)
    held = list(members(text, at))
    known = [one for one in held if one.key == last]
    if known:
        return text[: known[-1].value] + _written(change.value, text, known[-1]) + text[known[-1].ends :]
    return _with(text, at, held, last, change.value)


def members(text: str, at: int) -> Iterator[Member]:
    """The members of the object, or the items of the list, that begins at this place."""
    closing = {"{": "}", "[": "]"}[text[at]]
    place = _skip(text, at + 1)
    while text[place] != closing:
        begins = named = place
        key = ""
        if closing == "}":
            key, named = _DECODER.raw_decode(text, place)
            place = _skip(text, _skip(text, named) + 1)
        value = place
        _, ends = _DECODER.raw_decode(text, value)
        yield Member(key, begins, named, value, ends)
        place = _skip(text, ends)
        if text[place] == ",":
            place = _skip(text, place + 1)


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _find(text: str, at: int, key: str) -> Member:
    found = [one for one in members(text, at) if one.key == key]
    if not found:
        raise KeyError(key)
    return found[-1]


def _without(text: str, held: list[Member], key: str) -> str:
    index = [one.key for one in held].index(key)
    if index + 1 < len(held):
        return text[: held[index].begins] + text[held[index + 1].begins :]
    if index:
        return text[: held[index - 1].ends] + text[held[index].ends :]
    return text[: held[index].begins] + text[held[index].ends :]


def _with(text: str, at: int, held: list[Member], key: str, value: Any) -> str:
    """A member after the last one, spaced as that one is."""
    name = json.dumps(key, ensure_ascii=False)
    if not held:
        return f"{text[: at + 1]}{name}: {json.dumps(value, ensure_ascii=False)}{text[at + 1 :]}"
    last = held[-1]
    before = text[held[-2].ends : last.begins].lstrip(" \t\r\n").removeprefix(",") if len(held) > 1 else None
    space = before if before is not None else text[at + 1 : last.begins] or " "
    colon = text[last.named : last.value]
    return f"{text[: last.ends]},{space}{name}{colon}{_written(value, text, last)}{text[last.ends :]}"


def _written(value: Any, text: str, beside: Member) -> str:
    compact = text[beside.named : beside.value] == ":"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":") if compact else None)
