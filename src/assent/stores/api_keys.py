"""API keys in a store: added, revoked, and their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson

from assent.audit.leaf import Sealed
from assent.core.api_keys import KeyRecord
from assent.core.principal import Principal
from assent.errors import StoreError
from assent.stores.record_rules import Records


def add_key(records: Records, record: KeyRecord, row: Sealed) -> None:
    if record.digest in records.keys:
        raise StoreError(f"A key {record.start} already exists.")
    _put_key(records, record, row)


def revoke_key(records: Records, digest: str, now: float, row: Sealed) -> KeyRecord | None:
    record = records.keys.get(digest)
    if record is None or record.revoked:
        return None
    revoked = replace(record, revoked_at=now)
    _put_key(records, revoked, row)
    return revoked


def _put_key(records: Records, record: KeyRecord, row: Sealed) -> None:
    records.keys[record.digest] = record
    records.changed.keys.add(record.digest)
    records.append([row])


def key_row(record: KeyRecord) -> tuple[Any, ...]:
    who = record.principal
    return (
        record.digest,
        record.start,
        who.id,
        who.kind,
        who.tenant,
        orjson.dumps(sorted(who.scopes)),
        orjson.dumps(sorted(who.roles)),
        who.mode,
        record.created_at,
        record.revoked_at,
        record.expires_at,
        record.made_by or None,
        record.made_in or None,
        who.asks,
    )


def key_of(row: Sequence[Any]) -> KeyRecord:
    digest, start, name, kind, tenant, scopes, roles, mode, created, revoked, expires, made_by, made_in, asks = row
    granted = frozenset(orjson.loads(scopes)), frozenset(orjson.loads(roles))
    who = Principal(name, kind, tenant, *granted, mode=mode, method="api_key", asks=asks)
    return KeyRecord(digest, start, who, created, revoked, expires, made_by or "", made_in or "")
