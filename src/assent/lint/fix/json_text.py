"""Edits one value of a JSON text and leaves the rest unchanged."""

from __future__ import annotations

import json
from typing import Any

from assent.lint.edit import Edit
from assent.lint.json_positions import Member, members, skip


def edited(text: str, change: Edit) -> str:
    """Return the text of one object after the edit; raise ValueError or KeyError if the place is missing."""
    at = skip(text, 0)
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
    """Add a member after the last one, with the same spacing."""
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
