"""A store for dry runs: it answers like the real store and writes nothing."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from assent.audit.leaf import Sealed
from assent.core.approval import Approval
from assent.core.audit import Entry
from assent.core.claims import ClaimRecord
from assent.core.quotas import NOTHING, Quotas
from assent.ports import Pruned, Store
from assent.stores.batched_store import BatchedStore
from assent.stores.operations import Needs, StoreOperation
from assent.stores.record_rules import Records

T = TypeVar("T")

_MANY = 1_000_000
_READS = frozenset(
    ("approval_for", "approvals", "check", "claims", "count_pending", "decided_approvals", "document", "documents",
     "entries", "key_by_digest", "keys", "last_used_approval", "leaves", "length", "sealed", "urgent_approvals")
)  # fmt: skip


def dry_run_store(store: Store) -> Store:
    """A store that reads from this one and keeps its changes in memory."""
    return cast(Store, DryRunStore(store))


class DryRunStore(BatchedStore):
    """Applies the operations of every store to copies of the records that they need."""

    def __init__(self, store: Store) -> None:
        super().__init__(self._apply)
        self._store, self._records = store, Records()

    def __getattr__(self, name: str) -> Any:
        """Reading methods are those of the real store; any other name is refused, so that nothing is written."""
        if name in _READS:
            return getattr(self._store, name)
        raise AttributeError(name)

    async def claim_by_id(self, claim_id: str) -> ClaimRecord | None:
        return self._records.claims.get(claim_id) or await self._store.claim_by_id(claim_id)

    async def approval(self, approval_id: str) -> Approval | None:
        return self._records.approvals.get(approval_id) or await self._store.approval(approval_id)

    async def claim(
        self, draft: ClaimRecord, entry: Entry, approval: str | None, now: float, quotas: Quotas = NOTHING
    ) -> ClaimRecord:
        claimed = await super().claim(draft, entry, approval, now)
        await self._store.afford(quotas, now)
        return claimed

    async def admit(self, quotas: Quotas, now: float) -> None:
        await self._store.afford(quotas, now)

    async def afford(self, quotas: Quotas, now: float) -> None:
        await self._store.afford(quotas, now)

    async def wait_until_ended(self, claim_id: str, timeout: float) -> ClaimRecord | None:
        """Return the current record; a dry run does not wait."""
        return await self.claim_by_id(claim_id)

    async def decided(self, approval_id: str, timeout: float) -> Approval | None:
        """Return the current approval; a dry run does not wait."""
        return await self.approval(approval_id)

    def append(self, entry: Entry) -> None:
        return None

    async def close(self) -> None:
        return None

    async def _apply(self, operation: StoreOperation[T]) -> T:
        return operation.apply(await self._load_records(operation))

    async def prune(self, now: float, before: float, limit: int = 1000) -> Pruned:
        return Pruned()

    async def _load_records(self, operation: StoreOperation[Any]) -> Records:
        for claim_id in (*operation.claims, *([operation.new] if operation.new else [])):
            if (claim := await self.claim_by_id(claim_id)) is not None:
                self._records.claims[claim_id] = claim
        if operation.needs is not None:
            await self._load(operation.needs)
        return self._records

    async def _load(self, needs: Needs) -> None:
        records, store = self._records, self._store
        found = [approval for name in needs.approvals if (approval := await self.approval(name)) is not None]
        for asked in needs.questions:
            found += await store.approvals(tenant=asked.tenant, requester=asked.requester, limit=_MANY)
            bound = await store.approval_for(asked.binding, asked.now)
            found += [bound] if bound is not None else []
        for approval in found:
            records.approvals.setdefault(approval.id, approval)
        for digest in needs.keys:
            if digest not in records.keys and (key := await store.key_by_digest(digest)) is not None:
                records.keys[digest] = key
        for name in needs.documents:
            if name not in records.changed.documents and (document := await store.document(*name, 0.0)) is not None:
                records.documents[name] = document
        for row in [row for place in needs.places for row in await store.sealed(after=place - 1, limit=1)]:
            records.places.setdefault(row.index, Sealed(row.leaf, row.vals))
