"""How do many small changes share one transaction, and how do several processes take turns?

One task, one connection. Whatever has arrived while the last transaction was under way goes into the next. Each begins
by locking the log's head, so writers of all processes take turns, and no two changes of a record can cross.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeVar

import asyncpg

from assent.audit.leaf_encoder import Sealed
from assent.errors import StoreError
from assent.ports import Pruned
from assent.stores.batching import (
    LINGER,
    MOST_NOTES,
    Item,
    PendingWrite,
    apply,
    operations_in,
    orders_in,
    sweeps_in,
    take,
)
from assent.stores.operations import Order, StoreOperation, Sweep
from assent.stores.optimistic_claims import OptimisticClaims
from assent.stores.postgres import tables
from assent.stores.postgres.database import FAILURES, Database
from assent.stores.record_rules import Records

T = TypeVar("T")
TRIES = 5
_AGAIN = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)
_ITS_OWN = (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError, UnicodeError, OverflowError)
"""What the database finds wrong with what it is given, not with itself. asyncpg.DataError is its client side's too."""


class PostgresWriter:
    """The one that writes. What it has reported is durable."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: Any = None
        self._items: deque[Item] = deque()
        self._unkept: list[Sealed] = []
        self._broken: StoreError | None = None
        self._started = OptimisticClaims()
        self._closed = False
        self._task: asyncio.Task[None] | None = None

    async def run(self, operation: StoreOperation[T]) -> T:
        """Run an operation in the next transaction; returns after its commit."""
        return await self._ordered(operation)  # type: ignore[no-any-return]

    async def sweep(self, sweep: Sweep) -> Pruned:
        return await self._ordered(sweep)  # type: ignore[no-any-return]

    async def _ordered(self, order: Order) -> Any:
        self._check_open()
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._items.append(PendingWrite(order, future))
        self._work_soon(0)
        return await future

    def note(self, row: Sealed) -> None:
        """Append an entry soon, unless none are taken."""
        self.check()
        self._items.append(row)
        self._work_soon(LINGER)

    def check(self) -> None:
        """Whether entries are taken. While earlier ones could not be kept they are not, and those are tried again."""
        self._check_open()
        if self._broken is not None:
            self._work_soon(LINGER)
            raise StoreError(str(self._broken))
        if len(self._items) >= MOST_NOTES:
            raise StoreError(f"{MOST_NOTES} entries wait to be kept: the database does not keep up.")

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("The store is closed.")

    def _work_soon(self, seconds: float) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._work(seconds))
            self._hurry = asyncio.Event()
        if seconds == 0:
            self._hurry.set()

    async def _work(self, linger: float) -> None:
        """Until nothing is left. Notes alone wait a little for company; an operation ends their wait."""
        if linger:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), linger)
        while self._items or self._unkept or self._broken is not None:
            await self._write(take(self._items))
            if self._broken is not None and not self._items:
                return

    async def close(self) -> None:
        """Write what is left and stop. Raises StoreError if some of it could not be kept."""
        if self._closed:
            return
        self._closed = True
        if self._task is not None and not self._task.done():
            self._hurry.set()
            await self._task
        if self._unkept:
            await self._write([])
        await self._disconnect()
        if self._unkept:
            raise StoreError(f"{len(self._unkept)} entries were not kept. {self._broken}")

    async def _write(self, batch: Sequence[Item]) -> None:
        """One transaction, all of it or nothing; entries that were not kept come first in the next one."""
        orders = orders_in(batch)
        try:
            await self._transact(batch)
            self._unkept, self._broken = [], None
        except _ITS_OWN as error:
            if len(batch) > 1:  # one of them is to blame: each on its own
                for item in batch:
                    await self._write([item])
                return
            refused = StoreError(f"The database refused what was to be kept: {error}.")
            for order in orders:
                order.fail(refused)
        except Exception as error:
            await self._disconnect()
            self._broken = self._database.failure(error)
            self._unkept += [item for item in batch if isinstance(item, Sealed)]
            for order in orders:
                order.fail(self._broken)
        for order in orders:
            order.report()

    async def _transact(self, batch: Sequence[Item]) -> None:
        """Tried again where nothing was written for sure: two changes crossed, or the connection was cut before the
        commit. An effect that has happened must not end in doubt because a session did."""
        for attempt in range(TRIES):
            connection = await self._connected()
            try:
                return await self._try(connection, batch)
            except FAILURES as error:
                if attempt == TRIES - 1 or not (isinstance(error, _AGAIN) or connection.is_closed()):
                    raise

    async def _try(self, connection: Any, batch: Sequence[Item]) -> None:
        orders = orders_in(batch)
        try:
            await connection.execute(tables.SQL["begin"])
            records = await self._changed(connection, batch, operations_in(orders))
            first = await tables.keep_rest(connection, records)
            for item, sweep in sweeps_in(orders):
                item.value = await tables.prune(connection, sweep)
        except BaseException:
            self._started.forget()
            await self._undo(connection)
            raise
        try:
            await connection.execute("COMMIT")
        except FAILURES as error:
            self._started.forget()
            if not await self._committed(first, records.changed.entries, error):
                raise
        self._started.remember(records)

    async def _changed(
        self, connection: Any, batch: Sequence[Item], operations: Sequence[StoreOperation[Any]]
    ) -> Records:
        """The records after the batch, the claims written. They are looked up where they are not as was thought."""
        records = self._applied(batch, await tables.load(connection, operations, self._started))
        if self._started.can_write_optimistically(operations, records) and await tables.keep_claims(
            connection, records
        ):
            return records
        self._started.forget()
        await connection.execute("ROLLBACK")
        await connection.execute(tables.SQL["begin"])
        records = self._applied(batch, await tables.load(connection, operations))
        if not await tables.keep_claims(connection, records):
            raise StoreError("Claims changed while their writer had its turn. Look who else writes to this database.")
        return records

    def _applied(self, batch: Sequence[Item], records: Records) -> Records:
        records.append(self._unkept)
        apply(batch, records)
        return records

    async def _undo(self, connection: Any) -> None:
        try:
            await connection.execute("ROLLBACK", timeout=2.0)
        except BaseException:
            await self._disconnect()

    async def _committed(self, first: int | None, rows: Sequence[Sealed], error: BaseException) -> bool:
        """Whether a transaction whose COMMIT was not answered took place: our entries stand where they were put.

        The log's head is taken first, for the commit may still be under way. Where nobody can say, it has failed.
        """
        await self._disconnect()
        if first is None:
            raise self._database.failure(error) from error
        try:
            connection = await self._connected()
            await connection.execute(tables.SQL["begin"])
            found = await connection.fetch(tables.SQL["leaves"], first, first + len(rows))
            await connection.execute("ROLLBACK")
        except FAILURES:
            raise self._database.failure(error) from error
        return [row[0] for row in found] == [row.leaf for row in rows]

    async def _connected(self) -> Any:
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
