"""Is what was erased gone from every file, even if somebody was reading just then?"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from assent.core.audit import Entry
from assent.stores.sqlite.store import SqliteStore

AT = 1_764_000_000.0


def files_with(folder: Path, canary: bytes) -> list[str]:
    return [path.name for path in folder.glob("assent.db*") if canary in path.read_bytes()]


async def erase_one(store: SqliteStore) -> bytes:
    """The salt of what was erased."""
    facts = {"action": "redact", "entry": 1, "fields": ["arguments"]}
    salt = ((await store.sealed())[1].vals or b"")[4:20]
    await store.erase(1, ["arguments"], Entry("redaction", AT, facts))
    return salt


@pytest.mark.parametrize("length", [10, 20_000], ids=["in a page", "over many pages"])
@pytest.mark.parametrize("ending", ["the next entry", "the end"])
async def test_a_reader_only_puts_off_that_a_value_and_its_salt_go_from_the_write_ahead_log(
    tmp_path: Path, length: int, ending: str
) -> None:
    path = tmp_path / "assent.db"
    store = SqliteStore(path, busy=0.01)
    for number in range(3):
        store.append(Entry("operator", AT, {}, {"arguments": f"canary {number} " + "y" * length}))
    await store.flush()
    bystander = sqlite3.connect(path, isolation_level=None)  # keeps the file open, so that nobody is the last one out
    with closing(bystander), closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM audit_entries").fetchall()
        salt = await erase_one(store)
        assert files_with(tmp_path, b"canary 1"), "or this would show nothing"
        reader.execute("COMMIT")
        if ending == "the end":
            await store.close()
        else:
            store.append(Entry("operator", AT, {}))
            await store.flush()
        assert files_with(tmp_path, b"canary 1") == files_with(tmp_path, salt) == []
        assert files_with(tmp_path, b"canary 2")
    await store.close()


async def test_other_processes_write_while_a_reader_puts_off_an_erasure(tmp_path: Path) -> None:
    path = tmp_path / "assent.db"
    store, other = SqliteStore(path), SqliteStore(path, busy=0.5)
    for number in range(3):
        store.append(Entry("operator", AT, {}, {"arguments": f"canary {number}"}))
    await store.flush()
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM audit_entries").fetchall()
        erasing = asyncio.create_task(erase_one(store))
        while not erasing.done():
            other.append(Entry("operator", AT, {}))
            await other.flush()  # It would be refused after half a second.
        reader.execute("COMMIT")
    await store.close()
    await other.close()
    assert files_with(tmp_path, b"canary 1") == []
