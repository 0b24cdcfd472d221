"""The base class of the stores: turns the port's methods into operations on records.

A store implements how it reads and how it applies an operation; what each method means is defined here once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Sequence
from typing import Any, Protocol, TypeVar

from assent.core.approval import Approval, Decision
from assent.core.audit import Entry
from assent.core.claims import ClaimRecord, Settlement, State
from assent.core.document import Document
from assent.core.keys import KeyRecord
from assent.core.quotas import NOTHING, Quotas
from assent.stores.change_waiter import ChangeWaiter
from assent.stores.operations import ApprovalQuery, Needs, StoreOperation, no_change, quota_needs
from assent.stores.record_rules import Records
from assent.stores.rows import entry_row, entry_rows

T = TypeVar("T")


class Change(Protocol):
    """Applies one operation; done when it is durable."""

    def __call__(self, operation: StoreOperation[T], /) -> Awaitable[T]: ...


class BatchedStore(ABC):
    """Implements the writing methods and the waiting methods of the store port."""

    def __init__(self, change: Change) -> None:
        self._change, self._waiters = change, ChangeWaiter()

    @abstractmethod
    async def _loaded(self, operation: StoreOperation[Any]) -> Records:
        """Load the records that an operation needs, for reading only."""

    @abstractmethod
    async def claim_by_id(self, claim_id: str) -> ClaimRecord | None: ...

    @abstractmethod
    async def approval(self, approval_id: str) -> Approval | None: ...

    def claim(
        self, draft: ClaimRecord, entry: Entry, approval: str | None, now: float, quotas: Quotas = NOTHING
    ) -> Awaitable[ClaimRecord]:
        row, used = entry_row(entry), (approval,) if approval is not None else ()
        needs = quota_needs(quotas, used) if quotas is not NOTHING or used else None
        return self._change(
            StoreOperation(lambda records: records.claim(draft, row, approval, now, quotas), (), needs, draft.id)
        )

    async def admit(self, quotas: Quotas, now: float) -> None:
        await self._change(_admission(quotas, now))

    async def afford(self, quotas: Quotas, now: float) -> None:
        operation = _admission(quotas, now)
        operation.apply(await self._loaded(operation))

    async def retake(
        self, claim_id: str, epoch: int, lease_until: float, now: float, entry: Entry
    ) -> ClaimRecord | None:
        row = entry_row(entry)
        return await self._change(
            StoreOperation(lambda records: records.retake(claim_id, epoch, lease_until, now, row), (claim_id,))
        )

    async def mark_in_doubt(self, claim_id: str, epoch: int, now: float, entry: Entry) -> ClaimRecord | None:
        row = entry_row(entry)
        doubted = await self._change(
            StoreOperation(lambda records: records.doubt(claim_id, epoch, now, row), (claim_id,))
        )
        self._waiters.wake([claim_id])
        return doubted

    async def settle(self, claim_id: str, epoch: int, settlement: Settlement, entries: Sequence[Entry]) -> bool:
        rows = entry_rows(entries)
        settled = await self._change(
            StoreOperation(lambda records: records.settle(claim_id, epoch, settlement, rows), (claim_id,))
        )
        if settled and self._waiters.waiting:
            self._waiters.wake([claim_id])
        return settled

    async def extend(self, leases: Sequence[tuple[str, int]], lease_until: float) -> None:
        held = list(leases)
        names = tuple(name for name, _ in held)
        await self._change(StoreOperation(lambda records: records.extend(held, lease_until), names))

    async def wait_until_ended(self, claim_id: str, timeout: float) -> ClaimRecord | None:
        return await self._waiters.until(
            claim_id,
            self.claim_by_id,
            lambda record: record is None or record.state is not State.STARTED,
            timeout,
        )

    async def ask(
        self,
        draft: Approval,
        now: float,
        most_pending: int,
        entry: Entry,
        cooldown: float = 0.0,
        claim: str | None = None,
    ) -> Approval:
        row = entry_row(entry)
        question = ApprovalQuery(draft.binding, draft.tenant, draft.requester, now, now - cooldown)
        return await self._change(
            StoreOperation(
                lambda records: records.ask(draft, now, most_pending, row, cooldown, claim),
                (claim,) if claim is not None else (),
                needs=Needs((draft.id,), (question,)),
            )
        )

    async def decide(self, approval_id: str, decision: Decision, now: float, entry: Entry) -> Approval | None:
        row, needs = entry_row(entry), Needs((approval_id,))
        decided = await self._change(
            StoreOperation(lambda records: records.decide(approval_id, decision, now, row), needs=needs)
        )
        if decided is not None:
            self._waiters.wake([approval_id])
        return decided

    async def decided(self, approval_id: str, timeout: float) -> Approval | None:
        return await self._waiters.until(
            approval_id,
            self.approval,
            lambda approval: approval is None or approval.pending_until is None,
            timeout,
        )

    async def add_key(self, record: KeyRecord, entry: Entry) -> None:
        row, needs = entry_row(entry), Needs(keys=(record.digest,))
        await self._change(StoreOperation(lambda records: records.add_key(record, row), needs=needs))

    async def revoke_key(self, digest: str, now: float, entry: Entry) -> KeyRecord | None:
        row, needs = entry_row(entry), Needs(keys=(digest,))
        return await self._change(StoreOperation(lambda records: records.revoke_key(digest, now, row), needs=needs))

    async def put_document(
        self, draft: Document, now: float, *, expected: int | None = None, entry: Entry | None = None
    ) -> Document | None:
        rows, needs = entry_rows([entry] if entry is not None else []), Needs(documents=(draft.name,))
        return await self._change(
            StoreOperation(lambda records: records.put_document(draft, now, expected, rows), needs=needs)
        )

    async def delete_document(
        self, kind: str, id: str, now: float, *, expected: int | None = None, entry: Entry | None = None
    ) -> Document | None:
        rows, needs = entry_rows([entry] if entry is not None else []), Needs(documents=((kind, id),))
        return await self._change(
            StoreOperation(lambda records: records.delete_document((kind, id), now, expected, rows), needs=needs)
        )

    async def erase(self, index: int, fields: Sequence[str], entry: Entry) -> None:
        row, names, needs = entry_row(entry), tuple(fields), Needs(places=(index,))
        await self._change(StoreOperation(lambda records: records.erase(index, names, row), needs=needs))

    async def flush(self) -> None:
        await self._change(no_change())


def _admission(quotas: Quotas, now: float) -> StoreOperation[None]:
    return StoreOperation(lambda records: records.admit(quotas, now), needs=quota_needs(quotas))
