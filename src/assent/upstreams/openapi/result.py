"""Turns a successful response into the result of a tool, and shortens it if it is too long."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from assent.upstreams.openapi.http import Answered
from assent.upstreams.openapi.media import is_json, is_ndjson, is_text

TRUNCATED = "dev.assent/truncated"
_LEAST = 16


@dataclass(frozen=True, slots=True)
class ResultLimits:
    """How much of a response is read, how many lines become items, and how long a result may be."""

    body: int = 8 * 1024 * 1024
    items: int = 500
    characters: int = 60_000


class Unreadable(Exception):
    """A successful response that cannot be read; the message says what is wrong with it."""


def shape(
    answered: Answered, bounds: ResultLimits, *, raw: bool = False, fits: Callable[[Any], bool] = lambda _: True
) -> dict[str, Any]:
    """The result of a successful call; raises Unreadable. With `raw`, any JSON response may be lines of JSON."""
    if not answered.body.strip():
        return {"content": [{"type": "text", "text": f"Done: the service answered {answered.status} without content."}]}
    structured, cut = _parse(answered, bounds, raw)
    length = len(orjson.dumps(structured))
    if length > bounds.characters:
        structured, cut = _shorten(structured, bounds.characters)[0], True
    if not cut:
        return result_of(structured)
    marked = {**structured, "truncated": True}
    return {**result_of(marked if fits(marked) else structured), "_meta": {TRUNCATED: {"length": length}}}


def result_of(structured: dict[str, Any]) -> dict[str, Any]:
    """Structured content with its text form."""
    text = orjson.dumps(structured).decode()
    return {"content": [{"type": "text", "text": text}], "structuredContent": structured}


def _parse(answered: Answered, bounds: ResultLimits, raw: bool) -> tuple[dict[str, Any], bool]:
    media = answered.media
    if is_ndjson(media):
        return _items(answered, bounds)
    if is_text(media):
        return {"value": answered.body.decode("utf-8", "replace")}, not answered.whole
    if media and not is_json(media):
        raise Unreadable(f"the service answered with {media[:80]}, where JSON was expected")
    if not answered.whole:
        raise Unreadable(f"the response is longer than {bounds.body} bytes; ask for less")
    try:
        return _wrap(orjson.loads(answered.body)), False
    except orjson.JSONDecodeError:
        if raw and b"\n" in answered.body.strip():
            return _items(answered, bounds)
        raise Unreadable("the service answered with broken JSON") from None


def _wrap(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    return {"items": value, "count": len(value)} if isinstance(value, list) else {"value": value}


def _items(answered: Answered, bounds: ResultLimits) -> tuple[dict[str, Any], bool]:
    """Lines of JSON, counted as far as they were read; every line must be JSON, except a last one that was cut."""
    lines = [line for line in answered.body.split(b"\n") if line.strip()]
    if not answered.whole:
        lines = lines[:-1]
    try:
        items = [orjson.loads(line) for line in lines]
    except orjson.JSONDecodeError:
        raise Unreadable("a line of the response is broken JSON") from None
    cut = not answered.whole or len(items) > bounds.items
    return {"items": items[: bounds.items], "count": len(items)}, cut


def _shorten(value: Any, room: int) -> tuple[Any, int]:
    """Shorten a value to about the given length: lists and texts lose their ends, small parts stay. Returns its
    length too.
    """
    length = len(orjson.dumps(value))
    if length <= room:
        return value, length
    if isinstance(value, str):
        clipped = value[: max(room - 3, 0)] + "…"
        while len(orjson.dumps(clipped)) > max(room, _LEAST):
            clipped = clipped[: len(clipped) // 2] + "…"
        return clipped, len(orjson.dumps(clipped))
    if isinstance(value, list):
        return _shorten_list(value, room)
    if isinstance(value, dict):
        return _shorten_object(value, room)
    return value, length


def _shorten_list(value: list[Any], room: int) -> tuple[list[Any], int]:
    kept: list[Any] = []
    used = 2
    for item in value:
        length = len(orjson.dumps(item)) + 1
        if used + length > room:
            break
        kept.append(item)
        used += length
    if not kept and value and room > _LEAST:
        first, length = _shorten(value[0], room - 3)
        return [first], length + 2
    return kept, used


def _shorten_object(value: dict[str, Any], room: int) -> tuple[dict[str, Any], int]:
    """Give each part the room that smaller ones leave; a part without room is dropped."""
    lengths = {key: len(orjson.dumps(item)) for key, item in value.items()}
    left, waiting, kept = room - 2, len(value), {}
    for key in sorted(value, key=lengths.__getitem__):
        share = left // waiting - len(orjson.dumps(key)) - 2
        waiting -= 1
        if share <= 0:
            continue
        kept[key], length = _shorten(value[key], share)
        left -= length + len(orjson.dumps(key)) + 2
    return {key: kept[key] for key in value if key in kept}, room - left
