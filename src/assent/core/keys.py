"""The stored record of an API key."""

from __future__ import annotations

from dataclasses import dataclass

from assent.core.principal import Principal


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """An API key as stored: only its digest and the start by which people recognise it."""

    digest: str
    start: str
    principal: Principal
    created_at: float = 0.0
    revoked_at: float | None = None

    @property
    def revoked(self) -> bool:
        return self.revoked_at is not None
