"""Keys nobody should send, clocks that jump and databases that fail: is it said, and is nothing lost or run twice?"""

import asyncio
import resource
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assent.core.claims import State
from assent.core.outcome import Answer, Refusal
from assent.errors import StoreError
from assent.pipeline.approve import approve
from assent.ports import Store
from assent.stores import SqliteStore
from assent.testing.world import AGENT, ANN, World
from support.store_suite.drafts import NOW, claim_draft, entry, marks, succeeded

CONTRACTS: dict[str, Any] = {
    "send": {"side_effect": "write", "idempotency": {"recovery": "none"}},
    "wipe": {"side_effect": "destructive", "confirmation": {"by": "approver"}},
    "look": {"side_effect": "read"},
}


def world(path: Path, **options: Any) -> World:
    return World(CONTRACTS, store=SqliteStore(path, **options))


@pytest.mark.parametrize("key", ["", "k" * 256, "tab\there", "nul\x00", "\x7f", "ключ", "line\nbreak", "\ud800"])
async def test_a_key_that_cannot_be_used_is_refused_and_nothing_is_done(each_store: Store, key: str) -> None:
    there = World(CONTRACTS, store=each_store)
    outcome = await there.call("send", {}, key=key)
    assert isinstance(outcome, Refusal) and outcome.code == "validate.key_invalid"
    assert there.upstream.effects == []


@pytest.mark.parametrize("key", ["k", "k" * 255, "'; DROP TABLE claims; --", 'quotes " and \\', "%s ? :x $1", " "])
async def test_any_other_key_is_one_key(each_store: Store, key: str) -> None:
    there = World(CONTRACTS, store=each_store)
    first, second = await there.call("send", {}, key=key), await there.call("send", {}, key=key)
    assert isinstance(first, Answer) and isinstance(second, Answer) and second.replayed
    assert len(there.upstream.effects) == 1


async def test_a_clock_that_jumps_ahead_makes_a_doubt_and_never_a_second_effect(each_store: Store) -> None:
    there = World(CONTRACTS, store=each_store)
    heard = []

    async def jumping(arguments: Any) -> Any:
        there.clock.advance(10 * 365 * 86400)
        heard.append(await there.call("send", {}, key="k"))
        return {"sent": True}

    there.upstream.functions["send"] = jumping
    await there.call("send", {}, key="k")
    assert [getattr(one, "code", "answered") for one in heard] == ["recall.in_doubt"]
    assert len(there.upstream.effects) == 1


async def test_a_clock_that_jumps_back_neither_loses_an_answer_nor_frees_a_claim(each_store: Store) -> None:
    there = World(CONTRACTS, store=each_store)
    await there.call("send", {}, key="done")
    await there.store.claim(claim_draft("running", lease_until=there.clock() + 15), entry(), None, there.clock())
    there.clock.advance(-10 * 365 * 86400)
    again = await there.call("send", {}, key="done")
    assert isinstance(again, Answer) and again.replayed
    record = await there.store.claim_by_id("running")
    assert record is not None and record.state_at(there.clock()) is State.STARTED


async def test_an_approval_for_what_has_changed_since_lets_nothing_run(each_store: Store) -> None:
    """Other arguments, another contract, another caller: each asks anew; the exact call alone runs, and once."""
    there = World(CONTRACTS, store=each_store)
    asked = await there.call("wipe", {"of": "a"}, key="k1")
    assert isinstance(asked, Refusal) and asked.code == "confirm.approval_pending"
    await approve(ANN, asked.facts["approval"], "approve", there.ports)
    stranger = replace(AGENT, id="another agent")
    swapped = [
        await there.call("wipe", {"of": "b"}, key="k2"),
        await there.call("wipe", {"of": "a"}, by=stranger, key="k3"),
    ]
    there.deploy({**CONTRACTS, "wipe": {**CONTRACTS["wipe"], "description": "Wipes it, and more."}})
    swapped.append(await there.call("wipe", {"of": "a"}, key="k4"))
    assert [getattr(one, "code", "answered") for one in swapped] == ["confirm.approval_pending"] * 3
    assert len({one.facts["approval"] for one in (asked, *swapped)}) == 4  # type: ignore[union-attr]
    assert there.upstream.effects == []
    there.deploy(CONTRACTS)
    ends = [await there.call("wipe", {"of": "a"}, key=key) for key in ("k5", "k6")]
    assert [getattr(one, "code", "answered") for one in ends] == ["answered", "confirm.approval_pending"]
    assert len(there.upstream.effects) == 1


