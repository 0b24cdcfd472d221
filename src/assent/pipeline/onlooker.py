"""What would the store say to a request that must leave no trace in it?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assent.core.approval import Approval, ApprovalState, Decision
from assent.core.audit import Entry
from assent.core.claims import ClaimRecord, Settlement, State
from assent.ports import ApprovalGone, Logged, Rehearsal, Store, Taken, TooManyPending

_MANY = 1_000_000


class Onlooker:
    """A store that reads through to another and keeps nothing. Every write answers as the real one would, unwritten."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._decided: dict[str, Approval] = {}

    async def recall(self, claim_id: str) -> ClaimRecord | None:
        return await self._store.recall(claim_id)

    async def claim(self, draft: ClaimRecord, entry: Entry, approval: str | None, now: float) -> ClaimRecord:
        standing = await self._store.recall(draft.id)
        if standing is not None and not standing.is_stale(now):
            raise Taken(standing)
        given = await self.approval(approval) if approval is not None else None
        if approval is not None and (given is None or given.state_at(now) is not ApprovalState.APPROVED):
            raise ApprovalGone(approval)
        return draft if standing is None else replace(draft, epoch=standing.epoch + 1)

    async def retake(
        self, claim_id: str, epoch: int, lease_until: float, now: float, entry: Entry
    ) -> ClaimRecord | None:
        record = await self._store.recall(claim_id)
        if record is None or record.epoch != epoch or record.state_at(now) not in (State.IN_DOUBT, State.SUSPENDED):
            return None
        return replace(record, state=State.STARTED, epoch=epoch + 1, lease_until=lease_until, settled_at=None)

    async def settle(self, claim_id: str, epoch: int, settlement: Settlement, entries: Sequence[Entry]) -> bool:
        return True

    async def extend(self, leases: Sequence[tuple[str, int]], lease_until: float) -> None:
        return None

    async def ended(self, claim_id: str, timeout: float) -> ClaimRecord | None:
        """What stands now: an onlooker does not wait."""
        return await self._store.recall(claim_id)

    async def claims(self, *, states: Sequence[State] = (), limit: int = 100) -> list[ClaimRecord]:
        return await self._store.claims(states=states, limit=limit)

    async def ask(self, draft: Approval, now: float, most_pending: int, entry: Entry) -> Approval:
        standing = await self.approval_for(draft.binding, now)
        if standing is not None:
            return standing
        theirs = [
            one for one in await self.approvals(tenant=draft.tenant, limit=_MANY) if one.requester == draft.requester
        ]
        if sum(one.state_at(now) is ApprovalState.PENDING for one in theirs) >= most_pending:
            raise TooManyPending(draft.requester)
        return draft

    async def decide(self, approval_id: str, decision: Decision, now: float, entry: Entry) -> Approval | None:
        approval = await self.approval(approval_id)
        if approval is None or approval.state_at(now) is not ApprovalState.PENDING:
            return None
        if any(earlier.person == decision.person for earlier in approval.decisions):
            return None
        decided = self._decided[approval_id] = approval.with_decision(decision)
        return decided

    async def approval(self, approval_id: str) -> Approval | None:
        return self._decided.get(approval_id) or await self._store.approval(approval_id)

    async def approval_for(self, binding: str, now: float) -> Approval | None:
        return await self._store.approval_for(binding, now)

    async def approvals(self, *, tenant: str | None = None, limit: int = 100) -> list[Approval]:
        return await self._store.approvals(tenant=tenant, limit=limit)

    async def remember(self, rehearsal: Rehearsal, entry: Entry) -> None:
        return None

    async def rehearsed(self, digest: str) -> Rehearsal | None:
        return await self._store.rehearsed(digest)

    def note(self, entry: Entry) -> None:
        return None

    async def entries(self, *, after: int = -1, limit: int = 1000) -> list[Logged]:
        return await self._store.entries(after=after, limit=limit)

    async def flush(self) -> None:
        return None

    async def close(self) -> None:
        return None
