"""The PostgreSQL store.

It holds no connection while a call runs: a read borrows one for one statement, a change for one transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any, TypeVar

from assent.core.approval import Approval
from assent.core.audit import Entry
from assent.core.claims import ClaimRecord
from assent.errors import StoreError
from assent.stores.batched_store import entry_row
from assent.stores.operations import StoreOperation
from assent.stores.postgres.database import CUT, FAILURES, Database
from assent.stores.postgres.tables import CHANNEL, SQL, load
from assent.stores.postgres.writer import PostgresWriter
from assent.stores.record_rules import Records
from assent.stores.sql_store import SqlStore

T = TypeVar("T")
READERS = 4


class PostgresStore(SqlStore):
    """A store that any number of processes on any number of machines share.

    It connects at first use, or when `connect` is called. One event loop uses it.
    """

    def __init__(self, url: str) -> None:
        super().__init__(self._run)
        self._database = Database(url)
        self._writer = PostgresWriter(self._database)
        self.check = self._writer.check
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
                self._pool = await self._database.pool(READERS)
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
        found: list[Any] = await self._retry_read(lambda: self._run_query(lambda on: on.fetch(SQL[name], *values)))
        return found

    async def _fetch_by_id(self, name: str, *ids: str) -> list[Any]:
        return await self._fetch(name, *([one] for one in ids))

    def _list_value(self, values: list[str]) -> list[str]:
        return values

    def _run_query(self, query: Callable[[Any], Awaitable[T]]) -> Awaitable[T]:
        return self._database.run_query(self._pool, query)

    async def _retry_read(self, read: Callable[[], Awaitable[T]]) -> T:
        """Run a read, and repeat it if the session was cut: after a server restart, every session of the pool may
        be.
        """
        if self._pool is None or self._closed:
            await self.connect()
        for cut in range(READERS + 1):
            try:
                return await read()
            except FAILURES as error:
                if cut == READERS or not isinstance(error, CUT):
                    raise self._database.failure(error) from error
        raise AssertionError

    async def _run(self, operation: StoreOperation[Any]) -> Any:
        if self._pool is None:
            await self.connect()
        return await self._writer.run(operation)

    async def _load_records(self, operation: StoreOperation[Any]) -> Records:
        return await self._retry_read(lambda: self._run_query(lambda on: load(on, [operation])))

    async def wait_until_ended(self, claim_id: str, timeout: float) -> ClaimRecord | None:
        self._listener.ensure_listening()
        return await super().wait_until_ended(claim_id, timeout)

    async def decided(self, approval_id: str, timeout: float) -> Approval | None:
        self._listener.ensure_listening()
        return await super().decided(approval_id, timeout)

    def append(self, entry: Entry) -> None:
        self._writer.note(entry_row(entry))

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


PAUSE = 5.0
"""Seconds before a lost listener connects again."""


class NotifyListener:
    """A connection that only listens (LISTEN/NOTIFY); it opens when a caller first waits.

    It tells at once what another process has ended or decided. This only saves time: waiters also poll, so databases
    and poolers without LISTEN work too.
    """

    def __init__(self, database: Database, on_change: Callable[[Iterable[str]], None]) -> None:
        self._database, self._on_change = database, on_change
        self._connection: Any = None
        self._task: asyncio.Task[None] | None = None
        self._not_before = 0.0

    def ensure_listening(self) -> None:
        """Start to listen, unless that is already so or failed moments ago."""
        if self._database.pooled:  # A pooler's session would listen for whoever has it next.
            return
        listening = self._connection is not None and not self._connection.is_closed()
        loop = asyncio.get_running_loop()
        if listening or (self._task is not None and not self._task.done()) or loop.time() < self._not_before:
            return
        self._task = loop.create_task(self._listen())

    async def _listen(self) -> None:
        connection: Any = None
        try:
            connection = await self._database.connect()
            await connection.add_listener(CHANNEL, lambda *told: self._on_change(told[-1].split("\n")))
            self._connection = connection
        except (*FAILURES, StoreError):
            self._not_before = asyncio.get_running_loop().time() + PAUSE
            await _close(connection)

    async def close(self) -> None:
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        await _close(self._connection)


async def _close(connection: Any) -> None:
    if connection is not None:
        with suppress(*FAILURES):
            await connection.close(timeout=2.0)
