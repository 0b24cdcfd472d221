"""The SQLite store.

Reads use their own connection on the caller's thread: a look-up costs less than handing it to another thread.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
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
from assent.stores.record_rules import Records
from assent.stores.rows import entry_row
from assent.stores.sqlite.database_file import BUSY, failure, open_reader, open_writer, watch
from assent.stores.sqlite.tables import Tables
from assent.stores.sqlite.writer import SqliteWriter

T = TypeVar("T")


class SqliteStore(BatchedStore):
    """A store in one file, which several processes on one machine may share."""

    def __init__(self, path: Path, *, busy: float = BUSY) -> None:
        super().__init__()
        writing = open_writer(path, busy)
        self._path, self._reader = path, open_reader(path)
        self._tables = Tables(self._reader)
        self._writer = SqliteWriter(writing, partial(failure, path), watch(path))

    def _read(self, query: Callable[[Tables], T]) -> T:
        try:
            return query(self._tables)
        except sqlite3.ProgrammingError:
            raise StoreError("The store is closed.") from None
        except sqlite3.Error as error:
            raise failure(self._path, error) from error

    def _change(self, operation: StoreOperation[T]) -> Awaitable[T]:
        return self._writer.run(operation)

    async def _sweep(self, sweep: Sweep) -> Pruned:
        return await self._writer.sweep(sweep)

    async def _loaded(self, operation: StoreOperation[Any]) -> Records:
        return self._read(lambda tables: tables.load([operation]))

    async def claim_by_id(self, claim_id: str) -> ClaimRecord | None:
        return self._read(lambda tables: tables.recall(claim_id))

    async def claims(
        self,
        *,
        states: Sequence[State] = (),
        tenant: str | None = None,
        principal: str | None = None,
        after: Cursor | None = None,
        limit: int = 100,
    ) -> list[ClaimRecord]:
        return self._read(lambda tables: tables.claims(states, tenant, principal, after, limit))

    async def approval(self, approval_id: str) -> Approval | None:
        return self._read(lambda tables: tables.approval(approval_id))

    async def approval_for(self, binding: str, now: float) -> Approval | None:
        return self._read(lambda tables: tables.approval_for(binding, now))

    async def approvals(
        self,
        *,
        tenant: str | None = None,
        requester: str | None = None,
        pending_at: float | None = None,
        after: Cursor | None = None,
        limit: int = 100,
    ) -> list[Approval]:
        return self._read(lambda tables: tables.approvals(tenant, requester, pending_at, after, limit))

    async def urgent_approvals(
        self, now: float, *, tenant: str | None = None, requester: str | None = None, skip: int = 0, limit: int = 100
    ) -> list[Approval]:
        return self._read(lambda tables: tables.urgent_approvals(now, tenant, requester, skip, limit))

    async def count_pending(
        self, now: float, *, tenant: str | None = None, requester: str | None = None
    ) -> tuple[int, float | None]:
        return self._read(lambda tables: tables.count_pending(now, tenant, requester))

    async def decided_approvals(
        self, *, tenant: str | None = None, requester: str | None = None, limit: int = 100
    ) -> list[Approval]:
        return self._read(lambda tables: tables.decided_approvals(tenant, requester, limit))

    async def last_used_approval(self, tenant: str, requester: str, tool: str, before: float) -> Approval | None:
        return self._read(lambda tables: tables.last_used_approval(tenant, requester, tool, before))

    async def key_by_digest(self, digest: str) -> KeyRecord | None:
        return self._read(lambda tables: tables.key(digest))

    async def keys(self, *, start: str = "", limit: int = 1000) -> list[KeyRecord]:
        return self._read(lambda tables: tables.keys(start, limit))

    async def document(self, kind: str, id: str, now: float) -> Document | None:
        return self._read(lambda tables: tables.document(kind, id, now))

    async def documents(
        self, kind: str, now: float, *, tenant: str | None = None, after: str = "", limit: int = 1000
    ) -> list[Document]:
        return self._read(lambda tables: tables.documents(kind, now, tenant, after, limit))

    async def rehearsed(self, digest: str) -> Rehearsal | None:
        return self._read(lambda tables: tables.rehearsed(digest))

    def check(self) -> None:
        self._writer.check()

    def append(self, entry: Entry) -> None:
        self._writer.note(entry_row(entry))

    async def entries(self, *, after: int = -1, limit: int = 1000) -> list[LogEntry]:
        return self._read(lambda tables: tables.entries(after, limit))

    async def sealed(self, *, after: int = -1, limit: int = 1000) -> list[RawLogRow]:
        return self._read(lambda tables: tables.sealed(after, limit))

    async def leaves(self, start: int, stop: int) -> list[bytes]:
        return self._read(lambda tables: tables.leaves(start, stop))

    async def length(self) -> int:
        return self._read(lambda tables: tables.length())

    async def close(self) -> None:
        """Close the store; a second call does nothing.

        The reader closes first, so that the last connection merges the write-ahead log into the file.
        """
        with suppress(sqlite3.Error):
            self._reader.close()
        await self._writer.close()
