"""The in-memory store, the reference implementation of the store port."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from assent.audit.leaf_reader import logged
from assent.core.api_keys import KeyRecord
from assent.core.approval import Approval, ApprovalState
from assent.core.audit import Entry
from assent.core.claims import FINISHED, ClaimRecord, State
from assent.core.document import Document
from assent.core.shown_records import urgency_of
from assent.ports import Cursor, LogEntry, Pruned, RawLogRow
from assent.stores.batched_store import BatchedStore, entry_row
from assent.stores.operations import StoreOperation
from assent.stores.record_rules import Records

T = TypeVar("T")


class MemoryStore(BatchedStore):
    """Keeps all records in memory; no await between a read and a change makes every method atomic."""

    def __init__(self) -> None:
        super().__init__(self._apply)
        self._records = Records()

    async def _apply(self, operation: StoreOperation[T]) -> T:
        places = operation.needs.places if operation.needs is not None else ()
        log = self._records.changed.entries
        self._records.places = {place: log[place] for place in places if 0 <= place < len(log)}
        result = operation.apply(self._records)
        for place in places:
            log[place] = self._records.places[place]
        return result

    async def _load_records(self, operation: StoreOperation[Any]) -> Records:
        records = Records()
        records.rates, records.tallies = dict(self._records.rates), dict(self._records.tallies)
        return records

    async def claim_by_id(self, claim_id: str) -> ClaimRecord | None:
        return self._records.claims.get(claim_id)

    async def claims(
        self,
        *,
        states: Sequence[State] = (),
        tenant: str | None = None,
        principal: str | None = None,
        after: Cursor | None = None,
        limit: int = 100,
    ) -> list[ClaimRecord]:
        chosen = [
            record
            for record in self._records.claims.values()
            if (not states or record.state in states)
            and tenant in (None, record.tenant)
            and principal in (None, record.principal)
            and _follows((record.created_at, record.id), after)
        ]
        return sorted(chosen, key=lambda record: (-record.created_at, record.id))[:limit]

    async def approval(self, approval_id: str) -> Approval | None:
        return self._records.approvals.get(approval_id)

    async def approval_for(self, binding: str, now: float) -> Approval | None:
        return self._records.approval_for(binding, now)

    async def approvals(
        self,
        *,
        tenant: str | None = None,
        requester: str | None = None,
        pending_at: float | None = None,
        after: Cursor | None = None,
        limit: int = 100,
    ) -> list[Approval]:
        chosen = [
            one
            for one in self._records.approvals.values()
            if tenant in (None, one.tenant)
            and requester in (None, one.requester)
            and _follows((one.asked_at, one.id), after)
            and (pending_at is None or one.state_at(pending_at) is ApprovalState.PENDING)
        ]
        return sorted(chosen, key=lambda one: (-one.asked_at, one.id))[:limit]

    async def urgent_approvals(
        self, now: float, *, tenant: str | None = None, requester: str | None = None, skip: int = 0, limit: int = 100
    ) -> list[Approval]:
        found = sorted(self._pending(now, tenant, requester), key=urgency_of)
        return found[skip : skip + limit]

    async def count_pending(
        self, now: float, *, tenant: str | None = None, requester: str | None = None
    ) -> tuple[int, float | None]:
        found = self._pending(now, tenant, requester)
        return len(found), min((one.expires_at for one in found), default=None)

    async def decided_approvals(
        self, *, tenant: str | None = None, requester: str | None = None, limit: int = 100
    ) -> list[Approval]:
        every = await self.approvals(tenant=tenant, requester=requester, limit=len(self._records.approvals))
        return [one for one in every if one.pending_until is None][:limit]

    def _pending(self, now: float, tenant: str | None, requester: str | None) -> list[Approval]:
        return [
            one
            for one in self._records.approvals.values()
            if tenant in (None, one.tenant)
            and requester in (None, one.requester)
            and one.state_at(now) is ApprovalState.PENDING
        ]

    async def last_used_approval(self, tenant: str, requester: str, tool: str, before: float) -> Approval | None:
        return self._records.last_used_approval(tenant, requester, tool, before)

    async def key_by_digest(self, digest: str) -> KeyRecord | None:
        return self._records.keys.get(digest)

    async def keys(self, *, start: str = "", limit: int = 1000) -> list[KeyRecord]:
        chosen = [record for record in self._records.keys.values() if record.start.startswith(start)]
        return sorted(chosen, key=lambda record: (-record.created_at, record.digest))[:limit]

    async def document(self, kind: str, id: str, now: float) -> Document | None:
        kept = self._records.documents.get((kind, id))
        return None if kept is None or kept.is_expired(now) else kept

    async def documents(
        self, kind: str, now: float, *, tenant: str | None = None, after: str = "", limit: int = 1000
    ) -> list[Document]:
        chosen = [
            one
            for one in self._records.documents.values()
            if one.kind == kind and one.id > after and tenant in (None, one.tenant) and not one.is_expired(now)
        ]
        return sorted(chosen, key=lambda one: one.id)[:limit]

    async def prune(self, now: float, before: float, limit: int = 1000) -> Pruned:
        records = self._records
        approvals = [
            one.id
            for one in records.approvals.values()
            if one.asked_at <= before and (one.answers_until is None or one.answers_until <= before)
        ]
        rates = [name for name, due in records.rates.items() if due <= now]
        tallies = [name for name, tally in records.tallies.items() if tally.until <= before]
        documents = [name for name, one in records.documents.items() if one.is_expired(now)]
        return Pruned(
            self._expire_results(now, limit),
            _delete(records.approvals, approvals[:limit]),
            _delete(records.rates, rates[:limit]) + _delete(records.tallies, tallies[:limit]),
            _delete(records.documents, documents[:limit]),
        )

    def _expire_results(self, now: float, limit: int) -> int:
        claims = self._records.claims
        expired = [
            record
            for record in claims.values()
            if record.state in FINISHED and record.expires_at <= now and (record.result, record.charges) != (None, ())
        ][:limit]
        for record in expired:
            claims[record.id] = record._replace(result=None, charges=())
        return len(expired)

    def check(self) -> None:
        return None

    def append(self, entry: Entry) -> None:
        self._records.append([entry_row(entry)])

    async def entries(self, *, after: int = -1, limit: int = 1000) -> list[LogEntry]:
        start, rows = after + 1, self._records.changed.entries
        return [logged(start + offset, *row) for offset, row in enumerate(rows[start : start + limit])]

    async def sealed(self, *, after: int = -1, limit: int = 1000) -> list[RawLogRow]:
        start, rows = after + 1, self._records.changed.entries
        return [RawLogRow(start + offset, *row) for offset, row in enumerate(rows[start : start + limit])]

    async def leaves(self, start: int, stop: int) -> list[bytes]:
        return [row.leaf for row in self._records.changed.entries[start:stop]]

    async def length(self) -> int:
        return len(self._records.changed.entries)

    async def close(self) -> None:
        return None


def _follows(place: Cursor, after: Cursor | None) -> bool:
    return after is None or (-place[0], place[1]) > (-after[0], after[1])


def _delete(records: dict[T, Any], names: list[T]) -> int:
    for name in names:
        del records[name]
    return len(names)
