"""Parses JSON and refuses documents that two parsers could read differently."""

import json
from dataclasses import dataclass
from typing import Any

import orjson

_SAFE_INTEGER = 2**53 - 1


class Malformed(ValueError):
    """The text is not JSON that Assent accepts; the message tells the sender why."""


@dataclass(frozen=True, slots=True)
class JsonLimits:
    """Limits on the size and depth of a document."""

    size: int = 4 * 1024 * 1024
    depth: int = 64


DEFAULT_BOUNDS = JsonLimits()


def parse(text: bytes, bounds: JsonLimits = DEFAULT_BOUNDS) -> Any:
    """Parses one JSON document; raises Malformed for anything two parsers could read differently.

    Refused: duplicate keys, NaN and infinities, lone surrogates, invalid UTF-8, integers beyond
    ±(2**53 - 1), anything larger or deeper than `bounds`.
    """
    if len(text) > bounds.size:
        raise Malformed(f"the document is larger than {bounds.size} bytes")
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise Malformed(f"not valid JSON: {error.msg}") from None
    if not _is_compact_and_plain(text, value, bounds):
        _inspect(text, value, bounds)
    return value


def _is_compact_and_plain(text: bytes, value: Any, bounds: JsonLimits) -> bool:
    """Whether a fast check proves that the slow inspection would find nothing.

    A value that serializes to the same bytes lost no key in parsing, and few brackets cannot nest too deep. The
    writer refuses the same integers as the inspection.
    """
    if text.count(b"{") + text.count(b"[") > bounds.depth:
        return False
    try:
        return orjson.dumps(value, option=orjson.OPT_STRICT_INTEGER) == text
    except TypeError:
        return False


def _inspect(text: bytes, value: Any, bounds: JsonLimits) -> None:
    _check_depth(value, bounds.depth)
    _DECODER.decode(text.decode())


def _check_depth(value: Any, limit: int) -> None:
    level, depth = [value], 0
    while level := [node for node in level if isinstance(node, dict | list)]:
        depth += 1
        if depth > limit:
            raise Malformed(f"nested deeper than {limit} levels")
        level = [child for node in level for child in (node.values() if isinstance(node, dict) else node)]


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object with these members, for the standard library's parser; raises Malformed if a key occurs twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for number, name in enumerate(names) if name in set(names[:number]))
        raise Malformed(f"duplicate key {twice[:64]!r} in an object")
    return found


def _safe_integer(digits: str) -> int:
    # A longer number is always unsafe, so it is never converted.
    number = int(digits) if len(digits) <= 17 else _SAFE_INTEGER + 1
    if not -_SAFE_INTEGER <= number <= _SAFE_INTEGER:
        raise Malformed(f"integer {digits[:24]} is beyond ±(2^53 - 1); send it as a string")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=unique_keys, parse_int=_safe_integer)
