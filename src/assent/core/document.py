"""Small versioned records apart from calls and the log: sessions, accounts, stop switches, tokens."""

from __future__ import annotations

from typing import NamedTuple

DocumentName = tuple[str, str]
"""Kind and id."""


class Document(NamedTuple):
    """One record of a kind. The store does not read its body."""

    kind: str
    id: str
    body: bytes
    tenant: str = ""
    updated_at: float = 0.0
    expires_at: float | None = None
    version: int = 1
    """Incremented by the store, starting at 1."""

    @property
    def name(self) -> DocumentName:
        return self.kind, self.id

    def is_expired(self, now: float) -> bool:
        return self.expires_at is not None and self.expires_at <= now
