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
    expires_at: float | None = None
    """When it stops being good by itself; None for never."""

    @property
    def revoked(self) -> bool:
        return self.revoked_at is not None

    def is_good(self, now: float) -> bool:
        """Whether it lets its holder in at this time."""
        return not self.revoked and (self.expires_at is None or now < self.expires_at)

    def state(self, now: float) -> str:
        return "revoked" if self.revoked else "good" if self.is_good(now) else "expired"
