"""How does SQLite keep the store's promises?

Reads go straight to a connection of their own, on the caller's thread: a look-up costs less than handing it over.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from assent.core.approval import Approval, Decision
from assent.core.audit import Entry
from assent.core.claims import ClaimRecord, Settlement, State
from assent.errors import StoreError
from assent.ports import Logged, Rehearsal
from assent.stores.rows import entry_row, entry_rows
from assent.stores.sqlite.file import BUSY, failure, open_reader, open_writer
from assent.stores.sqlite.tables import Tables
from assent.stores.sqlite.writer import Writer
from assent.stores.waiting import Waiters

T = TypeVar("T")


class SqliteStore:
    """A store in one file. Several processes may share it on one machine."""

    def __init__(self, path: Path, *, busy: float = BUSY) -> None:
        writing = open_writer(path, busy)
        self._path, self._reader = path, open_reader(path)
        self._tables = Tables(self._reader)
        self._writer = Writer(writing, partial(failure, path))
        self._waiters = Waiters(self.recall)

    def _read(self, look: Callable[[Tables], T]) -> T:
        try:
            return look(self._tables)
        except sqlite3.ProgrammingError:
            raise StoreError("The store is closed.") from None
        except sqlite3.Error as error:
            raise failure(self._path, error) from error

    async def recall(self, claim_id: str) -> ClaimRecord | None:
        return self._read(lambda tables: tables.recall(claim_id))

    async def claim(self, draft: ClaimRecord, entry: Entry, approval: str | None, now: float) -> ClaimRecord:
        row = entry_row(entry)
        return await self._writer.run(lambda tables: tables.claim(draft, row, approval, now))

    async def retake(
        self, claim_id: str, epoch: int, lease_until: float, now: float, entry: Entry
    ) -> ClaimRecord | None:
        row = entry_row(entry)
        return await self._writer.run(lambda tables: tables.retake(claim_id, epoch, lease_until, now, row))

    async def settle(self, claim_id: str, epoch: int, settlement: Settlement, entries: Sequence[Entry]) -> bool:
        rows = entry_rows(entries)
        done = await self._writer.run(lambda tables: tables.settle(claim_id, epoch, settlement, rows))
        if done:
            self._waiters.wake(claim_id)
        return done

    async def extend(self, leases: Sequence[tuple[str, int]], lease_until: float) -> None:
        held = list(leases)
        await self._writer.run(lambda tables: tables.extend(held, lease_until))

    async def ended(self, claim_id: str, timeout: float) -> ClaimRecord | None:
        return await self._waiters.ended(claim_id, timeout)

    async def claims(self, *, states: Sequence[State] = (), limit: int = 100) -> list[ClaimRecord]:
        return self._read(lambda tables: tables.claims(states, limit))

    async def ask(self, draft: Approval, now: float, most_pending: int, entry: Entry) -> Approval:
        row = entry_row(entry)
        return await self._writer.run(lambda tables: tables.ask(draft, now, most_pending, row))

    async def decide(self, approval_id: str, decision: Decision, now: float, entry: Entry) -> Approval | None:
        row = entry_row(entry)
        return await self._writer.run(lambda tables: tables.decide(approval_id, decision, now, row))

    async def approval(self, approval_id: str) -> Approval | None:
        return self._read(lambda tables: tables.approval(approval_id))

    async def approval_for(self, binding: str, now: float) -> Approval | None:
        return self._read(lambda tables: tables.approval_for(binding, now))

    async def approvals(self, *, tenant: str | None = None, limit: int = 100) -> list[Approval]:
        return self._read(lambda tables: tables.approvals(tenant, limit))

    async def remember(self, rehearsal: Rehearsal, entry: Entry) -> None:
        row = entry_row(entry)
        await self._writer.run(lambda tables: tables.remember(rehearsal, row))

    async def rehearsed(self, digest: str) -> Rehearsal | None:
        return self._read(lambda tables: tables.rehearsed(digest))

    def note(self, entry: Entry) -> None:
        self._writer.note(entry_row(entry))

    async def entries(self, *, after: int = -1, limit: int = 1000) -> list[Logged]:
        return self._read(lambda tables: tables.entries(after, limit))

    async def flush(self) -> None:
        await self._writer.run(lambda tables: None)

    async def close(self) -> None:
        """Safe to repeat. The reader goes first, so that the last one out folds the write-ahead log into the file."""
        with suppress(sqlite3.Error):
            self._reader.close()
        await self._writer.close()
