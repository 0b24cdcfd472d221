"""Do many changes share one commit, and does none hurt another?"""

import asyncio
import sqlite3
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from assent.audit.leaf import Sealed
from assent.core.audit import Entry
from assent.errors import StoreError
from assent.ports import ClaimExists
from assent.stores import SqliteStore
from assent.stores.batched_store import entry_row
from assent.stores.batching import MOST_PER_COMMIT
from assent.stores.operations import StoreOperation
from assent.stores.record_rules import Records
from assent.stores.sqlite.database_file import failure, open_writer
from assent.stores.sqlite.writer import SqliteWriter
from support.store_suite.drafts import NOW, claim_draft, entry, mark_of, marks

ROW = entry_row(entry("noted"))


def appending(row: Sealed) -> StoreOperation[None]:
    return StoreOperation(lambda records: records.append([row]))


def commits(path: Path) -> int:
    """How many transactions the write-ahead log holds: frames that name the size of the database end one."""
    log = Path(f"{path}-wal").read_bytes()
    frames = range(32, len(log), 24 + 4096)
    return sum(log[at + 4 : at + 8] != b"\0\0\0\0" for at in frames)


async def test_what_arrives_together_is_committed_together(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "assent.db")
    before = commits(tmp_path / "assent.db")
    await asyncio.gather(*(store.claim(claim_draft(f"{number}"), entry(), None, NOW) for number in range(200)))
    after = commits(tmp_path / "assent.db")
    await store.close()
    assert after - before < 20


async def test_orders_that_come_turn_by_turn_share_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assent.stores.batching.PATIENCE", 60.0)
    store = SqliteStore(tmp_path / "assent.db")
    store._writer._commit_batcher.note_commit(2)  # A caller that is alone would not wait.
    before, waiting = commits(tmp_path / "assent.db"), []
    for number in range(5):
        waiting.append(asyncio.ensure_future(store.claim(claim_draft(f"{number}"), entry(), None, NOW)))
        await asyncio.sleep(0)
    await asyncio.gather(*waiting)
    after = commits(tmp_path / "assent.db")
    await store.close()
    assert after - before == 1


async def test_an_operation_that_raises_fails_alone(tmp_path: Path) -> None:
    path = tmp_path / "assent.db"
    writer = SqliteWriter(open_writer(path), partial(failure, path))

    def failing(error: Exception) -> StoreOperation[None]:
        def fail(records: Records) -> None:
            raise error

        return StoreOperation(fail)

    ends = await asyncio.gather(
        writer.run(appending(entry_row(entry("before")))),
        writer.run(failing(ClaimExists(claim_draft()))),
        writer.run(failing(ValueError("odd"))),
        writer.run(appending(entry_row(entry("after")))),
        return_exceptions=True,
    )
    await writer.close()
    assert [type(end) for end in ends] == [type(None), ClaimExists, StoreError, type(None)]
    store = SqliteStore(path)
    assert await marks(store) == ["before", "after"]
    await store.close()


async def test_text_that_no_database_takes_is_refused_alone(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "assent.db")
    ends: list[Any] = await asyncio.gather(
        store.claim(claim_draft("a"), entry(), None, NOW),
        store.claim(claim_draft("b", principal="\ud800"), entry(), None, NOW),
        store.claim(claim_draft("c"), entry(), None, NOW),
        return_exceptions=True,
    )
    assert [isinstance(end, StoreError) for end in ends] == [False, True, False]
    assert await marks(store) == ["intent", "intent"]
    await store.close()


async def test_while_entries_cannot_be_kept_no_more_are_taken_and_then_none_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "assent.db"
    store = SqliteStore(path, busy=0.0)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store.append(entry("first"))
    with pytest.raises(StoreError, match="locked by another process"):
        await store.claim(claim_draft(), entry("never"), None, NOW)
    with pytest.raises(StoreError, match="locked"):
        store.append(entry("refused"))
    other.execute("ROLLBACK")
    other.close()
    await store.claim(claim_draft(), entry("intent"), None, NOW)
    store.append(entry("last"))
    assert await marks(store) == ["first", "intent", "last"]
    await store.close()


async def test_every_batch_that_could_not_be_kept_comes_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "assent.db"
    store = SqliteStore(path, busy=0.0)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    names = [f"{number}" for number in range(2 * MOST_PER_COMMIT + 10)]
    for name in names:
        store.append(entry(name))
    with pytest.raises(StoreError):
        await store.flush()
    other.close()
    await store.flush()
    assert [mark_of(one) for one in await store.entries(limit=10_000)] == names
    await store.close()


async def test_a_full_disk_fails_the_whole_batch_and_leaves_nothing_of_it(tmp_path: Path) -> None:
    path = tmp_path / "assent.db"
    connection = open_writer(path)
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + 3}").fetchall()
    writer = SqliteWriter(connection, partial(failure, path))
    large = entry_row(Entry("operator", NOW, {}, {"text": "x" * 10_000}))
    ends = await asyncio.gather(*(writer.run(appending(large)) for _ in range(5)), return_exceptions=True)
    assert all(isinstance(end, StoreError) and "the disk is full" in str(end) for end in ends)
    await writer.run(appending(ROW))
    await writer.close()
    store = SqliteStore(path)
    assert await marks(store) == ["noted"]
    await store.close()


async def test_closing_says_what_could_not_be_kept(tmp_path: Path) -> None:
    path = tmp_path / "assent.db"
    store = SqliteStore(path, busy=0.0)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store.append(entry("lost"))
    with pytest.raises(StoreError, match=r"1 audit entries were not written.*locked"):
        await store.close()
    other.close()


async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "assent.db")
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.claim_by_id("claim")
    with pytest.raises(StoreError, match="closed"):
        await store.claim(claim_draft(), entry(), None, NOW)
    with pytest.raises(StoreError, match="closed"):
        store.append(entry())


async def test_notes_are_kept_without_anybody_waiting_for_them(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "assent.db")
    store.append(entry("alone"))
    while not (log := await store.entries()):  # noqa: ASYNC110 - nobody is told of notes, which is the point
        await asyncio.sleep(0.001)
    assert [mark_of(one) for one in log] == ["alone"]
    await store.close()


async def test_one_who_stops_waiting_does_not_stop_the_write(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "assent.db")
    leaving = asyncio.ensure_future(store.claim(claim_draft(), entry(), None, NOW))
    await asyncio.sleep(0)
    leaving.cancel()
    await store.flush()
    assert await store.claim_by_id("claim") is not None
    await store.close()


async def test_who_asks_whether_entries_are_taken_lets_them_be_taken_again(tmp_path: Path) -> None:
    path = tmp_path / "assent.db"
    store = SqliteStore(path, busy=0.0)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="locked"):
        await store.claim(claim_draft(), entry("never"), None, NOW)
    with pytest.raises(StoreError, match="locked"):
        store.check()
    other.close()
    while store._writer._broken is not None:  # nothing else is written meanwhile
        with suppress(StoreError):
            store.check()
        await asyncio.sleep(0)
    store.append(entry("first"))
    assert await marks(store) == ["first"]
    await store.close()
