"""Claims: the records of calls that may have had an effect (ADR 0006)."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from assent.contract.digest import digest_of
from assent.core.call import Call


class State(StrEnum):
    """The state of a claim. Every state except `started` and `suspended` is final; a claim in doubt can still be
    settled.
    """

    STARTED = "started"
    SUSPENDED = "suspended"
    SUCCEEDED = "succeeded"
    FAILED_NO_EFFECT = "failed_no_effect"
    FAILED = "failed"
    IN_DOUBT = "in_doubt"


FINISHED = frozenset({State.SUCCEEDED, State.FAILED_NO_EFFECT, State.FAILED})
NEVER = 0.0
"""The `valid_until` of a result that must not be reused: time zero rather than now, because clocks can be set back."""


class ClaimRecord(NamedTuple):
    """One claim as stored."""

    id: str
    tenant: str
    principal: str
    tool: str
    key: str | None
    fingerprint: str
    contract: str
    state: State
    epoch: int
    lease_until: float
    created_at: float
    expires_at: float
    valid_until: float | None = None
    settled_at: float | None = None
    result: bytes | None = None
    charges: tuple[tuple[str, Decimal], ...] = ()
    """The amounts it has reserved, by budget; returned if nothing was done."""

    def state_at(self, now: float) -> State:
        """The effective state: an expired lease means in doubt, never `run again`."""
        if self.state in (State.STARTED, State.SUSPENDED) and self.lease_until <= now:
            return State.IN_DOUBT
        return self.state

    def is_tombstone(self, now: float) -> bool:
        """Whether the result is past its retention or already deleted; a clock that is behind does not bring it
        back.
        """
        return self.expires_at <= now or (self.state in FINISHED and self.result is None)

    def settled(self, settlement: Settlement) -> ClaimRecord:
        """The claim after a settlement."""
        return ClaimRecord(
            self.id,
            self.tenant,
            self.principal,
            self.tool,
            self.key,
            self.fingerprint,
            self.contract,
            settlement.state,
            self.epoch,
            self.lease_until if settlement.lease_until is None else settlement.lease_until,
            self.created_at,
            self.expires_at,
            settlement.valid_until,
            settlement.at,
            settlement.result,
            self.charges,
        )

    def is_stale(self, now: float) -> bool:
        """Whether the result under a natural key is no longer valid, so that the tool runs again."""
        return self.valid_until is not None and self.state in FINISHED and self.valid_until <= now


class Settlement(NamedTuple):
    """How a started claim ended."""

    state: State
    at: float
    result: bytes | None = None
    valid_until: float | None = None
    lease_until: float | None = None


@lru_cache(maxsize=256)
def claim_id(tenant: str, principal: str, tool: str, kind: str, key: str) -> str:
    """The id of a claim: one key of one principal for one tool. Two stages of a call ask for it.

    Parts are length-prefixed so that different inputs cannot produce the same digest input.
    """
    name = b"assent claim v1\n"
    for part in (tenant, principal, tool, kind, key):
        encoded = part.encode("utf-8", "surrogatepass")
        name += len(encoded).to_bytes(4, "big") + encoded
    return hashlib.sha256(name).hexdigest()


def claim_name(call: Call) -> str | None:
    """The claim id of a call: from its natural key, its idempotency key or its arguments; None if it has no claim.

    A test endpoint has no real effects, so test and live callers of one name never share a claim.
    """
    tool, principal = call.tool, call.principal
    if tool.natural is None and call.key is None and not tool.derives_key:
        return None
    where = "test " if principal.mode == "test" else ""
    if tool.natural is not None:
        named = digest_of({name: call.arguments.get(name) for name in tool.natural.by})
        return claim_id(principal.tenant, principal.id, call.tool.name, f"{where}natural", named)
    if call.key is not None:
        return claim_id(principal.tenant, principal.id, call.tool.name, f"{where}key", call.key)
    return claim_id(principal.tenant, principal.id, call.tool.name, f"{where}auto", call.fingerprint)
