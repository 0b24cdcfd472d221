"""Leaves: the provable part of an audit entry.

A leaf is canonical JSON with facts, which are not personal data, and commitments: one salted hash per value. The
values are stored separately.
"""

from __future__ import annotations

import re
import struct
from binascii import b2a_base64 as _base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from assent.audit.tiles import LEAF_LIMIT
from assent.audit.verifier import COMMITMENT, LEAF
from assent.contract.digest import NotCanonicalError, canonical

SALT = 16

pack_length = struct.Struct(">I").pack
_FIELD = re.compile(r"[a-z][a-z0-9_]{0,62}")


class BadEntry(ValueError):
    """The entry cannot be written, or differs from what was written."""


def commit(values: Mapping[str, object], salts: Mapping[str, bytes]) -> dict[str, str]:
    """Return the salted hash of each field."""
    return {field: _commitment(_record(field, values[field], salts[field])) for field in values}


def pack(values: Mapping[str, object], salts: Mapping[str, bytes]) -> bytes | None:
    """Return the blob with the values; None if it is empty."""
    return _frame([_record(field, values[field], salts[field]) for field in sorted(values)])


def unpack(blob: bytes | None) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Return the values (canonical JSON) and salts of a blob."""
    values: dict[str, bytes] = {}
    salts: dict[str, bytes] = {}
    for record in records_of(blob):
        field, start = field_of(record)
        if field in values:
            raise BadEntry(f"the value of {field} is there twice")
        values[field], salts[field] = record[start:], record[:SALT]
    return values, salts


def records_of(blob: bytes | None) -> list[bytes]:
    records, at = [], 0
    blob = blob or b""
    while at < len(blob):
        end = at + 4 + int.from_bytes(blob[at : at + 4], "big")
        if end > len(blob) or end < at + 4 + SALT + 2:
            raise BadEntry(f"the values are torn at byte {at} of {len(blob)}")
        records.append(blob[at + 4 : end])
        at = end
    return records


def field_of(record: bytes) -> tuple[str, int]:
    """Return the field of a record and the position of its value."""
    start = SALT + 1 + record[SALT]
    field = record[SALT + 1 : start].decode("ascii", "replace")
    if start >= len(record):
        raise BadEntry("the values are torn: a field has no value")
    return field, start


def redact(blob: bytes | None, fields: Iterable[str]) -> bytes | None:
    """Return the blob without the values and salts of these fields."""
    values, salts = unpack(blob)
    gone = set(fields)
    missing = sorted(gone - values.keys())
    if missing:
        raise BadEntry(f"there is no value to erase for {', '.join(missing)}")
    return pack({field: value for field, value in values.items() if field not in gone}, salts)


@lru_cache(maxsize=256)
def heading_of(field: str) -> bytes:
    if not _FIELD.fullmatch(field):
        raise BadEntry(f"{field!r} is not a field name; use a lower-case letter, then letters, digits and underscores")
    return bytes([len(field)]) + field.encode()


def _record(field: str, value: object, salt: bytes) -> bytes:
    if len(salt) != SALT:
        raise BadEntry(f"a salt has {SALT} bytes")
    return salt + heading_of(field) + (value if isinstance(value, bytes) else written_value(field, value))


def written_value(field: str, value: object) -> bytes:
    try:
        return orjson.dumps(value) if type(value) is str else canonical(value)
    except (NotCanonicalError, orjson.JSONEncodeError) as error:
        raise BadEntry(f"the value of {field} cannot be recorded: {error}") from error


def _commitment(record: bytes) -> str:
    return _base64(sha256(COMMITMENT + record).digest(), newline=False).decode()


def _frame(records: list[bytes]) -> bytes | None:
    return b"".join([len(record).to_bytes(4, "big") + record for record in records]) or None


KINDS = frozenset(
    {
        "intent",
        "outcome",
        "event",
        "read",
        "rehearsal",
        "replay",
        "pause",
        "denial",
        "failure",
        "violation",
        "approval",
        "decision",
        "settlement",
        "definition",
        "configuration",
        "operator",
        "authentication",
        "key",
        "redaction",
    }
)


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


@dataclass(frozen=True, slots=True)
class Leaf:
    """A parsed leaf."""

    kind: str
    at: int
    facts: Mapping[str, Any]
    commitments: Mapping[str, str]


def leaf_bytes(kind: str, at: int, facts: Mapping[str, object], commitments: Mapping[str, str]) -> bytes:
    """Return the canonical leaf; `at` is in milliseconds since 1970."""
    check_head(kind, at)
    body = {"at": at, "commitments": commitments, "facts": facts, "kind": kind, "v": VERSION}
    try:
        leaf = orjson.dumps(body, option=STRICT)
    except orjson.JSONEncodeError as error:
        raise BadEntry(f"a leaf cannot be written: {error}") from error
    for name, value in facts.items():
        if type(value) is not FACTS.get(name):
            raise BadEntry(why_not(name))
    if not LEAF.fullmatch(leaf):
        raise BadEntry(f"{FACT_RULE}; a commitment is the base64 of 32 bytes")
    return fitting(leaf)


def check_head(kind: str, at: int) -> None:
    if kind not in KINDS:
        raise BadEntry(f"{kind!r} is not a kind of entry; use one of {', '.join(sorted(KINDS))}")
    if type(at) is not int or not 0 <= at <= LAST_TIME:
        raise BadEntry(f"{at!r} is not a time in milliseconds")


def fitting(leaf: bytes) -> bytes:
    if len(leaf) > LEAF_LIMIT:
        raise BadEntry(f"a leaf has at most {LEAF_LIMIT} bytes, this one {len(leaf)}; commit to fewer fields")
    return leaf


def erased_by(leaves: Iterable[bytes]) -> set[tuple[int, str]]:
    """Return the entries and fields that these leaves declare erased."""
    found: set[tuple[int, str]] = set()
    for leaf in leaves:
        if leaf.endswith(b'"kind":"redaction","v":1}') and LEAF.fullmatch(leaf):
            facts = orjson.loads(leaf)["facts"]
            entry, names = facts.get("entry"), facts.get("fields")
            found |= {(entry, name) for name in names} if type(entry) is int and type(names) is list else set()
    return found


def parse_leaf(leaf: bytes) -> Leaf:
    try:
        body = orjson.loads(leaf)
        parsed = Leaf(body["kind"], body["at"], body["facts"], body["commitments"])
        again = leaf_bytes(parsed.kind, parsed.at, parsed.facts, parsed.commitments)
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise BadEntry("a leaf is canonical JSON with at, commitments, facts, kind and v") from error
    if again != leaf:
        raise BadEntry("a leaf is canonical JSON with at, commitments, facts, kind and v, and nothing else")
    return parsed


def check(leaf: bytes, values: Mapping[str, object], salts: Mapping[str, bytes]) -> list[str]:
    """Return the fields whose value does not match its commitment; missing values are skipped."""
    commitments = parse_leaf(leaf).commitments
    return sorted(
        field
        for field in values
        if field not in salts or commit({field: values[field]}, salts)[field] != commitments.get(field)
    )


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
