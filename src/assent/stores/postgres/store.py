"""The PostgreSQL store.

It holds no connection while a call runs: a read borrows one for one statement, a change for one transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from assent.core.approval import Approval
from assent.core.audit import Entry
from assent.core.claims import ClaimRecord, State
from assent.core.document import Document
from assent.core.keys import KeyRecord
from assent.errors import StoreError
from assent.ports import Cursor, LogEntry, Pruned, RawLogRow, Rehearsal
from assent.stores.base import BatchedStore
from assent.stores.operations import StoreOperation, Sweep
from assent.stores.postgres.database import CUT, FAILURES, Database
from assent.stores.postgres.notify import NotifyListener
from assent.stores.postgres.tables import SQL, load
from assent.stores.postgres.writer import PostgresWriter
from assent.stores.record_rules import Records
from assent.stores.rows import approval_of, claim_of, entry_row, key_of, logged

T = TypeVar("T")
READERS = 4


class PostgresStore(BatchedStore):
    """A store that any number of processes on any number of machines share.

    It connects at first use, or when `connect` is called. One event loop uses it.
    """

    def __init__(self, url: str, *, readers: int = READERS) -> None:
        super().__init__()
        self._database, self._readers = Database(url), readers
        self._writer = PostgresWriter(self._database)
        self._listener = NotifyListener(self._database, self._waiters.wake)
        self._pool: Any = None
        self._opening = asyncio.Lock()
        self._closed = False

    async def connect(self) -> None:
        """Open the pool and bring the schema up to date; a second call does nothing."""
        if self._closed:
            raise StoreError("The store is closed.")
        async with self._opening:
            if self._pool is not None:
                return
            try:
                self._pool = await self._database.pool(self._readers)
            except FAILURES as error:
                raise self._database.failure(error) from error

    async def schema(self) -> int:
        """The version of the schema, read without changing anything. Raises StoreError for a newer one."""
        try:
            version, _ = await self._database.check()
        except FAILURES as error:
            raise self._database.failure(error) from error
        return version

    async def _fetch(self, name: str, *values: Any) -> list[Any]:
        found: list[Any] = await self._retry_read(lambda: self._read(lambda on: on.fetch(SQL[name], *values)))
        return found

    def _read(self, query: Callable[[Any], Awaitable[T]]) -> Awaitable[T]:
        return self._database.read(self._pool, query)

    async def _retry_read(self, read: Callable[[], Awaitable[T]]) -> T:
        """Run a read, and repeat it if the session was cut: after a server restart, every session of the pool may
        be.
        """
        if self._pool is None or self._closed:
            await self.connect()
        for cut in range(self._readers + 1):
            try:
                return await read()
            except FAILURES as error:
                if cut == self._readers or not isinstance(error, CUT):
                    raise self._database.failure(error) from error
        raise AssertionError

    async def _change(self, operation: StoreOperation[T]) -> T:
        if self._pool is None:
            await self.connect()
        return await self._writer.run(operation)

    async def _sweep(self, sweep: Sweep) -> Pruned:
        if self._pool is None:
            await self.connect()
        return await self._writer.sweep(sweep)

    async def _loaded(self, operation: StoreOperation[Any]) -> Records:
        return await self._retry_read(lambda: self._read(lambda on: load(on, [operation])))

    async def claim_by_id(self, claim_id: str) -> ClaimRecord | None:
        rows = await self._fetch("recall", [claim_id])
        return claim_of(rows[0]) if rows else None

    async def wait_until_ended(self, claim_id: str, timeout: float) -> ClaimRecord | None:
        self._listener.ensure_listening()
        return await super().wait_until_ended(claim_id, timeout)

    async def decided(self, approval_id: str, timeout: float) -> Approval | None:
        self._listener.ensure_listening()
        return await super().decided(approval_id, timeout)

    async def claims(
        self,
        *,
        states: Sequence[State] = (),
        tenant: str | None = None,
        principal: str | None = None,
        after: Cursor | None = None,
        limit: int = 100,
    ) -> list[ClaimRecord]:
        values = ([state.value for state in states or State], tenant, principal, *(after or (None, None)), limit)
        return [claim_of(row) for row in await self._fetch("claims", *values)]

    async def approval(self, approval_id: str) -> Approval | None:
        rows = await self._fetch("approval", [approval_id])
        return approval_of(rows[0]) if rows else None

    async def approval_for(self, binding: str, now: float) -> Approval | None:
        rows = await self._fetch("approval_for", binding, now)
        return approval_of(rows[0]) if rows else None

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
        count, soonest = (await self._fetch("count_pending", now, tenant, requester))[0]
        return count, soonest

    async def decided_approvals(
        self, *, tenant: str | None = None, requester: str | None = None, limit: int = 100
    ) -> list[Approval]:
        return [approval_of(row) for row in await self._fetch("decided_approvals", tenant, requester, limit)]

    async def last_used_approval(self, tenant: str, requester: str, tool: str, before: float) -> Approval | None:
        rows = await self._fetch("used_approval", tenant, requester, tool, before)
        return approval_of(rows[0]) if rows else None

    async def key_by_digest(self, digest: str) -> KeyRecord | None:
        rows = await self._fetch("key", [digest])
        return key_of(rows[0]) if rows else None

    async def keys(self, *, start: str = "", limit: int = 1000) -> list[KeyRecord]:
        return [key_of(row) for row in await self._fetch("keys", start, limit)]

    async def document(self, kind: str, id: str, now: float) -> Document | None:
        found = [Document(*row) for row in await self._fetch("document", [kind], [id])]
        return found[0] if found and not found[0].is_expired(now) else None

    async def documents(
        self, kind: str, now: float, *, tenant: str | None = None, after: str = "", limit: int = 1000
    ) -> list[Document]:
        return [Document(*row) for row in await self._fetch("documents", kind, now, tenant, after, limit)]

    async def rehearsed(self, digest: str) -> Rehearsal | None:
        rows = await self._fetch("rehearsed", digest)
        return Rehearsal(*rows[0]) if rows else None

    def check(self) -> None:
        self._writer.check()

    def append(self, entry: Entry) -> None:
        self._writer.note(entry_row(entry))

    async def entries(self, *, after: int = -1, limit: int = 1000) -> list[LogEntry]:
        return [logged(*row) for row in await self._fetch("entries", after, limit)]

    async def sealed(self, *, after: int = -1, limit: int = 1000) -> list[RawLogRow]:
        return [RawLogRow(*row) for row in await self._fetch("entries", after, limit)]

    async def leaves(self, start: int, stop: int) -> list[bytes]:
        return [row[0] for row in await self._fetch("leaves", start, stop)]

    async def length(self) -> int:
        rows = await self._fetch("length")
        count: int = rows[0][0]
        return count

    async def close(self) -> None:
        """Close the store; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        await self._listener.close()
        try:
            await self._writer.close()
        finally:
            if self._pool is not None:
                with suppress(*FAILURES):
                    await asyncio.wait_for(self._pool.close(), 5.0)
