"""Values of an entry, stored next to its leaf so that they can be erased.

Each value has its own salt, and all are packed into one blob. The leaf holds salted hashes, so deleting a value and
its salt keeps every proof valid.
"""

import re
import struct
from binascii import b2a_base64 as _base64
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256

import orjson

from assent.audit.verifier import COMMITMENT
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
