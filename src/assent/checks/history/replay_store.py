"""The store of a replay: it counts quotas in memory and remembers dry runs; everything else is forgotten."""

from __future__ import annotations

from assent.core.approval import Approval
from assent.core.audit import Entry
from assent.core.claims import ClaimRecord
from assent.core.document import Document
from assent.core.quotas import NOTHING, Quotas
from assent.stores.dry_run import DryRunStore
from assent.stores.memory import MemoryStore


class ReplayStore(DryRunStore):
    """Takes quotas at the recorded times, so that limits and budgets count as they would have."""

    def __init__(self) -> None:
        super().__init__(MemoryStore())

    async def approval_for(self, binding: str, now: float) -> Approval | None:
        return None

    async def ask(
        self,
        draft: Approval,
        now: float,
        most_pending: int,
        entry: Entry,
        cooldown: float = 0.0,
        claim: str | None = None,
    ) -> Approval:
        return draft

    async def claim(
        self, draft: ClaimRecord, entry: Entry, approval: str | None, now: float, quotas: Quotas = NOTHING
    ) -> ClaimRecord:
        await self.admit(quotas, now)
        return draft

    async def admit(self, quotas: Quotas, now: float) -> None:
        if quotas:
            await self._store.admit(quotas, now)

    async def put_document(
        self, draft: Document, now: float, *, expected: int | None = None, entry: Entry | None = None
    ) -> Document | None:
        return await self._store.put_document(draft, now, expected=expected)
