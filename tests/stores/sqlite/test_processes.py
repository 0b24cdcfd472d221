"""Is one file safe with several processes?"""

import asyncio
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from assent.core.outcome import Answer
from assent.stores import SqliteStore
from assent.testing.world import World
from support.store_suite.drafts import mark_of

TESTS = Path(__file__).parents[2]
CLAIMS = 40
CLAIMANT = """
import asyncio, sys
from pathlib import Path
from assent.ports import ClaimExists
from assent.stores import SqliteStore
from support.store_suite.drafts import NOW, claim_draft, entry

async def claim_all(path, name, count):
    store = SqliteStore(path)
    async def claim(number):
        try:
            await store.claim(claim_draft(str(number), principal=name), entry(name), None, NOW)
        except ClaimExists:
            store.append(entry("taken"))
    await asyncio.gather(*(claim(number) for number in range(count)))
    await store.close()

asyncio.run(claim_all(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
"""


async def test_processes_that_open_and_claim_at_once_share_one_log_and_no_claim(tmp_path: Path) -> None:
    path = tmp_path / "assent.db"
    arguments = [[sys.executable, "-c", CLAIMANT, str(path), f"process {number}", str(CLAIMS)] for number in range(4)]
    pipe, env = asyncio.subprocess.PIPE, {**os.environ, "PYTHONPATH": str(TESTS)}
    running = [await asyncio.create_subprocess_exec(*each, stderr=pipe, env=env) for each in arguments]
    said = [(await process.communicate())[1] for process in running]
    assert [(text, process.returncode) for text, process in zip(said, running, strict=True)] == [(b"", 0)] * 4
    store = SqliteStore(path)
    claims, log = await store.claims(limit=1000), await store.entries(limit=1000)
    await store.close()
    assert sorted(record.id for record in claims) == sorted(str(number) for number in range(CLAIMS))
    assert [one.index for one in log] == list(range(4 * CLAIMS))
    assert sum(mark_of(one) == "taken" for one in log) == 3 * CLAIMS
    assert sorted(mark_of(one) for one in log if mark_of(one) != "taken") == sorted(c.principal for c in claims)


async def test_nothing_of_the_file_is_held_while_tools_run(tmp_path: Path) -> None:
    world = World({"send": {"side_effect": "write"}}, store=SqliteStore(tmp_path / "assent.db"))
    running, go = asyncio.Semaphore(0), asyncio.Event()

    async def slow(_: Any) -> dict[str, int]:
        running.release()
        await go.wait()
        return {"sent": 1}

    world.upstream.functions["send"] = slow
    calls = [asyncio.create_task(world.call("send", {}, key=f"{number}")) for number in range(50)]
    for _ in calls:
        await running.acquire()
    with closing(sqlite3.connect(tmp_path / "assent.db", timeout=0, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        other.execute("ROLLBACK")
        assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0, "a reader keeps its snapshot"
    go.set()
    assert all(isinstance(end, Answer) for end in await asyncio.gather(*calls))
    await world.store.close()
