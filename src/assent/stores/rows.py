"""Converts records to database rows and back."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import orjson

from assent.audit.leaf import BadEntry, unpack
from assent.audit.leaf_encoder import Sealed, seal
from assent.core.approval import Approval, Decision
from assent.core.audit import Entry
from assent.core.claims import ClaimRecord, State
from assent.core.keys import KeyRecord
from assent.core.principal import Principal
from assent.errors import StoreError
from assent.ports import LogEntry
from assent.stores.ids import randomness

_LETTERS = "!#$&'()*+,/:;<=>?@[]^_`{|}~-."


def entry_row(entry: Entry) -> Sealed:
    """Encode an entry as soon as it is handed over, so that later changes cannot reach it and a bad entry fails
    alone.
    """
    at = round(entry.at * 1000)
    try:
        return seal(entry.kind, at, entry.facts, entry.values, randomness)
    except BadEntry:
        return _seal_encoded(entry, at)


def _seal_encoded(entry: Entry, at: int) -> Sealed:
    """Encode an entry whose facts hold characters that a leaf may not contain, such as a server's unusual tool
    names.
    """
    facts = {name: _percent_encode(value) for name, value in entry.facts.items()}
    try:
        return seal(entry.kind, at, facts, entry.values, randomness)
    except (BadEntry, TypeError) as error:
        raise StoreError(f"The audit entry cannot be encoded: {error}.") from error


def _percent_encode(value: Any) -> Any:
    """Percent-encode all but simple ASCII characters of a text."""
    return quote(value, safe=_LETTERS, errors="surrogatepass")[:512] if isinstance(value, str) else value


def entry_rows(entries: Sequence[Entry]) -> list[Sealed]:
    return [entry_row(entry) for entry in entries]


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


def claim_row(record: ClaimRecord) -> tuple[Any, ...]:
    """All fields in order, with the state's name and the packed charges."""
    return (*record[:7], record.state._value_, *record[8:15], _charges_column(record) if record.charges else None)


def start_row(record: ClaimRecord) -> tuple[Any, ...]:
    """A claim that has not ended yet."""
    return (*record[:7], record.state._value_, *record[8:12], _charges_column(record) if record.charges else None)


def move_row(record: ClaimRecord, before: ClaimRecord) -> tuple[Any, ...]:
    """The fields that change between a claim's start and its end, then its id and the epoch and state it must have."""
    return (
        record.state._value_,
        record.epoch,
        record.lease_until,
        record.valid_until,
        record.settled_at,
        record.result,
        _charges_column(record) if record.charges else None,
        record.id,
        before.epoch,
        before.state._value_,
    )


def _charges_column(record: ClaimRecord) -> bytes:
    return to_json([[name, str(amount)] for name, amount in record.charges])


def claim_of(row: Sequence[Any]) -> ClaimRecord:
    charges = tuple((name, Decimal(amount)) for name, amount in orjson.loads(row[15])) if row[15] else ()
    return ClaimRecord._make((*row[:7], State(row[7]), *row[8:15], charges))


def approval_row(approval: Approval) -> tuple[Any, ...]:
    return (
        approval.id,
        approval.binding,
        approval.tenant,
        approval.requester,
        approval.tool,
        approval.by,
        approval.quorum,
        approval.text,
        to_json(approval.facts),
        approval.asked_at,
        approval.expires_at,
        approval.lasts,
        approval.uses,
        approval.used,
        decisions_column(approval),
        None if approval.details is None else to_json(approval.details),
        approval.claim,
        approval.answers_until,
        approval.pending_until,
        approval.declined_at,
    )


def decisions_column(approval: Approval) -> bytes:
    return to_json([decision.as_json() for decision in approval.decisions])


def approval_of(row: Sequence[Any]) -> Approval:
    values = list(row)
    values[8] = orjson.loads(row[8])
    values[14] = tuple(Decision(**decision) for decision in orjson.loads(row[14]))
    values[15] = None if row[15] is None else orjson.loads(row[15])
    return Approval(*values)


def key_row(record: KeyRecord) -> tuple[Any, ...]:
    who = record.principal
    return (
        record.digest,
        record.start,
        who.id,
        who.kind,
        who.tenant,
        to_json(sorted(who.scopes)),
        to_json(sorted(who.roles)),
        who.mode,
        record.created_at,
        record.revoked_at,
        record.expires_at,
        record.made_by or None,
        record.made_in or None,
    )


def key_of(row: Sequence[Any]) -> KeyRecord:
    digest, start, name, kind, tenant, scopes, roles, mode, created, revoked, expires, made_by, made_in = row
    granted = frozenset(orjson.loads(scopes)), frozenset(orjson.loads(roles))
    who = Principal(name, kind, tenant, *granted, mode=mode, method="api_key")
    return KeyRecord(digest, start, who, created, revoked, expires, made_by or "", made_in or "")


def to_json(value: Any) -> bytes:
    """Encode as JSON with sorted names."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, RecursionError) as error:
        raise StoreError(f"A value to be stored is not plain JSON: {error}.") from error
