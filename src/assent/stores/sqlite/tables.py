"""Loads records from the SQLite tables and writes them back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from decimal import Decimal
from itertools import chain
from typing import Any

from assent.audit.leaf import Sealed
from assent.core.document import Document
from assent.errors import StoreError
from assent.ports import Pruned
from assent.stores.api_keys import key_of, key_row
from assent.stores.batched_store import approval_of, approval_row, claim_of, claim_row, move_row, start_row
from assent.stores.migrations import for_rows, statements
from assent.stores.operations import Needs, StoreOperation, Sweep
from assent.stores.optimistic_claims import OptimisticClaims, names_in
from assent.stores.quota_reservations import WindowSpend
from assent.stores.record_rules import ChangeSet, Records

_SQL = statements("sqlite")
AT_ONCE = 128, 64, 32, 16
"""Numbers of rows per statement, and all below: few statements for any number of rows, and few to keep prepared."""


class Tables:
    """The tables as one connection sees them. `Records` holds the rules; SQL only loads and writes."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.started = OptimisticClaims()
        self._log_exists = False

    def load(self, operations: Sequence[StoreOperation[Any]], *, trusting: bool = False) -> Records:
        """Load the records that these operations need. With `trusting`, claims that this process started are not
        read.
        """
        records = Records()
        self._load_claims(self.started.unknown(operations, records) if trusting else names_in(operations), records)
        for operation in operations:
            if operation.needs is not None:
                self._load_needs(operation.needs, records)
        return records

    def _load_needs(self, needs: Needs, records: Records) -> None:
        for name in needs.approvals:
            self._add_approvals(records, self.rows("approval", (name,)))
        for question in needs.questions:
            self._add_approvals(records, self.rows("related_approvals", asdict(question)))
        for name in needs.rates:
            records.rates.update((name, due) for (due,) in self.rows("rate", (name,)))
        for name in needs.tallies:
            self._load_tally(name, records)
        for name in needs.keys:
            records.keys.update((row[0], key_of(row)) for row in self.rows("key", (name,)))
        for kind, name in needs.documents:
            found = (Document(*row) for row in self.rows("document", (kind, name)))
            records.documents.update((one.name, one) for one in found)
        for place in needs.places:
            records.places.update((place, Sealed(leaf, vals)) for leaf, vals in self.rows("place", (place,)))

    def _load_claims(self, names: set[str], records: Records) -> None:
        """Read all claims with one statement, or with a simpler one if there is only one."""
        if len(names) == 1:
            rows = self.rows("recall", tuple(names))
        else:
            rows = self.rows("recall_many", (json.dumps(list(names)),)) if names else []
        for row in rows:
            record = records.claims[row[0]] = claim_of(row)
            for tally, _ in record.charges:
                self._load_tally(tally, records)

    def _load_tally(self, name: str, records: Records) -> None:
        for spent, until in self.rows("tally", (name,)):
            records.tallies[name] = WindowSpend(Decimal(spent), until)

    def _add_approvals(self, records: Records, rows: Iterable[Any]) -> None:
        records.approvals.update((row[0], approval_of(row)) for row in rows)

    def keep(self, records: Records) -> None:
        """Write the changes and append the entries to the log."""
        changed, claims = records.changed, records.claims
        self._keep("add_claim", [claim_row(claims[name]) for name in changed.claims - changed.replacing])
        self._keep("replace_claim", [claim_row(claims[name]) for name in changed.replacing])
        self._keep_moves(records)
        self._keep_rest(records, changed)

    def try_to_keep(self, operations: Iterable[StoreOperation[Any]], records: Records) -> bool:
        """Write records that were partly assumed. False if the assumption was wrong; then the caller must roll back."""
        if not self.started.can_write_optimistically(operations, records):
            return False
        changed, claims, before = records.changed, records.claims, self._connection.total_changes
        self._keep_many("start_claim", [start_row(claims[name]) for name in changed.claims])
        self._keep_moves(records)
        if self._connection.total_changes - before != len(changed.claims) + len(changed.moved):
            return False
        self._keep_rest(records, changed)
        return True

    def _keep_moves(self, records: Records) -> None:
        moved = records.changed.moved.items()
        self._keep_many("move_claim", [move_row(records.claims[name], before) for name, before in moved])

    def _keep_rest(self, records: Records, changed: ChangeSet) -> None:
        self.append(changed.entries)
        if changed.has_rare:
            self._keep_rare(records, changed)

    def _keep_rare(self, records: Records, changed: ChangeSet) -> None:
        self._keep("keep_approval", [approval_row(records.approvals[name]) for name in changed.approvals])
        self._keep("keep_rate", [(name, records.rates[name]) for name in changed.rates])
        tallies = ((name, records.tallies[name]) for name in changed.tallies)
        self._keep("keep_tally", [(name, str(tally.spent), tally.until) for name, tally in tallies])
        self._keep("keep_key", [key_row(records.keys[digest]) for digest in changed.keys])
        documents = [records.documents[name] for name in changed.documents if name in records.documents]
        self._keep("keep_document", documents)
        self._keep("delete_document", [name for name in changed.documents if name not in records.documents])
        if changed.places:
            self._erase([(records.places[place].values, place) for place in changed.places])

    def _erase(self, rows: Sequence[Any]) -> None:
        """Erase values so that they leave no trace in the pages of the file."""
        self._connection.execute("PRAGMA secure_delete = ON").fetchall()
        try:
            self._keep("erase", rows)
        finally:
            self._connection.execute("PRAGMA secure_delete = OFF").fetchall()

    def take_patience(self) -> float:
        """How many seconds the connection waits for another process. From now on it does not wait by itself."""
        [[milliseconds]] = self._connection.execute("PRAGMA busy_timeout").fetchall()
        self._connection.execute("PRAGMA busy_timeout = 0").fetchall()
        return float(milliseconds) / 1000

    def truncate_wal(self) -> bool:
        """Merge the write-ahead log into the file, so that erased values are gone from it; returns whether it
        worked.

        It fails while another connection reads. It does not wait for that, because it would keep the lock on which
        all other processes wait.
        """
        try:
            return not self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]
        except sqlite3.Error:
            return False

    def append(self, rows: Sequence[Sealed]) -> None:
        """Append entries. SQLite numbers them, but would start at 1, so the first entry gets its index explicitly."""
        if rows and not self._log_exists:
            self._log_exists = self.rows("length", ())[0][0] > 0
        if rows and not self._log_exists:
            self._connection.execute(_SQL["begin_log"], rows[0])
            rows = rows[1:]
        last = self._keep_many("append", [(bytearray(leaf), vals and bytearray(vals)) for leaf, vals in rows])
        if last == len(rows) and self._log_exists and not self.rows("place", (0,)):
            self._log_exists = False
            raise StoreError(
                "The log was emptied while this process wrote to it, and restarts at 0. Keep a copy of what is left."
            )

    def _keep_many(self, name: str, rows: Sequence[Any]) -> int | None:
        """Write many rows per statement, because each statement releases the interpreter lock and waits for it
        again.

        Returns the index of the last row.
        """
        last, left = None, len(rows)
        while left:
            size = left if left <= AT_ONCE[-1] else next(size for size in AT_ONCE if size <= left)
            values = list(chain.from_iterable(rows[:size]))
            last = self._connection.execute(for_rows(_SQL[name], size), values).lastrowid
            left -= size
            if left:
                rows = rows[size:]
        return last

    def _keep(self, name: str, rows: Sequence[Any]) -> None:
        if len(rows) == 1:
            self._connection.execute(_SQL[name], rows[0])
        elif rows:
            self._connection.executemany(_SQL[name], rows)

    def prune(self, sweep: Sweep) -> Pruned:
        before = (sweep.before, sweep.limit)
        return Pruned(
            self._drop("expire_results", (sweep.now, sweep.limit)),
            self._drop("delete_approvals", {"before": sweep.before, "limit": sweep.limit}),
            self._drop("delete_rates", (sweep.now, sweep.limit)) + self._drop("delete_tallies", before),
            self._drop("delete_expired_documents", (sweep.now, sweep.limit)) + self._drop("delete_rehearsals", before),
        )

    def _drop(self, name: str, values: Any) -> int:
        return self._connection.execute(_SQL[name], values).rowcount

    def rows(self, name: str, values: Any) -> list[Any]:
        """Fetch all rows at once: a half-read statement would keep its snapshot and stop the write-ahead log from
        shrinking.
        """
        return self._connection.execute(_SQL[name], values).fetchall()
