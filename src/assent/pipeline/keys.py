"""Makes, lists and revokes the API keys in the store, for the command line and for `/api`."""

from __future__ import annotations

from typing import Any

from assent.core.audit import Entry, principal_values
from assent.core.keys import KeyRecord
from assent.core.principal import Principal

MOST_NAME = 128


def word_fault(word: str) -> str | None:
    """Why a text cannot be a name, tenant or scope of a key, or None."""
    if not word.isprintable() or not 1 <= len(word) <= MOST_NAME or word != word.strip():
        return f"must be 1 to {MOST_NAME} printable characters"
    return None


def key_entry(event: str, record: KeyRecord, by: Principal, now: float) -> Entry:
    """The log entry of a key: who made or revoked it, whose it is, and what it lets them do."""
    who = record.principal
    whose = {"name": who.id, "for_kind": who.kind, "for_tenant": who.tenant, "for_mode": who.mode}
    granted = {"scopes": sorted(who.scopes), "roles": sorted(who.roles)}
    until = {"expires": str(record.expires_at)} if record.expires_at is not None else {}
    values = {**principal_values(by), **whose, **granted, **until}
    return Entry("operator", now, {"event": event, "key": record.start}, values)


def key_json(record: KeyRecord) -> dict[str, Any]:
    """A key as JSON; never the key itself."""
    who = record.principal
    return {
        "start": record.start,
        "name": who.id,
        "kind": who.kind,
        "tenant": who.tenant,
        "scopes": sorted(who.scopes),
        "roles": sorted(who.roles),
        "mode": who.mode,
        "created_at": record.created_at,
        "revoked_at": record.revoked_at,
        "expires_at": record.expires_at,
    }
