"""The SQLite store.

Reads use their own connection on the caller's thread: a look-up costs less than handing it to another thread.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from assent.core.audit import Entry
from assent.errors import StoreError
from assent.stores.batched_store import entry_row
from assent.stores.operations import StoreOperation
from assent.stores.record_rules import Records
from assent.stores.sql_store import SqlStore
from assent.stores.sqlite.database_file import BUSY, failure, open_reader, open_writer, watch
from assent.stores.sqlite.tables import Tables
from assent.stores.sqlite.writer import SqliteWriter

T = TypeVar("T")


class SqliteStore(SqlStore):
    """A store in one file, which several processes on one machine may share."""

    def __init__(self, path: Path, *, busy: float = BUSY) -> None:
        writing = open_writer(path, busy)
        self._path, self._reader = path, open_reader(path)
        self._tables = Tables(self._reader)
        self._writer = SqliteWriter(writing, partial(failure, path), watch(path))
        self.check = self._writer.check
        super().__init__(self._writer.run)

    def _run_query(self, query: Callable[[Tables], T]) -> T:
        try:
            return query(self._tables)
        except sqlite3.ProgrammingError:
            raise StoreError("The store is closed.") from None
        except sqlite3.Error as error:
            raise failure(self._path, error) from error

    async def _fetch(self, name: str, *values: Any) -> list[Any]:
        return self._run_query(lambda tables: tables.rows(name, values))

    _fetch_by_id = _fetch

    def _list_value(self, values: list[str]) -> str:
        return json.dumps(values)

    async def _load_records(self, operation: StoreOperation[Any]) -> Records:
        return self._run_query(lambda tables: tables.load([operation]))

    def append(self, entry: Entry) -> None:
        self._writer.note(entry_row(entry))

    async def close(self) -> None:
        """Close the store; a second call does nothing.

        The reader closes first, so that the last connection merges the write-ahead log into the file.
        """
        with suppress(sqlite3.Error):
            self._reader.close()
        await self._writer.close()

    @property
    def keeps_erased(self) -> bool:
        """Whether erased values are still in the write-ahead log, because another process reads."""
        return self._writer.keeps_erased
