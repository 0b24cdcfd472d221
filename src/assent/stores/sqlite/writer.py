"""Batches changes into commits.

One thread writes on one connection. Everything that arrives during a commit goes into the next one, together with
the writes of other calls at the same time (`CommitBatcher`).
"""

from __future__ import annotations

import asyncio
import atexit
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from assent.audit.leaf import Sealed
from assent.errors import StoreError
from assent.stores.batching import LINGER, MOST_NOTES, CommitBatcher, Item, apply, operations_in, take_batch
from assent.stores.operations import StoreOperation, Sweep
from assent.stores.record_rules import Records
from assent.stores.sqlite.database_file import try_until, wait_to_begin
from assent.stores.sqlite.tables import Tables

_BAD_VALUE = (
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.ProgrammingError,
    sqlite3.InterfaceError,
    OverflowError,
    UnicodeError,
)
"""Errors about the values given, not about the database itself."""
_PURGE_EVERY = 1.0
_PURGE_WITHIN = 0.25
"""Seconds for which calls wait while erased values are removed from the write-ahead log."""


class SqliteWriter:
    """The only writer of this process. What it has reported is durable."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        failure: Callable[[Exception], StoreError],
        check_file: Callable[[], None] = lambda: None,
    ) -> None:
        self._connection, self._tables, self._failure = connection, Tables(connection), failure
        self._check_file = check_file
        self._patience = self._tables.take_patience()
        """Seconds to wait for the turn of another process."""
        self._items: deque[Item] = deque()
        self._unwritten: list[Sealed] = []
        self._broken: StoreError | None = None
        self._commit_batcher = CommitBatcher(self._accept)
        self._wake_scheduled = self._closed = self._erased_in_wal = False
        self._wakeups: SimpleQueue[None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="assent-store", daemon=True)
        self._thread.start()
        atexit.register(self._finish)

    def run(self, operation: StoreOperation[Any]) -> asyncio.Future[Any]:
        """Run an operation in the next transaction; done after its commit."""
        if self._closed:
            raise _closed()
        loop = asyncio.get_running_loop()
        operation.future = future = loop.create_future()
        self._commit_batcher.add(operation, loop)
        return future

    def _accept(self, operations: Sequence[StoreOperation[Any]]) -> None:
        self._items.extend(operations)
        self._wakeups.put(None)

    def note(self, row: Sealed) -> None:
        """Append an entry with the next batch; raises if the writer takes no entries now."""
        self.check()
        self._items.append(row)
        self._wake_soon()

    def check(self) -> None:
        """Raise StoreError if no entries are taken: the store is closed, behind, or could not write earlier ones,
        which it retries.
        """
        if self._closed:
            raise _closed()
        if self._broken is not None:
            self._wakeups.put(None)
            raise StoreError(str(self._broken))
        if len(self._items) >= MOST_NOTES:
            raise StoreError(f"{MOST_NOTES} audit entries wait to be written: the disk is too slow.")

    def _wake_soon(self) -> None:
        if self._wake_scheduled:
            return
        try:
            asyncio.get_running_loop().call_later(LINGER, self._wakeups.put, None)
            self._wake_scheduled = True
        except RuntimeError:
            self._wakeups.put(None)

    async def close(self) -> None:
        """Write what is left and stop. Raises StoreError if some entries could not be written."""
        if self._closed:
            return
        await asyncio.to_thread(self._finish)
        if self._unwritten:
            raise StoreError(f"{len(self._unwritten)} audit entries were not written. {self._broken}")

    def _finish(self) -> None:
        """Let the thread write what is left, and end it. Also runs when the process exits without `close`."""
        atexit.unregister(self._finish)
        self._closed = True
        self._commit_batcher.release()
        self._thread.join()

    def _work(self) -> None:
        while True:
            self._wait_for_work()
            self._wake_scheduled = False
            last = self._closed
            while self._items or self._unwritten or self._broken is not None:
                self._write(*take_batch(self._items))
                if self._broken is not None and not self._items:
                    break
            if last:
                self._purge_erased(erased=False, within=self._patience)  # No other process will do it.
                self._connection.close()
                return

    @property
    def keeps_erased(self) -> bool:
        """Whether erased values are still in the write-ahead log, because another connection reads."""
        return self._erased_in_wal

    def _wait_for_work(self) -> None:
        while self._erased_in_wal:
            try:
                self._wakeups.get(timeout=_PURGE_EVERY)
                break
            except Empty:
                self._purge_erased(erased=False, within=0.0)
        else:
            self._wakeups.get()
        while not self._wakeups.empty():
            self._wakeups.get()

    def _write(self, batch: Sequence[Item], operations: Sequence[StoreOperation[Any]]) -> None:
        """Write one transaction, all or nothing. Entries that could not be written come first in the next one."""
        try:
            self._transact(batch, operations)
            self._unwritten, self._broken = [], None
        except _BAD_VALUE as error:
            if len(batch) > 1:  # One item is at fault: write each on its own.
                for item in batch:
                    self._write([item], operations_in([item]))
                return
            refused = StoreError(f"The database refused a value: {error}.")
            for operation in operations:
                operation.fail(refused)
        except Exception as error:
            self._broken = self._failure(error)
            self._unwritten += [item for item in batch if isinstance(item, Sealed)]
            for operation in operations:
                operation.fail(self._broken)
        self._report(operations)

    def _transact(self, batch: Sequence[Item], operations: Sequence[StoreOperation[Any]]) -> None:
        self._check_file()
        wait_to_begin(self._connection, self._patience)
        try:
            records = self._apply_and_write(batch, operations)
            for operation in operations:
                if isinstance(operation, Sweep):
                    operation.value = self._tables.prune(operation)
            self._connection.execute("COMMIT")
            self._tables.started.remember(records)
            if records.changed.places or self._erased_in_wal:
                self._purge_erased(erased=bool(records.changed.places), within=_PURGE_WITHIN)
        except BaseException:
            self._tables.started.forget()
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise

    def _apply_and_write(self, batch: Sequence[Item], operations: Sequence[StoreOperation[Any]]) -> Records:
        """Apply the batch and write it. If an assumed claim has changed, read all of them and start over."""
        records = self._apply(batch, self._tables.load(operations, trusting=True))
        if not self._tables.try_to_keep(operations, records):
            self._connection.execute("ROLLBACK")
            wait_to_begin(self._connection, self._patience)
            records = self._apply(batch, self._tables.load(operations))
            self._tables.keep(records)
        return records

    def _apply(self, batch: Sequence[Item], records: Records) -> Records:
        records.append(self._unwritten)
        apply(batch, records)
        return records

    def _purge_erased(self, *, erased: bool, within: float) -> None:
        """Remove erased values from the write-ahead log. While another connection reads that fails, and is tried
        again after each commit, each second and at the end.
        """
        if erased or self._erased_in_wal:
            patience = min(self._patience, within) if erased or self._closed else 0.0
            self._erased_in_wal = not try_until(self._tables.truncate_wal, patience)

    def _report(self, operations: Sequence[StoreOperation[Any]]) -> None:
        """Resolve the futures of the callers, each in its own event loop."""
        loops = {operation.future.get_loop() for operation in operations}
        for loop in loops:
            own = operations if len(loops) == 1 else [one for one in operations if one.future.get_loop() is loop]
            with suppress(RuntimeError):  # The event loop has ended, so no caller waits.
                loop.call_soon_threadsafe(self._resolve, own)

    def _resolve(self, operations: Sequence[StoreOperation[Any]]) -> None:
        self._commit_batcher.note_commit(len(operations))
        for operation in operations:
            operation.report()


def _closed() -> StoreError:
    return StoreError("The store is closed.")
