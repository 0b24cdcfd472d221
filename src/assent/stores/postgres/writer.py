"""Batches changes into transactions, one at a time across all processes.

One task writes on one connection. Everything that arrives during a transaction goes into the next one. Each
transaction starts by locking the log's head, so that writers of all processes take turns and two changes of a
record cannot conflict. See ADR 0010.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import asyncpg

from assent.audit.leaf import Sealed
from assent.errors import StoreError
from assent.stores.batching import LINGER, MOST_NOTES, Item, apply, operations_in, take_batch
from assent.stores.operations import StoreOperation, Sweep
from assent.stores.optimistic_claims import OptimisticClaims
from assent.stores.postgres import tables
from assent.stores.postgres.database import FAILURES, Database
from assent.stores.record_rules import Records

TRIES = 5
_RETRYABLE = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)
_BAD_VALUE = (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError, UnicodeError, OverflowError)
"""Errors about the values given, not about the database itself. asyncpg raises DataError on the client side too."""


class PostgresWriter:
    """The only writer of this process. What it has reported is durable."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: Any = None
        self._items: deque[Item] = deque()
        self._unwritten: list[Sealed] = []
        self._broken: StoreError | None = None
        self._started = OptimisticClaims()
        self._closed = False
        self._task: asyncio.Task[None] | None = None

    def run(self, operation: StoreOperation[Any]) -> asyncio.Future[Any]:
        """Run an operation in the next transaction; done after its commit."""
        self._check_open()
        operation.future = future = asyncio.get_running_loop().create_future()
        self._items.append(operation)
        self._schedule(0)
        return future

    def note(self, row: Sealed) -> None:
        """Append an entry with the next batch; raises if the writer takes no entries now."""
        self.check()
        self._items.append(row)
        self._schedule(LINGER)

    def check(self) -> None:
        """Raise StoreError if no entries are taken: the store is closed, behind, or could not write earlier ones,
        which it retries.
        """
        self._check_open()
        if self._broken is not None:
            self._schedule(LINGER)
            raise StoreError(str(self._broken))
        if len(self._items) >= MOST_NOTES:
            raise StoreError(
                f"{MOST_NOTES} audit entries wait to be written: the database is too slow. Check its load."
            )

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("The store is closed.")

    def _schedule(self, seconds: float) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._work(seconds))
            self._urgent = asyncio.Event()
        if seconds == 0:
            self._urgent.set()

    async def _work(self, linger: float) -> None:
        """Write until nothing is left. Notes alone wait briefly for more; an operation ends that wait."""
        if linger:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._urgent.wait(), linger)
        while self._items or self._unwritten or self._broken is not None:
            await self._write(*take_batch(self._items))
            if self._broken is not None and not self._items:
                return

    async def close(self) -> None:
        """Write what is left and stop. Raises StoreError if some entries could not be written."""
        if self._closed:
            return
        self._closed = True
        if self._task is not None and not self._task.done():
            self._urgent.set()
            await self._task
        if self._unwritten:
            await self._write([], [])
        await self._disconnect()
        if self._unwritten:
            raise StoreError(f"{len(self._unwritten)} audit entries were not written. {self._broken}")

    async def _write(self, batch: Sequence[Item], operations: Sequence[StoreOperation[Any]]) -> None:
        """Write one transaction, all or nothing. Entries that could not be written come first in the next one."""
        try:
            await self._transact(batch, operations)
            self._unwritten, self._broken = [], None
        except _BAD_VALUE as error:
            if len(batch) > 1:  # One item is at fault: write each on its own.
                for item in batch:
                    await self._write([item], operations_in([item]))
                return
            refused = StoreError(f"The database refused a value: {error}.")
            for operation in operations:
                operation.fail(refused)
        except Exception as error:
            await self._disconnect()
            self._broken = self._database.failure(error)
            self._unwritten += [item for item in batch if isinstance(item, Sealed)]
            for operation in operations:
                operation.fail(self._broken)
        for operation in operations:
            operation.report()

    async def _transact(self, batch: Sequence[Item], operations: Sequence[StoreOperation[Any]]) -> None:
        """Retry if certainly nothing was written: a conflict, or a connection cut before the commit.

        A lost session must not leave an effect in doubt that has taken place.
        """
        for attempt in range(TRIES):
            connection = await self._connect()
            try:
                return await self._try(connection, batch, operations)
            except FAILURES as error:
                if attempt == TRIES - 1 or not (isinstance(error, _RETRYABLE) or connection.is_closed()):
                    raise

    async def _try(self, connection: Any, batch: Sequence[Item], operations: Sequence[StoreOperation[Any]]) -> None:
        try:
            await connection.execute(self._database.begin(tables.SQL["begin"]))
            records = await self._apply_and_write_claims(connection, batch, operations)
            first = await tables.keep_rest(connection, records)
            for operation in operations:
                if isinstance(operation, Sweep):
                    operation.value = await tables.prune(connection, operation)
        except BaseException:
            self._started.forget()
            await self._roll_back(connection)
            raise
        try:
            await connection.execute("COMMIT")
        except FAILURES as error:
            self._started.forget()
            if not await self._was_committed(first, records.changed.entries, error):
                raise
        self._started.remember(records)

    async def _apply_and_write_claims(
        self, connection: Any, batch: Sequence[Item], operations: Sequence[StoreOperation[Any]]
    ) -> Records:
        """Apply the batch and write the claims. If an assumed claim has changed, read all of them and start over."""
        records = self._apply(batch, await tables.load(connection, operations, self._started))
        if self._started.can_write_optimistically(operations, records) and await tables.keep_claims(
            connection, records
        ):
            return records
        self._started.forget()
        await connection.execute("ROLLBACK")
        await connection.execute(self._database.begin(tables.SQL["begin"]))
        records = self._apply(batch, await tables.load(connection, operations))
        if not await tables.keep_claims(connection, records):
            raise StoreError(
                "Claims changed while this process held the lock. Find out which other program writes to this database."
            )
        return records

    def _apply(self, batch: Sequence[Item], records: Records) -> Records:
        records.append(self._unwritten)
        apply(batch, records)
        return records

    async def _roll_back(self, connection: Any) -> None:
        try:
            await connection.execute("ROLLBACK", timeout=2.0)
        except BaseException:
            await self._disconnect()

    async def _was_committed(self, first: int | None, rows: Sequence[Sealed], error: BaseException) -> bool:
        """Whether a transaction whose COMMIT got no answer took place: then our entries are in the log.

        Locks the log's head first, because the commit may still be running. Raises if the answer cannot be known.
        """
        await self._disconnect()
        if first is None:
            raise self._database.failure(error) from error
        try:
            connection = await self._connect()
            await connection.execute(self._database.begin(tables.SQL["begin"]))
            found = await connection.fetch(tables.SQL["leaves"], first, first + len(rows))
            await connection.execute("ROLLBACK")
        except FAILURES:
            raise self._database.failure(error) from error
        return [row[0] for row in found] == [row.leaf for row in rows]

    async def _connect(self) -> Any:
        if self._connection is not None and self._connection.is_closed():
            await self._disconnect()
        if self._connection is None:
            self._connection = await self._database.connect()
        return self._connection

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None or connection.is_closed():
            return
        with suppress(*FAILURES):
            await connection.close(timeout=2.0)
