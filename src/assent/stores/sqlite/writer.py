"""How do many small changes share one commit?

One thread, one connection. Whatever has arrived while the last commit was on its way to the disk goes into the next,
and so does whoever comes at the same time (`gathering`).
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

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
from assent.stores.record_rules import Records
from assent.stores.sqlite.commit_batcher import CommitBatcher
from assent.stores.sqlite.tables import Tables

T = TypeVar("T")
_ITS_OWN = (
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.ProgrammingError,
    sqlite3.InterfaceError,
    OverflowError,
    UnicodeError,
)
"""What the database finds wrong with what it is given, not with itself."""


class SqliteWriter:
    """The one that writes. What it has reported is durable."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        failure: Callable[[Exception], StoreError],
        check_file: Callable[[], None] = lambda: None,
    ) -> None:
        self._connection, self._tables, self._failure = connection, Tables(connection), failure
        self._check_file = check_file
        self._items: deque[Item] = deque()
        self._unkept: list[Sealed] = []
        self._broken: StoreError | None = None
        self._commit_batcher = CommitBatcher(self._take_over)
        self._stirring = self._closed = self._traces = False
        self._calls: SimpleQueue[None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="assent-store", daemon=True)
        self._thread.start()

    def run(self, operation: StoreOperation[T]) -> asyncio.Future[T]:
        """Run an operation in the next transaction; done after its commit."""
        return self._ordered(operation)

    def sweep(self, sweep: Sweep) -> asyncio.Future[Pruned]:
        return self._ordered(sweep)

    def _ordered(self, order: Order) -> asyncio.Future[Any]:
        self._check_open()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._commit_batcher.add(PendingWrite(order, future), loop)
        return future

    def _take_over(self, orders: Sequence[PendingWrite]) -> None:
        self._items.extend(orders)
        self._calls.put(None)

    def note(self, row: Sealed) -> None:
        """Append an entry soon, unless none are taken."""
        self.check()
        self._items.append(row)
        self._stir()

    def check(self) -> None:
        """Whether entries are taken. While earlier ones could not be kept they are not, and those are tried again."""
        self._check_open()
        if self._broken is not None:
            self._calls.put(None)
            raise StoreError(str(self._broken))
        if len(self._items) >= MOST_NOTES:
            raise StoreError(f"{MOST_NOTES} entries wait to be kept: the disk does not keep up.")

    def _stir(self) -> None:
        if self._stirring:
            return
        try:
            asyncio.get_running_loop().call_later(LINGER, self._calls.put, None)
            self._stirring = True
        except RuntimeError:
            self._calls.put(None)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("The store is closed.")

    async def close(self) -> None:
        """Write what is left and stop. Raises StoreError if some of it could not be kept."""
        if self._closed:
            return
        self._closed = True
        self._commit_batcher.release()
        await asyncio.to_thread(self._thread.join)
        if self._unkept:
            raise StoreError(f"{len(self._unkept)} entries were not kept. {self._broken}")

    def _work(self) -> None:
        while True:
            self._wait_for_work()
            self._stirring = False
            last = self._closed
            while self._items or self._unkept or self._broken is not None:
                self._write(take(self._items))
                if self._broken is not None and not self._items:
                    break
            if last:
                self._forget(erased=False)
                self._connection.close()
                return

    def _wait_for_work(self) -> None:
        self._calls.get()
        while not self._calls.empty():
            self._calls.get()

    def _write(self, batch: Sequence[Item]) -> None:
        """One transaction, all of it or nothing; entries that were not kept come first in the next one."""
        orders = orders_in(batch)
        try:
            self._transact(batch, orders)
            self._unkept, self._broken = [], None
        except _ITS_OWN as error:
            if len(batch) > 1:  # one of them is to blame: each on its own
                for item in batch:
                    self._write([item])
                return
            refused = StoreError(f"The database refused what was to be kept: {error}.")
            for order in orders:
                order.fail(refused)
        except Exception as error:
            self._broken = self._failure(error)
            self._unkept += [item for item in batch if isinstance(item, Sealed)]
            for order in orders:
                order.fail(self._broken)
        self._report(orders)

    def _transact(self, batch: Sequence[Item], orders: Sequence[PendingWrite]) -> None:
        self._check_file()
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            records = self._changed(batch, operations_in(orders))
            for item, sweep in sweeps_in(orders):
                item.value = self._tables.prune(sweep)
            self._connection.execute("COMMIT")
            self._tables.committed(records)
            self._forget(erased=bool(records.changed.places))
        except BaseException:
            self._tables.forget()
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise

    def _changed(self, batch: Sequence[Item], operations: Sequence[StoreOperation[Any]]) -> Records:
        """The records after the batch, and written. Claims are looked up only where they are not as was thought."""
        records = self._applied(batch, self._tables.load(operations, trusting=True))
        if not self._tables.try_to_keep(operations, records):
            self._connection.execute("ROLLBACK")
            self._connection.execute("BEGIN IMMEDIATE")
            records = self._applied(batch, self._tables.load(operations))
            self._tables.keep(records)
        return records

    def _applied(self, batch: Sequence[Item], records: Records) -> Records:
        records.append(self._unkept)
        apply(batch, records)
        return records

    def _forget(self, *, erased: bool) -> None:
        """What was erased is still in the write-ahead log while somebody reads: then it is tried again later."""
        if erased or self._traces:
            self._traces = not self._tables.truncate_wal(wait=erased)

    def _report(self, orders: Sequence[PendingWrite]) -> None:
        """Tell those who wait, each in its own loop."""
        loops: dict[asyncio.AbstractEventLoop, list[PendingWrite]] = {}
        for order in orders:
            loops.setdefault(order.future.get_loop(), []).append(order)
        for loop, theirs in loops.items():
            with suppress(RuntimeError):  # the loop has ended, and nobody waits any more
                loop.call_soon_threadsafe(self._resolve, theirs)

    def _resolve(self, orders: Sequence[PendingWrite]) -> None:
        self._commit_batcher.note_activity()
        for order in orders:
            order.report()
