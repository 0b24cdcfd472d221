"""The stored record of an API key."""

from __future__ import annotations

from dataclasses import dataclass, replace

from assent.core.principal import KEY_OF, Principal


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
