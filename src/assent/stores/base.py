"""The base class of the stores: turns the port's methods into operations on records.

A store implements how it reads and how it applies an operation; what each method means is defined here once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

from assent.core.approval import Approval, Decision
from assent.core.audit import Entry
from assent.core.claims import ClaimRecord, Settlement, State
from assent.core.document import Document
from assent.core.keys import KeyRecord
from assent.core.quotas import NOTHING, Quotas
from assent.ports import Pruned, Rehearsal
from assent.stores import operations
from assent.stores.change_waiter import ChangeWaiter
from assent.stores.operations import StoreOperation, Sweep
from assent.stores.record_rules import Records

T = TypeVar("T")


class BatchedStore(ABC):
    """Implements the writing methods and the waiting methods of the store port."""

    def __init__(self) -> None:
        self._waiters = ChangeWaiter()

    @abstractmethod
    def _change(self, operation: StoreOperation[T]) -> Awaitable[T]:
        """Apply one operation; returns when it is durable."""

    @abstractmethod
    async def _sweep(self, sweep: Sweep) -> Pruned: ...

    @abstractmethod
    async def _loaded(self, operation: StoreOperation[Any]) -> Records:
        """Load the records that an operation needs, for reading only."""

    @abstractmethod
    async def claim_by_id(self, claim_id: str) -> ClaimRecord | None: ...

    @abstractmethod
    async def approval(self, approval_id: str) -> Approval | None: ...

    async def claim(
        self, draft: ClaimRecord, entry: Entry, approval: str | None, now: float, quotas: Quotas = NOTHING
    ) -> ClaimRecord:
        return await self._change(operations.claim(draft, entry, approval, now, quotas))

    async def admit(self, quotas: Quotas, now: float) -> None:
        await self._change(operations.admit(quotas, now))

    async def afford(self, quotas: Quotas, now: float) -> None:
        operation = operations.admit(quotas, now)
        operation.apply(await self._loaded(operation))

    async def retake(
        self, claim_id: str, epoch: int, lease_until: float, now: float, entry: Entry
    ) -> ClaimRecord | None:
        return await self._change(operations.retake(claim_id, epoch, lease_until, now, entry))

    async def mark_in_doubt(self, claim_id: str, epoch: int, now: float, entry: Entry) -> ClaimRecord | None:
        doubted = await self._change(operations.doubt(claim_id, epoch, now, entry))
        self._waiters.wake([claim_id])
        return doubted

    async def settle(self, claim_id: str, epoch: int, settlement: Settlement, entries: Sequence[Entry]) -> bool:
        settled = await self._change(operations.settle(claim_id, epoch, settlement, entries))
        if settled:
            self._waiters.wake([claim_id])
        return settled

    async def extend(self, leases: Sequence[tuple[str, int]], lease_until: float) -> None:
        await self._change(operations.extend(leases, lease_until))

    async def wait_until_ended(self, claim_id: str, timeout: float) -> ClaimRecord | None:
        return await self._waiters.until(
            claim_id,
            self.claim_by_id,
            lambda record: record is None or record.state is not State.STARTED,
            timeout,
        )

    async def ask(
        self, draft: Approval, now: float, most_pending: int, entry: Entry, cooldown: float = 0.0
    ) -> Approval:
        return await self._change(operations.ask(draft, now, most_pending, entry, cooldown))

    async def decide(self, approval_id: str, decision: Decision, now: float, entry: Entry) -> Approval | None:
        decided = await self._change(operations.decide(approval_id, decision, now, entry))
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

    async def remember(self, rehearsal: Rehearsal, entry: Entry) -> None:
        await self._change(operations.remember(rehearsal, entry))

    async def add_key(self, record: KeyRecord, entry: Entry) -> None:
        await self._change(operations.add_key(record, entry))

    async def revoke_key(self, digest: str, now: float, entry: Entry) -> KeyRecord | None:
        return await self._change(operations.revoke_key(digest, now, entry))

    async def put_document(
        self, draft: Document, now: float, *, expected: int | None = None, entry: Entry | None = None
    ) -> Document | None:
        return await self._change(operations.put_document(draft, now, expected, entry))

    async def delete_document(
        self, kind: str, id: str, now: float, *, expected: int | None = None, entry: Entry | None = None
    ) -> Document | None:
        return await self._change(operations.delete_document((kind, id), now, expected, entry))

    async def erase(self, index: int, fields: Sequence[str], entry: Entry) -> None:
        await self._change(operations.erase(index, fields, entry))

    async def prune(self, now: float, before: float, limit: int = 1000) -> Pruned:
        return await self._sweep(Sweep(now, before, limit))

    async def flush(self) -> None:
        await self._change(operations.no_change())
