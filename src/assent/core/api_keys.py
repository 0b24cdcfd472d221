"""API keys: the stored record, whether it is good, what names it may have, and its log entry."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from assent.core.audit import Entry, principal_values
from assent.core.deceptive_characters import mixes_scripts
from assent.core.hidden_characters import is_plain
from assent.core.principal import AT_THE_COMMAND_LINE, KEY_OF, Principal

MOST_NAME = 128


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """An API key as stored: only its digest and the start by which people recognise it."""

    digest: str
    start: str
    principal: Principal
    created_at: float = 0.0
    revoked_at: float | None = None
    expires_at: float | None = None
    """When it stops being good by itself; None for never."""
    made_by: str = ""
    """The id of the person who made it in the console or through the API; empty for one of the command line."""
    made_in: str = ""
    """The session of the console in which it was made."""

    @property
    def revoked(self) -> bool:
        return self.revoked_at is not None

    @property
    def caller(self) -> Principal:
        """Whom the key lets in.

        A name proves nothing: whoever makes a key chooses it and has seen the key. So a person's key that somebody
        made is known as that somebody's, and counts as theirs.
        """
        who = self.principal
        if not self.made_by:
            return replace(who, key=self.start)
        foreign = who.kind == "human" and who.id != self.made_by
        id = f"{who.id}{KEY_OF}{self.made_by})" if foreign else who.id
        return replace(who, id=id, key=self.start, maker=self.made_by)

    def is_good(self, now: float) -> bool:
        """Whether it lets its holder in at this time."""
        return not self.revoked and (self.expires_at is None or now < self.expires_at)

    def state(self, now: float) -> str:
        return "revoked" if self.revoked else "good" if self.is_good(now) else "expired"


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
