"""Is one file safe with several processes?"""

import asyncio
import sys
from pathlib import Path

from assent.stores import SqliteStore
from assent.testing.stores.drafts import mark_of

CLAIMS = 40
CLAIMANT = """
import asyncio, sys
from pathlib import Path
from assent.ports import Taken
from assent.stores import SqliteStore
from assent.testing.stores.drafts import NOW, claim_draft, entry

async def claim_all(path, name, count):
    store = SqliteStore(path)
    async def claim(number):
        try:
            await store.claim(claim_draft(str(number), principal=name), entry(name), None, NOW)
        except Taken:
            store.note(entry("taken"))
    await asyncio.gather(*(claim(number) for number in range(count)))
    await store.close()

asyncio.run(claim_all(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
"""


async def test_processes_that_open_and_claim_at_once_share_one_log_and_no_claim(tmp_path: Path) -> None:
    path = tmp_path / "assent.db"
    arguments = [[sys.executable, "-c", CLAIMANT, str(path), f"process {number}", str(CLAIMS)] for number in range(4)]
    running = [await asyncio.create_subprocess_exec(*each, stderr=asyncio.subprocess.PIPE) for each in arguments]
    said = [(await process.communicate())[1] for process in running]
    assert [(text, process.returncode) for text, process in zip(said, running, strict=True)] == [(b"", 0)] * 4
    store = SqliteStore(path)
    claims, log = await store.claims(limit=1000), await store.entries(limit=1000)
    await store.close()
    assert sorted(record.id for record in claims) == sorted(str(number) for number in range(CLAIMS))
    assert [one.index for one in log] == list(range(4 * CLAIMS))
    assert sum(mark_of(one) == "taken" for one in log) == 3 * CLAIMS
    assert sorted(mark_of(one) for one in log if mark_of(one) != "taken") == sorted(c.principal for c in claims)
