"""The reading methods of both databases: a statement of `stores/sql`, and its rows as records."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from assent.audit.leaf_reader import logged
from assent.core.api_keys import KeyRecord
from assent.core.approval import Approval
from assent.core.claims import ClaimRecord, State
from assent.core.document import Document
from assent.ports import Cursor, LogEntry, Pruned, RawLogRow
from assent.stores.api_keys import key_of
from assent.stores.batched_store import BatchedStore, approval_of, claim_of
from assent.stores.operations import Sweep


class SqlStore(BatchedStore):
    """A store in a database. Both have the same statements; a list of values is passed in each one's own form."""

    @abstractmethod
    async def _fetch(self, name: str, *values: Any) -> list[Any]:
        """The rows of a statement."""

    @abstractmethod
    async def _fetch_by_id(self, name: str, *ids: str) -> list[Any]:
        """The rows of a statement that takes ids."""

    @abstractmethod
    def _list_value(self, values: list[str]) -> Any:
        """A list as the value of one parameter."""

    async def claim_by_id(self, claim_id: str) -> ClaimRecord | None:
        rows = await self._fetch_by_id("recall", claim_id)
        return claim_of(rows[0]) if rows else None

    async def claims(
        self,
        *,
        states: Sequence[State] = (),
        tenant: str | None = None,
        principal: str | None = None,
        after: Cursor | None = None,
        limit: int = 100,
    ) -> list[ClaimRecord]:
        wanted = self._list_value([state.value for state in states or State])
        rows = await self._fetch("claims", wanted, tenant, principal, *(after or (None, None)), limit)
        return [claim_of(row) for row in rows]

    async def approval(self, approval_id: str) -> Approval | None:
        return _first_approval(await self._fetch_by_id("approval", approval_id))

    async def approval_for(self, binding: str, now: float) -> Approval | None:
        return _first_approval(await self._fetch("approval_for", binding, now))

    async def approvals(
        self,
        *,
        tenant: str | None = None,
        requester: str | None = None,
        pending_at: float | None = None,
        after: Cursor | None = None,
        limit: int = 100,
    ) -> list[Approval]:
        values = (tenant, requester, *(after or (None, None)), limit)
        if pending_at is None:
            return [approval_of(row) for row in await self._fetch("approvals", *values)]
        return [approval_of(row) for row in await self._fetch("pending_approvals", pending_at, *values)]

    async def urgent_approvals(
        self, now: float, *, tenant: str | None = None, requester: str | None = None, skip: int = 0, limit: int = 100
    ) -> list[Approval]:
        rows = await self._fetch("urgent_approvals", now, tenant, requester, limit, skip)
        return [approval_of(row) for row in rows]

    async def count_pending(
        self, now: float, *, tenant: str | None = None, requester: str | None = None
    ) -> tuple[int, float | None]:
        [[count, soonest]] = await self._fetch("count_pending", now, tenant, requester)
        return count, soonest

    async def decided_approvals(
        self, *, tenant: str | None = None, requester: str | None = None, limit: int = 100
    ) -> list[Approval]:
        return [approval_of(row) for row in await self._fetch("decided_approvals", tenant, requester, limit)]

    async def last_used_approval(self, tenant: str, requester: str, tool: str, before: float) -> Approval | None:
        return _first_approval(await self._fetch("used_approval", tenant, requester, tool, before))

    async def key_by_digest(self, digest: str) -> KeyRecord | None:
        rows = await self._fetch_by_id("key", digest)
        return key_of(rows[0]) if rows else None

    async def keys(self, *, start: str = "", limit: int = 1000) -> list[KeyRecord]:
        return [key_of(row) for row in await self._fetch("keys", start, limit)]

    async def document(self, kind: str, id: str, now: float) -> Document | None:
        found = [Document(*row) for row in await self._fetch_by_id("document", kind, id)]
        return found[0] if found and not found[0].is_expired(now) else None

    async def documents(
        self, kind: str, now: float, *, tenant: str | None = None, after: str = "", limit: int = 1000
    ) -> list[Document]:
        return [Document(*row) for row in await self._fetch("documents", kind, now, tenant, after, limit)]

    async def prune(self, now: float, before: float, limit: int = 1000) -> Pruned:
        return await self._change(Sweep(now, before, limit)) or Pruned()

    async def entries(self, *, after: int = -1, limit: int = 1000) -> list[LogEntry]:
        return [logged(*row) for row in await self._fetch("entries", after, limit)]

    async def sealed(self, *, after: int = -1, limit: int = 1000) -> list[RawLogRow]:
        return [RawLogRow(*row) for row in await self._fetch("entries", after, limit)]

    async def leaves(self, start: int, stop: int) -> list[bytes]:
        return [row[0] for row in await self._fetch("leaves", start, stop)]

    async def length(self) -> int:
        [[count]] = await self._fetch("length")
        return int(count)


def _first_approval(rows: list[Any]) -> Approval | None:
    return approval_of(rows[0]) if rows else None
