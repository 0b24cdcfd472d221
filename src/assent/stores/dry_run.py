"""A store for dry runs: it answers like the real store and writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assent.core.approval import Approval, ApprovalState, Decision
from assent.core.audit import Entry
from assent.core.claims import ClaimRecord, Settlement, State
from assent.core.document import Document
from assent.core.keys import KeyRecord
from assent.core.quotas import NOTHING, Quotas
from assent.ports import (
    ApprovalGone,
    ClaimExists,
    CoolingDown,
    Cursor,
    LogEntry,
    Pruned,
    RawLogRow,
    Rehearsal,
    Store,
    TooManyPending,
)

_MANY = 1_000_000


class DryRunStore:
    """Reads through to another store and keeps nothing; each write answers as the real store would."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._decided: dict[str, Approval] = {}

    async def recall(self, claim_id: str) -> ClaimRecord | None:
        return await self._store.recall(claim_id)

    async def claim(
        self, draft: ClaimRecord, entry: Entry, approval: str | None, now: float, quotas: Quotas = NOTHING
    ) -> ClaimRecord:
        existing = await self._store.recall(draft.id)
        if existing is not None and not existing.is_stale(now):
            raise ClaimExists(existing)
        granted = await self.approval(approval) if approval is not None else None
        if approval is not None and (granted is None or granted.state_at(now) is not ApprovalState.APPROVED):
            raise ApprovalGone(approval)
        await self._store.afford(quotas, now)
        return draft if existing is None else draft._replace(epoch=existing.epoch + 1)

    async def retake(
        self, claim_id: str, epoch: int, lease_until: float, now: float, entry: Entry
    ) -> ClaimRecord | None:
        record = await self._store.recall(claim_id)
        if record is None or record.epoch != epoch or record.state_at(now) not in (State.IN_DOUBT, State.SUSPENDED):
            return None
        return record._replace(state=State.STARTED, epoch=epoch + 1, lease_until=lease_until, settled_at=None)

    async def doubt(self, claim_id: str, epoch: int, now: float, entry: Entry) -> ClaimRecord | None:
        record = await self._store.recall(claim_id)
        if record is None or record.epoch != epoch or record.state_at(now) is not State.IN_DOUBT:
            return None
        return record if record.state is State.IN_DOUBT else record._replace(state=State.IN_DOUBT, epoch=epoch + 1)

    async def admit(self, quotas: Quotas, now: float) -> None:
        await self._store.afford(quotas, now)

    async def afford(self, quotas: Quotas, now: float) -> None:
        await self._store.afford(quotas, now)

    async def settle(self, claim_id: str, epoch: int, settlement: Settlement, entries: Sequence[Entry]) -> bool:
        return True

    async def extend(self, leases: Sequence[tuple[str, int]], lease_until: float) -> None:
        return None

    async def ended(self, claim_id: str, timeout: float) -> ClaimRecord | None:
        """Return the current record; a dry run does not wait."""
        return await self._store.recall(claim_id)

    async def claims(
        self,
        *,
        states: Sequence[State] = (),
        tenant: str | None = None,
        principal: str | None = None,
        after: Cursor | None = None,
        limit: int = 100,
    ) -> list[ClaimRecord]:
        return await self._store.claims(states=states, tenant=tenant, principal=principal, after=after, limit=limit)

    async def ask(
        self, draft: Approval, now: float, most_pending: int, entry: Entry, cooldown: float = 0.0
    ) -> Approval:
        existing = await self.approval_for(draft.binding, now)
        if existing is not None:
            return existing
        own = [
            one for one in await self.approvals(tenant=draft.tenant, limit=_MANY) if one.requester == draft.requester
        ]
        if sum(one.state_at(now) is ApprovalState.PENDING for one in own) >= most_pending:
            raise TooManyPending(draft.requester)
        denials = [one.declined_at for one in own if one.tool == draft.tool and one.declined_at is not None]
        if cooldown and denials and now < max(denials) + cooldown:
            raise CoolingDown(min(max(denials) - now, 0) + cooldown)
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

    async def decided(self, approval_id: str, timeout: float) -> Approval | None:
        """Return the current approval; a dry run does not wait."""
        return await self.approval(approval_id)

    async def approvals(
        self,
        *,
        tenant: str | None = None,
        requester: str | None = None,
        pending_at: float | None = None,
        after: Cursor | None = None,
        limit: int = 100,
    ) -> list[Approval]:
        return await self._store.approvals(
            tenant=tenant, requester=requester, pending_at=pending_at, after=after, limit=limit
        )

    async def last_used_approval(self, tenant: str, requester: str, tool: str, before: float) -> Approval | None:
        return await self._store.last_used_approval(tenant, requester, tool, before)

    async def remember(self, rehearsal: Rehearsal, entry: Entry) -> None:
        return None

    async def rehearsed(self, digest: str) -> Rehearsal | None:
        return await self._store.rehearsed(digest)

    async def add_key(self, record: KeyRecord, entry: Entry) -> None:
        return None

    async def revoke_key(self, digest: str, now: float, entry: Entry) -> KeyRecord | None:
        record = await self._store.key_by_digest(digest)
        return None if record is None or record.revoked else replace(record, revoked_at=now)

    async def key_by_digest(self, digest: str) -> KeyRecord | None:
        return await self._store.key_by_digest(digest)

    async def keys(self, *, start: str = "", limit: int = 1000) -> list[KeyRecord]:
        return await self._store.keys(start=start, limit=limit)

    async def put_document(
        self, draft: Document, now: float, *, expected: int | None = None, entry: Entry | None = None
    ) -> Document | None:
        kept = await self._store.document(draft.kind, draft.id, now)
        version = 0 if kept is None else kept.version
        return draft._replace(version=version + 1, updated_at=now) if expected in (None, version) else None

    async def delete_document(
        self, kind: str, id: str, now: float, *, expected: int | None = None, entry: Entry | None = None
    ) -> Document | None:
        kept = await self._store.document(kind, id, now)
        return kept if kept is not None and expected in (None, kept.version) else None

    async def document(self, kind: str, id: str, now: float) -> Document | None:
        return await self._store.document(kind, id, now)

    async def documents(
        self, kind: str, now: float, *, tenant: str | None = None, after: str = "", limit: int = 1000
    ) -> list[Document]:
        return await self._store.documents(kind, now, tenant=tenant, after=after, limit=limit)

    async def prune(self, now: float, before: float, limit: int = 1000) -> Pruned:
        return Pruned()

    def check(self) -> None:
        self._store.check()

    def note(self, entry: Entry) -> None:
        return None

    async def entries(self, *, after: int = -1, limit: int = 1000) -> list[LogEntry]:
        return await self._store.entries(after=after, limit=limit)

    async def sealed(self, *, after: int = -1, limit: int = 1000) -> list[RawLogRow]:
        return await self._store.sealed(after=after, limit=limit)

    async def leaves(self, start: int, stop: int) -> list[bytes]:
        return await self._store.leaves(start, stop)

    async def length(self) -> int:
        return await self._store.length()

    async def erase(self, index: int, fields: Sequence[str], entry: Entry) -> None:
        return None

    async def flush(self) -> None:
        return None

    async def close(self) -> None:
        return None
