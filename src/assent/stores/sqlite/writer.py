"""How do many small changes share one commit?

One thread, one connection. Whatever has arrived while the last commit was on its way to the disk goes into the next.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from assent.errors import AssentError, StoreError
from assent.stores.rows import EntryRow
from assent.stores.sqlite.tables import Tables

T = TypeVar("T")
Operation = Callable[[Tables], T]

MOST_PER_COMMIT = 1000
MOST_NOTES = 100_000
LINGER = 0.01
"""Seconds that notes wait for company: they hold nobody up, and a commit each would."""
_ITS_OWN = (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.ProgrammingError, sqlite3.InterfaceError)


@dataclass(slots=True, eq=False)
class _Order:
    """An operation, who waits for it, and how it ended."""

    operation: Operation[Any]
    future: asyncio.Future[Any]
    value: Any = None
    error: Exception | None = None


class Writer:
    """The one that writes. What it has reported is durable."""

    def __init__(self, connection: sqlite3.Connection, failure: Callable[[Exception], StoreError]) -> None:
        self._connection, self._tables, self._failure = connection, Tables(connection), failure
        self._items: deque[_Order | EntryRow] = deque()
        self._unkept: list[EntryRow] = []
        self._broken: StoreError | None = None
        self._stirring = self._closed = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._work, name="assent-store", daemon=True)
        self._thread.start()

    async def run(self, operation: Operation[T]) -> T:
        """Run an operation in the next transaction; returns after its commit."""
        self._check_open()
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._items.append(_Order(operation, future))
        self._wake.set()
        return await future

    def note(self, row: EntryRow) -> None:
        """Append an entry soon. While earlier ones could not be kept, try those again and take no more."""
        self._check_open()
        if self._broken is not None:
            self._wake.set()
            raise StoreError(str(self._broken))
        if len(self._items) >= MOST_NOTES:
            raise StoreError(f"{MOST_NOTES} entries wait to be kept: the disk does not keep up.")
        self._items.append(row)
        self._stir()

    def _stir(self) -> None:
        if self._stirring:
            return
        try:
            asyncio.get_running_loop().call_later(LINGER, self._wake.set)
            self._stirring = True
        except RuntimeError:
            self._wake.set()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("The store is closed.")

    async def close(self) -> None:
        """Write what is left and stop. Raises StoreError if some of it could not be kept."""
        if self._closed:
            return
        self._closed = True
        self._wake.set()
        await asyncio.to_thread(self._thread.join)
        if self._unkept:
            raise StoreError(f"{len(self._unkept)} entries were not kept. {self._broken}")

    def _work(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            self._stirring = False
            last = self._closed
            while self._items or self._unkept:
                self._write(self._next())
                if self._broken is not None and not self._items:
                    break
            if last:
                self._connection.close()
                return

    def _next(self) -> list[_Order | EntryRow]:
        count = min(len(self._items), MOST_PER_COMMIT)
        return [self._items.popleft() for _ in range(count)]

    def _write(self, batch: Sequence[_Order | EntryRow]) -> None:
        """One transaction, all of it or nothing; entries that were not kept come first in the next one."""
        orders = [item for item in batch if isinstance(item, _Order)]
        try:
            self._transact(batch)
            self._unkept, self._broken = [], None
        except Exception as error:
            self._broken = self._failure(error)
            self._unkept += [item for item in batch if isinstance(item, EntryRow)]
            for order in orders:
                order.value, order.error = None, StoreError(str(self._broken))
        _report(orders)

    def _transact(self, batch: Sequence[_Order | EntryRow]) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            rows = list(self._unkept)
            for item in batch:
                if isinstance(item, EntryRow):
                    rows.append(item)
                    continue
                self._tables.append(rows)
                rows.clear()
                self._perform(item)
            self._tables.append(rows)
            self._connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise

    def _perform(self, order: _Order) -> None:
        """One operation in a savepoint: its own failure is undone alone, the database's fails the whole batch."""
        self._connection.execute("SAVEPOINT operation")
        try:
            order.value = order.operation(self._tables)
        except AssentError as error:
            order.error = error
        except _ITS_OWN as error:
            order.error = StoreError(f"The database refused what was to be kept: {error}.")
        except sqlite3.Error:
            raise
        except Exception as error:
            order.error = StoreError(f"What was to be kept could not be written: {error}.")
        if order.error is not None:
            self._connection.execute("ROLLBACK TO operation")
        self._connection.execute("RELEASE operation")


def _report(orders: Sequence[_Order]) -> None:
    """Tell those who wait, each in its own loop."""
    loops: dict[asyncio.AbstractEventLoop, list[_Order]] = {}
    for order in orders:
        loops.setdefault(order.future.get_loop(), []).append(order)
    for loop, theirs in loops.items():
        with suppress(RuntimeError):  # the loop has ended, and nobody waits any more
            loop.call_soon_threadsafe(_resolve, theirs)


def _resolve(orders: Sequence[_Order]) -> None:
    for order in orders:
        if order.future.done():
            continue
        if order.error is not None:
            order.future.set_exception(order.error)
        else:
            order.future.set_result(order.value)
