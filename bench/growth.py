"""Does a claim cost more in a store with a million claims than in an empty one?

    python -m bench.growth [--claims 1000000] [--store sqlite|postgres]

Claims with their settlements, 200 to a commit, are written until there are so many; the log grows by two entries for
each. After every tenth of the way, processor time and clock time of a claim are taken anew, together with look-ups of
old claims and pages of the newest, and held against a young store in the same moment.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import uvloop

from assent.ports import Store
from assent.stores import SqliteStore, open_store
from assent.web.server import tune_gc
from bench.claims import calls, claim_and_settle, numbered
from bench.processes import postgres

TOGETHER, PIECE, LOOKS = 200, 2_000, 200


class GrownStore:
    """A store, and the number of its claims."""

    def __init__(self, store: Store) -> None:
        self.store, self._number = store, count()
        self.size = 0

    async def add(self, many: int) -> None:
        for _ in range(0, many, TOGETHER):
            drafts = numbered([next(self._number) for _ in range(TOGETHER)])
            await asyncio.gather(*(claim_and_settle(self.store, *one) for one in calls(drafts)))
        self.size += many

    async def look(self) -> float:
        """Milliseconds of a look at an old claim and at the newest page, at the median."""
        chance, took = random.Random(self.size), []
        for _ in range(LOOKS):
            (draft,) = numbered([chance.randrange(self.size)])
            started = time.perf_counter()
            assert await self.store.claim_by_id(draft.id) is not None
            await self.store.claims(limit=20)
            took.append((time.perf_counter() - started) * 1000)
        return statistics.median(took)


async def timed(store: GrownStore) -> tuple[float, float]:
    """Microseconds of processor time and of the clock for one claim with its settlement."""
    cpu, clock = time.process_time(), time.perf_counter()
    await store.add(PIECE)
    return (time.process_time() - cpu) / PIECE * 1e6, (time.perf_counter() - clock) / PIECE * 1e6


async def run(total: int, kind: str) -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="assent-bench-")))
        url = stack.enter_context(postgres()) if kind == "postgres" else f"sqlite:///{folder}/grown.db"
        grown = GrownStore(await open_store(url))
        tune_gc()
        print(f"{'claims':>10} {'CPU us':>8} {'/ young':>8} {'us':>7} {'look ms':>8} {'MB':>7}")
        for step in range(1, 11):
            await grown.add(total // 10 // TOGETHER * TOGETHER - 3 * PIECE)
            young = GrownStore(SqliteStore(folder / f"young{step}.db"))
            await young.add(PIECE)
            pairs = [(await timed(grown), await timed(young)) for _ in range(3)]
            cpu, clock = (statistics.median(one[0][at] for one in pairs) for at in (0, 1))
            share = statistics.median(mine[0] / other[0] for mine, other in pairs)
            await young.store.close()
            size = sum(file.stat().st_size for file in folder.glob("grown.db*")) / 1e6
            look = await grown.look()
            print(f"{grown.size:10,} {cpu:8.0f} {share:8.2f} {clock:7.0f} {look:8.2f} {size:7.0f}", flush=True)
        await grown.store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--claims", type=int, default=1_000_000)
    parser.add_argument("--store", choices=["sqlite", "postgres"], default="sqlite")
    options = parser.parse_args()
    uvloop.run(run(options.claims, options.store))


if __name__ == "__main__":
    main()
