"""Encodes an entry as a row of the log, fast enough for every call."""

from binascii import b2a_base64 as _base64
from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from assent.audit.leaf import (
    FACT_RULE,
    FACTS,
    LAST_TIME,
    MOST_TEXT,
    SALT,
    STRICT,
    BadEntry,
    check_head,
    fitting,
    heading_of,
    pack_length,
    why_not,
    written_value,
)
from assent.audit.tiles import LEAF_LIMIT
from assent.audit.verifier import COMMITMENT

_PLAIN = bytes(letter for letter in range(0x21, 0x7F) if letter != 0x5C)


class Sealed(NamedTuple):
    """One row of the log: the leaf and its packed values."""

    leaf: bytes
    values: bytes | None


def seal(
    kind: str,
    at: int,
    facts: Mapping[str, object],
    values: Mapping[str, object],
    randomness: Callable[[int], bytes],
) -> Sealed:
    """Return the row to append, with a commitment and a fresh salt for every value.

    The leaf equals that of `leaf_bytes`, but is assembled from checked parts, because every call waits for it.
    """
    if type(at) is not int or not 0 <= at <= LAST_TIME:
        check_head(kind, at)
    shape, fields = _leaf_template(kind, tuple(values))
    if not fields:
        leaf = shape % (at, _facts_bytes(facts))
        return Sealed(leaf if len(leaf) <= LEAF_LIMIT else fitting(leaf), None)
    pool = randomness(SALT * len(fields))
    if len(pool) != SALT * len(fields):
        raise BadEntry(f"a salt has {SALT} bytes")
    parts: list[Any] = [at]
    packed = b""
    for field, heading, start, end in fields:
        value = values[field]
        record = pool[start:end] + heading + (value if type(value) is bytes else written_value(field, value))
        parts.append(_base64(sha256(COMMITMENT + record).digest(), newline=False))
        packed += pack_length(len(record)) + record
    parts.append(_facts_bytes(facts))
    leaf = shape % tuple(parts)
    return Sealed(leaf if len(leaf) <= LEAF_LIMIT else fitting(leaf), packed)


@lru_cache(maxsize=1024)
def _leaf_template(kind: str, names: tuple[str, ...]) -> tuple[bytes, list[tuple[str, bytes, int, int]]]:
    """Return the leaf template of such an entry and, for each sorted field, its name, the bytes after the salt, and
    the salt's range.
    """
    check_head(kind, 0)
    headings = [heading_of(name) for name in sorted(names)]
    commitments = b",".join(b'"%b":"%%b"' % heading[1:] for heading in headings)
    leaf = b'{"at":%%d,"commitments":{%b},"facts":%%b,"kind":"%b","v":1}' % (commitments, kind.encode())
    places = range(0, SALT * len(names), SALT)
    return leaf, [
        (name, heading, place, place + SALT)
        for name, heading, place in zip(sorted(names), headings, places, strict=True)
    ]


def _facts_bytes(facts: Mapping[str, object]) -> bytes:
    for name in _check_types(tuple(facts), tuple(map(type, facts.values()))):
        _check_rare(facts[name])
    try:
        written = orjson.dumps(facts, option=STRICT)
    except orjson.JSONEncodeError as error:
        raise BadEntry(f"a leaf cannot be written: {error}") from error
    # Text that needs no backslash in JSON needed none before, so checking the JSON is enough.
    if written.translate(None, _PLAIN) or "" in facts.values() or (len(written) > MOST_TEXT and _is_long(facts)):
        raise BadEntry(FACT_RULE)
    return written


@lru_cache(maxsize=1024)
def _check_types(names: tuple[str, ...], kinds: tuple[type, ...]) -> list[str]:
    """Return the names that need a closer check."""
    for name, kind in zip(names, kinds, strict=True):
        if kind is not FACTS.get(name):
            raise BadEntry(why_not(name))
    return [name for name, kind in zip(names, kinds, strict=True) if kind in (list, int)]


def _check_rare(value: object) -> None:
    if isinstance(value, list):
        right = bool(value) and all(type(item) is str and item for item in value)
    else:
        right = isinstance(value, int) and value >= 0
    if not right:
        raise BadEntry(FACT_RULE)


def _is_long(facts: Mapping[str, object]) -> bool:
    texts = [item for value in facts.values() for item in (value if isinstance(value, list) else [value])]
    return any(isinstance(text, str) and len(text) > MOST_TEXT for text in texts)
