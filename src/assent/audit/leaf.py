"""Leaves: the provable part of an audit entry.

A leaf is canonical JSON with facts, which are not personal data, and commitments: one salted hash per value. The
values are stored separately.
"""

from __future__ import annotations

import re
import struct
from binascii import b2a_base64 as _base64
from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

import orjson

from assent.audit.tiles import LEAF_LIMIT
from assent.audit.verifier import COMMITMENT
from assent.contract.digest import NotCanonicalError, canonical

SALT = 16

pack_length = struct.Struct(">I").pack
_FIELD = re.compile(r"[a-z][a-z0-9_]{0,62}")


class BadEntry(ValueError):
    """The entry cannot be written, or differs from what was written."""


@lru_cache(maxsize=256)
def heading_of(field: str) -> bytes:
    if not _FIELD.fullmatch(field):
        raise BadEntry(f"{field!r} is not a field name; use a lower-case letter, then letters, digits and underscores")
    return bytes([len(field)]) + field.encode()


def written_value(field: str, value: object) -> bytes:
    try:
        return orjson.dumps(value) if type(value) is str else canonical(value)
    except (NotCanonicalError, orjson.JSONEncodeError) as error:
        raise BadEntry(f"the value of {field} cannot be recorded: {error}") from error


KINDS = frozenset(
    {
        "intent", "outcome", "event", "read", "rehearsal", "replay", "pause", "denial", "failure",
        "violation", "approval", "decision", "settlement", "definition", "configuration",
        "operator", "authentication", "key", "redaction",
    }
)  # fmt: skip


FACTS: Mapping[str, type] = {
    "claim": str,  # joins intent, outcome and settlement
    "approval": str,  # joins question, decision and intent
    "tool": str,
    "upstream": str,
    "tier": str,
    "risk": str,
    "mode": str,  # live or test
    "would": list,  # what would have stopped the call outside observe mode
    "guards": list,  # what guards did: rule/action, for masks with the number of places
    "contract": str,
    "policy": str,
    "configuration": str,
    "definition": str,
    "before": str,
    "after": str,
    "event": str,
    "state": str,  # state of the claim
    "code": str,
    "epoch": int,
    "again": str,  # why a claim was taken over
    "by": str,  # role whose approval is needed
    "quorum": int,
    "verdict": str,
    "channel": str,
    "max_age": int,  # how old the approver's authentication may be, in seconds
    "acr": list,  # the classes of authentication of which the approver needs one, percent-encoded
    "dry_run": bool,
    "open_world": bool,
    "action": str,
    "count": int,
    "since": int,
    "until": int,
    "entry": int,
    "fields": list,
    "key": str,
    "previous": str,
}
MOST_TEXT = 512
VERSION = 1
LAST_TIME = 253_402_300_799_999  # the end of the year 9999

STRICT = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
FACT_RULE = (
    "a fact is 1 to 512 printable ASCII characters without spaces, quotes and backslashes,"
    " a whole number, true or false"
)


def check_head(kind: str, at: int) -> None:
    if kind not in KINDS:
        raise BadEntry(f"{kind!r} is not a kind of entry; use one of {', '.join(sorted(KINDS))}")
    if type(at) is not int or not 0 <= at <= LAST_TIME:
        raise BadEntry(f"{at!r} is not a time in milliseconds")


def fitting(leaf: bytes) -> bytes:
    if len(leaf) > LEAF_LIMIT:
        raise BadEntry(f"a leaf has at most {LEAF_LIMIT} bytes, this one {len(leaf)}; commit to fewer fields")
    return leaf


def why_not(name: str) -> str:
    if name not in FACTS:
        return f"{name!r} is not a fact of a leaf; record it as a value"
    return f"the fact {name} is of type {FACTS[name].__name__}"


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
    records = [
        pool[start:end] + heading + (value if type(value := values[field]) is bytes else written_value(field, value))
        for field, heading, start, end in fields
    ]
    commitments = [_base64(sha256(COMMITMENT + record).digest(), newline=False) for record in records]
    leaf = shape % (at, *commitments, _facts_bytes(facts))
    packed = b"".join([pack_length(len(record)) + record for record in records])
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
