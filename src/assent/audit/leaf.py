"""Leaves: the provable part of an audit entry.

A leaf is canonical JSON with facts, which are not personal data, and commitments: one salted hash per value. The
values are stored separately.
"""

import re
import struct
from binascii import b2a_base64 as _base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

import orjson

from assent.audit.leaf_values import DOMAIN, SALT, BadEntry, commit, unpack_length
from assent.audit.tiles import LEAF_LIMIT

KINDS = frozenset(
    {
        "intent",
        "outcome",
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
_TEXT = rb'"[!#-\[\]-~]{1,512}"'
_FACT = rb'"[a-z_]++":(?:' + _TEXT + rb"|0|[1-9]\d{0,15}|true|false|\[" + _TEXT + rb"(?:," + _TEXT + rb")*+\])"
_COMMITMENT = rb'"[a-z][a-z0-9_]{0,62}":"[A-Za-z0-9+/]{43}="'
_REST = rb'\},"facts":\{((?:%s(?:,%s)*+)?)\},"kind":"[a-z]++","v":1\}' % (_FACT, _FACT)
_AFTER = re.compile(_REST)
_NAMES = re.compile(rb'"([a-z_]++)":')
_LEAF = re.compile(rb'\{"at":(?:0|[1-9]\d{0,14}),"commitments":\{(?:%s(?:,%s)*+)?' % (_COMMITMENT, _COMMITMENT) + _REST)
_FIELD_BYTES = re.compile(rb"[a-z][a-z0-9_]{0,62}")
_CLAIM = b'},"facts":{"claim":"'
_USUAL = 19  # end of a time with thirteen digits
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
    if not _LEAF.fullmatch(leaf):
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


def agree(leaf: bytes, blob: bytes | None) -> bool:
    """Whether a leaf with a thirteen-digit time is valid and its values match all commitments.

    Fast check without parsing the leaf as JSON; a doubtful leaf returns False and goes to the full check.
    """
    if not blob:
        return leaf.startswith(b',"commitments":{},', _USUAL) and _has_valid_tail(leaf, _USUAL + 16)
    names, digests, at, end = [], [], 0, len(blob)
    try:
        while at < end:
            start = at + 4
            at = start + unpack_length(blob, at)[0]
            record = blob[start:at]
            names.append(record[SALT + 1 : SALT + 1 + record[SALT]])
            digests.append(_base64(sha256(DOMAIN + record).digest(), newline=False))
    except (struct.error, IndexError):
        return False
    shape = _commitments_to(tuple(names))
    head = shape % tuple(digests) if shape else b""
    return at == end and head != b"" and leaf.startswith(head, _USUAL) and _has_valid_tail(leaf, _USUAL + len(head))


@lru_cache(maxsize=1024)
def _commitments_to(names: tuple[bytes, ...]) -> bytes:
    """Return the bytes of a leaf with these fields after its time, commitments left open; empty if impossible."""
    if list(names) != sorted(set(names)) or not all(map(_FIELD_BYTES.fullmatch, names)):
        return b""
    return b',"commitments":{' + b",".join(b'"%b":"%%b"' % name for name in names)


def _has_valid_tail(leaf: bytes, at: int) -> bool:
    """Whether valid facts and kind follow; the cache ignores the claim, which differs in most leaves."""
    if leaf.startswith(_CLAIM, at):
        cut = leaf.find(b'"', at + len(_CLAIM))
        claim = leaf[at + len(_CLAIM) : cut]
        if claim.isalnum() and len(claim) <= MOST_TEXT:
            return _ends_leaf(leaf[cut:])
    return _matches_tail(leaf, at)


@lru_cache(maxsize=4096)
def _ends_leaf(rest: bytes) -> bool:
    return _matches_tail(_CLAIM + b"c" + rest)


def _matches_tail(leaf: bytes, at: int = 0) -> bool:
    """Whether valid facts and kind follow, each fact once and in order."""
    match = _AFTER.fullmatch(leaf, at)
    names = _NAMES.findall(match[1]) if match else []
    return match is not None and names == sorted(set(names))


def read_leaf(leaf: bytes) -> dict[str, Any]:
    """Parse a leaf; unknown facts and kinds are allowed, because a newer version may know them."""
    if _LEAF.fullmatch(leaf) is None:
        raise BadEntry("a leaf is canonical JSON with at, commitments, facts, kind and v, and nothing else")
    body: dict[str, Any] = orjson.loads(leaf)
    if orjson.dumps(body, option=orjson.OPT_SORT_KEYS) != leaf:
        raise BadEntry("a leaf has each of its names once, and in their order")
    return body


def erased_by(leaves: Iterable[bytes]) -> set[tuple[int, str]]:
    """Return the entries and fields that these leaves declare erased."""
    found: set[tuple[int, str]] = set()
    for leaf in leaves:
        if leaf.endswith(b'"kind":"redaction","v":1}') and _LEAF.fullmatch(leaf):
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
