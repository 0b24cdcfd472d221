"""Reads leaves and the values stored beside them, and removes values that are erased."""

from __future__ import annotations

from binascii import b2a_base64 as _base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson

from assent.audit.leaf import (
    FACT_RULE,
    FACTS,
    SALT,
    STRICT,
    VERSION,
    BadEntry,
    check_head,
    fitting,
    heading_of,
    why_not,
    written_value,
)
from assent.audit.verifier import COMMITMENT, LEAF
from assent.core.audit import Entry
from assent.errors import StoreError
from assent.ports import LogEntry


def commit(values: Mapping[str, object], salts: Mapping[str, bytes]) -> dict[str, str]:
    """Return the salted hash of each field."""
    digests = {field: sha256(COMMITMENT + _record(field, values[field], salts[field])).digest() for field in values}
    return {field: _base64(digest, newline=False).decode() for field, digest in digests.items()}


def pack(values: Mapping[str, object], salts: Mapping[str, bytes]) -> bytes | None:
    """Return the blob with the values; None if it is empty."""
    records = [_record(field, values[field], salts[field]) for field in sorted(values)]
    return b"".join([len(record).to_bytes(4, "big") + record for record in records]) or None


def unpack(blob: bytes | None) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Return the values (canonical JSON) and salts of a blob."""
    values: dict[str, bytes] = {}
    salts: dict[str, bytes] = {}
    blob, at = blob or b"", 0
    while at < len(blob):
        end = at + 4 + int.from_bytes(blob[at : at + 4], "big")
        if end > len(blob) or end < at + 4 + SALT + 2:
            raise BadEntry(f"the values are torn at byte {at} of {len(blob)}")
        record, at = blob[at + 4 : end], end
        start = SALT + 1 + record[SALT]
        field = record[SALT + 1 : start].decode("ascii", "replace")
        if start >= len(record):
            raise BadEntry("the values are torn: a field has no value")
        if field in values:
            raise BadEntry(f"the value of {field} is there twice")
        values[field], salts[field] = record[start:], record[:SALT]
    return values, salts


def redact(blob: bytes | None, fields: Iterable[str]) -> bytes | None:
    """Return the blob without the values and salts of these fields."""
    values, salts = unpack(blob)
    gone = set(fields)
    missing = sorted(gone - values.keys())
    if missing:
        raise BadEntry(f"there is no value to erase for {', '.join(missing)}")
    return pack({field: value for field, value in values.items() if field not in gone}, salts)


def _record(field: str, value: object, salt: bytes) -> bytes:
    if len(salt) != SALT:
        raise BadEntry(f"a salt has {SALT} bytes")
    return salt + heading_of(field) + (value if isinstance(value, bytes) else written_value(field, value))


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


def logged(index: int, leaf: bytes, vals: bytes | None) -> LogEntry:
    """Decode an entry; erased values are missing from it."""
    try:
        public, values = orjson.loads(leaf), unpack(vals)[0]
        entry = Entry(
            public["kind"], public["at"] / 1000, public["facts"], {n: orjson.loads(v) for n, v in values.items()}
        )
    except (BadEntry, ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"Entry {index} of the log was altered. Run `assent audit verify` for details: {error}."
        ) from error
    return LogEntry(index, entry)
