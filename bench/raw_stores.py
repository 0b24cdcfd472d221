"""How fast does a database take the rows of claims and settlements from nobody but its driver?

The same rows, tables, indices, durability and commits as a store's, without rules, looks, sealing or anybody to answer.
*Raw* is the driver's own batched insert, `executemany`; *packed* puts many rows into a statement, by hand
(the forms differ by a fifth to a half, so the bar has to name one).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

from assent.core.claims import ClaimRecord
from assent.stores.batched_store import claim_row, entry_row, move_row
from assent.stores.migrations import for_rows, statements
from assent.stores.sqlite.database_file import open_writer
from assent.stores.sqlite.tables import AT_ONCE
from bench.claims import END, intent, outcome

Batches = Sequence[tuple[str, list[Any], list[Any]]]
"""For each commit, what to do with the claims, their rows, and the rows of their entries."""
ENDING = "UPDATE claims SET state = {}, epoch = {}, lease_until = {}, valid_until = {}, settled_at = {}, result = {}"
ENDING += ", charges = {} WHERE id = {} AND epoch = {} AND state = {}"


def raw_batches(drafts: Sequence[ClaimRecord]) -> Batches:
    """The claims with their intents, then their ends with their outcomes."""
    first = [claim_row(draft) for draft in drafts], [entry_row(intent(draft)) for draft in drafts]
    second = [move_row(draft.settled(END), draft) for draft in drafts], [entry_row(outcome(draft)) for draft in drafts]
    return [("add_claim", *first), ("move_claim", *second)]


class Raw(Protocol):
    async def write(self, batches: Batches) -> None: ...


class RawSqlite:
    """Each row for itself, as the driver's batched insert takes them."""

    def __init__(self, path: Path) -> None:
        self._connection, self._sql = open_writer(path), statements("sqlite")

    async def write(self, batches: Batches) -> None:
        for change, claims, entries in batches:
            self._connection.execute("BEGIN IMMEDIATE")
            self._many(change, claims)
            self._many("append", entries)
            self._connection.execute("COMMIT")

    def _many(self, name: str, rows: list[Any]) -> None:
        statement = ENDING.replace("{}", "?") if name == "move_claim" else self._sql[name]
        self._connection.executemany(statement, rows)

    def close(self) -> None:
        self._connection.close()


class PackedSqlite(RawSqlite):
    """Many rows to a statement."""

    def _many(self, name: str, rows: list[Any]) -> None:
        statement, done = self._sql[name], 0
        for size in AT_ONCE:
            while len(rows) - done >= size:
                values = list(chain.from_iterable(rows[done : done + size]))
                self._connection.execute(for_rows(statement, size), values)
                done += size


class RawPostgres:
    """Each row for itself, in the driver's pipeline."""

    def __init__(self, connection: Any) -> None:
        self._connection, self._next = connection, 0
        self._sql = {
            "add_claim": f"INSERT INTO claims VALUES ({', '.join(f'${place}' for place in range(1, 17))})",
            "move_claim": ENDING.format(*(f"${place}" for place in range(1, 11))),
            "append": "INSERT INTO audit_entries VALUES ($1, $2, $3)",
        }

    async def write(self, batches: Batches) -> None:
        for change, claims, entries in batches:
            async with self._connection.transaction():
                await self._connection.executemany(self._sql[change], claims)
                rows = [(place, *row) for place, row in enumerate(entries, self._next)]
                await self._connection.executemany(self._sql["append"], rows)
            self._next += len(entries)


class PackedPostgres:
    """As arrays, which is the fastest way short of COPY."""

    def __init__(self, connection: Any) -> None:
        self._connection, self._sql = connection, statements("postgres")

    async def write(self, batches: Batches) -> None:
        for change, claims, entries in batches:
            async with self._connection.transaction():
                await self._connection.execute(self._sql[change + "s"], *map(list, zip(*claims, strict=True)))
                await self._connection.fetchval(self._sql["append"], *map(list, zip(*entries, strict=True)), "", [])
