"""What does a store promise, said in the plainest code?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assent.core.approval import Approval, ApprovalState, Decision
from assent.core.audit import Entry
from assent.core.claims import ClaimRecord, Settlement, State
from assent.errors import StoreError
from assent.ports import ApprovalGone, Logged, Rehearsal, Taken, TooManyPending
from assent.stores.rows import EntryRow, entry_row, entry_rows, logged
from assent.stores.waiting import Waiters

_OPEN = (State.STARTED, State.SUSPENDED)
_ANSWERING = (ApprovalState.PENDING, ApprovalState.APPROVED, ApprovalState.DECLINED)


class MemoryStore:
    """The specification of the store: dictionaries, and no await between a look and a change."""

    def __init__(self) -> None:
        self._claims: dict[str, ClaimRecord] = {}
        self._approvals: dict[str, Approval] = {}
        self._rehearsals: dict[str, Rehearsal] = {}
        self._entries: list[EntryRow] = []
        self._waiters = Waiters(self.recall)

    async def recall(self, claim_id: str) -> ClaimRecord | None:
        return self._claims.get(claim_id)

    async def claim(self, draft: ClaimRecord, entry: Entry, approval: str | None, now: float) -> ClaimRecord:
        row = entry_row(entry)
        standing = self._claims.get(draft.id)
        if standing is not None and not standing.is_stale(now):
            raise Taken(standing)
        if standing is not None:
            draft = replace(draft, epoch=standing.epoch + 1)
        if approval is not None:
            self._consume(approval, now)
        self._claims[draft.id] = draft
        self._entries.append(row)
        return draft

    def _consume(self, approval_id: str, now: float) -> None:
        approval = self._approvals.get(approval_id)
        if approval is None or approval.state_at(now) is not ApprovalState.APPROVED:
            raise ApprovalGone(approval_id)
        self._approvals[approval_id] = replace(approval, used=approval.used + 1)

    async def retake(
        self, claim_id: str, epoch: int, lease_until: float, now: float, entry: Entry
    ) -> ClaimRecord | None:
        row, record = entry_row(entry), self._claims.get(claim_id)
        if record is None or record.epoch != epoch or record.state_at(now) not in (State.IN_DOUBT, State.SUSPENDED):
            return None
        taken = replace(record, state=State.STARTED, epoch=epoch + 1, lease_until=lease_until, settled_at=None)
        self._claims[claim_id] = taken
        self._entries.append(row)
        return taken

    async def settle(self, claim_id: str, epoch: int, settlement: Settlement, entries: Sequence[Entry]) -> bool:
        rows, record = entry_rows(entries), self._claims.get(claim_id)
        if record is None or record.epoch != epoch or record.state not in (*_OPEN, State.IN_DOUBT):
            return False
        self._claims[claim_id] = replace(
            record,
            state=settlement.state,
            settled_at=settlement.at,
            result=settlement.result,
            valid_until=settlement.valid_until,
            lease_until=record.lease_until if settlement.lease_until is None else settlement.lease_until,
        )
        self._entries.extend(rows)
        self._waiters.wake(claim_id)
        return True

    async def extend(self, leases: Sequence[tuple[str, int]], lease_until: float) -> None:
        for claim_id, epoch in leases:
            record = self._claims.get(claim_id)
            if record is not None and record.epoch == epoch and record.state is State.STARTED:
                self._claims[claim_id] = replace(record, lease_until=lease_until)

    async def ended(self, claim_id: str, timeout: float) -> ClaimRecord | None:
        return await self._waiters.ended(claim_id, timeout)

    async def claims(self, *, states: Sequence[State] = (), limit: int = 100) -> list[ClaimRecord]:
        chosen = [record for record in self._claims.values() if not states or record.state in states]
        return sorted(chosen, key=lambda record: (-record.created_at, record.id))[:limit]

    async def ask(self, draft: Approval, now: float, most_pending: int, entry: Entry) -> Approval:
        row = entry_row(entry)
        standing = await self.approval_for(draft.binding, now)
        if standing is not None:
            return standing
        who = (draft.tenant, draft.requester)
        pending = [
            one
            for one in self._approvals.values()
            if (one.tenant, one.requester) == who and one.state_at(now) is ApprovalState.PENDING
        ]
        if len(pending) >= most_pending:
            raise TooManyPending(draft.requester)
        if draft.id in self._approvals:
            raise StoreError(f"There is an approval {draft.id} already.")
        self._approvals[draft.id] = draft
        self._entries.append(row)
        return draft

    async def decide(self, approval_id: str, decision: Decision, now: float, entry: Entry) -> Approval | None:
        row, approval = entry_row(entry), self._approvals.get(approval_id)
        if approval is None or approval.state_at(now) is not ApprovalState.PENDING:
            return None
        if any(earlier.person == decision.person for earlier in approval.decisions):
            return None
        decided = self._approvals[approval_id] = approval.with_decision(decision)
        self._entries.append(row)
        return decided

    async def approval(self, approval_id: str) -> Approval | None:
        return self._approvals.get(approval_id)

    async def approval_for(self, binding: str, now: float) -> Approval | None:
        bound = [one for one in self._approvals.values() if one.binding == binding]
        answering = [one for one in bound if one.state_at(now) in _ANSWERING]
        return max(answering, key=lambda one: (one.asked_at, one.id), default=None)

    async def approvals(self, *, tenant: str | None = None, limit: int = 100) -> list[Approval]:
        chosen = [one for one in self._approvals.values() if tenant is None or one.tenant == tenant]
        return sorted(chosen, key=lambda one: (-one.asked_at, one.id))[:limit]

    async def remember(self, rehearsal: Rehearsal, entry: Entry) -> None:
        row = entry_row(entry)
        self._rehearsals[rehearsal.digest] = rehearsal
        self._entries.append(row)

    async def rehearsed(self, digest: str) -> Rehearsal | None:
        return self._rehearsals.get(digest)

    def note(self, entry: Entry) -> None:
        self._entries.append(entry_row(entry))

    async def entries(self, *, after: int = -1, limit: int = 1000) -> list[Logged]:
        start = after + 1
        return [logged(start + offset, *row) for offset, row in enumerate(self._entries[start : start + limit])]

    async def flush(self) -> None:
        return None

    async def close(self) -> None:
        return None