async def test_while_the_database_is_locked_no_call_is_made_and_afterwards_all_is_well(tmp_path: Path) -> None:
    path = tmp_path / "assent.db"
    there = world(path, busy=0.0)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    outcome = await there.call("send", {}, key="k")
    assert isinstance(outcome, Refusal) and outcome.code in ("claim.unavailable", "record.unavailable")
    assert there.upstream.effects == []
    other.close()
    assert isinstance(await there.call("send", {}, key="k"), Answer)
    assert len(there.upstream.effects) == 1
    await there.store.close()


async def test_while_nothing_can_be_written_down_no_read_is_made_and_afterwards_all_is_well(tmp_path: Path) -> None:
    path = tmp_path / "assent.db"
    there = world(path, busy=0.0)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    await there.call("send", {}, key="k")
    for _ in range(2):
        outcome = await there.call("look", {})
        assert isinstance(outcome, Refusal) and outcome.code == "record.unavailable"
    assert there.upstream.effects == []
    other.close()
    assert isinstance(await there.call("look", {}), Answer)
    await there.store.flush()
    assert (await there.store.entries())[-1].entry.kind == "read"
    await there.store.close()


async def test_a_result_that_finds_no_space_leaves_a_doubt_and_space_brings_no_second_effect(tmp_path: Path) -> None:
    there = world(tmp_path / "assent.db")
    connection = there.store._writer._connection  # type: ignore[attr-defined]

    def filling(_: Any) -> Any:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}").fetchall()
        return {"text": "x" * 100_000}

    there.upstream.functions["send"] = filling
    outcome = await there.call("send", {}, key="k")
    assert isinstance(outcome, Refusal) and outcome.code == "execute.in_doubt"
    connection.execute("PRAGMA max_page_count = 1000000").fetchall()
    there.clock.advance(15)
    again = await there.call("send", {}, key="k")
    assert isinstance(again, Refusal) and again.code == "recall.in_doubt"
    assert len(there.upstream.effects) == 1
    await there.store.close()


async def test_a_disk_that_fails_to_write_is_named_and_what_was_kept_is_still_there(tmp_path: Path) -> None:
    path = tmp_path / "assent.db"
    store = SqliteStore(path)
    await store.claim(claim_draft("before"), entry(), None, NOW)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = Path(f"{path}-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        with pytest.raises(StoreError, match=r"could not be read or written by the operating system|disk is full"):
            await store.claim(claim_draft("during"), entry(), None, NOW)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    await store.claim(claim_draft("after"), entry(), None, NOW)
    assert await store.claim_by_id("during") is None
    assert await marks(store) == ["intent", "intent"]
    await store.close()


async def test_a_database_that_may_only_be_read_is_named_and_still_answers(tmp_path: Path) -> None:
    there = world(tmp_path / "assent.db")
    await there.call("send", {}, key="k")
    there.store._writer._connection.execute("PRAGMA query_only = ON")  # type: ignore[attr-defined]
    with pytest.raises(StoreError, match=r"cannot be written to\. Let this process write"):
        await there.store.claim(claim_draft(), entry(), None, NOW)
    record = (await there.store.claims())[0]
    assert record.state is State.SUCCEEDED
    there.store._writer._connection.execute("PRAGMA query_only = OFF")  # type: ignore[attr-defined]
    await there.store.close()


async def test_a_file_that_is_taken_away_and_put_back_loses_nothing_that_was_reported(tmp_path: Path) -> None:
    path = tmp_path / "assent.db"
    store = SqliteStore(path)
    await store.claim(claim_draft(), entry(), None, NOW)
    await store.settle("claim", 1, succeeded(b"kept"), [])
    await store.close()
    away = path.rename(tmp_path / "away.db")
    fresh = SqliteStore(path)
    assert await fresh.claim_by_id("claim") is None
    await fresh.close()
    path.unlink()
    away.rename(path)
    again = SqliteStore(path)
    record = await again.claim_by_id("claim")
    assert record is not None and record.result == b"kept"
    await again.close()


async def test_nothing_of_the_file_is_held_while_tools_run(tmp_path: Path) -> None:
    """Another process may write at once, and no look of ours keeps the log from being folded into the file."""
    there, running, go = world(tmp_path / "assent.db"), asyncio.Semaphore(0), asyncio.Event()

    async def slow() -> dict[str, int]:
        running.release()
        await go.wait()
        return {"sent": 1}

    there.upstream.functions["send"] = lambda _: slow()
    calls = [asyncio.create_task(there.call("send", {}, key=f"{number}")) for number in range(200)]
    for _ in range(200):
        await running.acquire()
    other = sqlite3.connect(tmp_path / "assent.db", isolation_level=None, timeout=0)
    busy, left, _ = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    other.execute("BEGIN EXCLUSIVE")
    other.execute("ROLLBACK")
    other.close()
    go.set()
    assert all(isinstance(end, Answer) for end in await asyncio.gather(*calls))
    assert (busy, left) == (0, 0)
    await there.store.close()
