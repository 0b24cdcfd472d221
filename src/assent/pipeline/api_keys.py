"""Makes, lists and revokes the API keys in the store, for the command line and for `/api`."""

from __future__ import annotations

from typing import Any

from assent.core.audit import Entry, principal_values
from assent.core.deceptive_characters import mixes_scripts
from assent.core.hidden_characters import is_plain
from assent.core.keys import KeyRecord
from assent.core.principal import AT_THE_COMMAND_LINE, KEY_OF, Principal

MOST_NAME = 128


def word_fault(word: str) -> str | None:
    """Why a text cannot be a name, tenant or scope of a key, or None."""
    if not word.isprintable() or not 1 <= len(word) <= MOST_NAME or word != word.strip():
        return f"must be 1 to {MOST_NAME} printable characters"
    return None


def name_fault(name: str) -> str | None:
    """Why a text cannot be the name of a key, or None. No name may be read as the id of somebody else."""
    if name.startswith((AT_THE_COMMAND_LINE, "http://", "https://")) or KEY_OF in name:
        return f"must not begin with {AT_THE_COMMAND_LINE} or https://, nor hold{KEY_OF}: such names mean others"
    if fault := word_fault(name):
        return fault
    hard_to_read = not is_plain(name) or mixes_scripts(name)
    return "must not hold characters that nobody sees, nor letters of several scripts" if hard_to_read else None


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
        "asks": who.asks,
        "created_at": record.created_at,
        "revoked_at": record.revoked_at,
        "expires_at": record.expires_at,
        "made_by": record.made_by or None,
    }
