"""A running gateway signs what it has written down, and goes on when it cannot."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from assent.audit import checkpoints
from assent.audit.anchors import DirectoryAnchor
from assent.ledger import Ledger, LedgerError, StoredEntries
from assent.ports import Store
from assent.signing import Signing
from assent.stores import SqliteStore
from assent.testing.stores.drafts import entry
from assent.testing.world import Clock
from test_house import ERAS, connect, shop_gateway


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = SqliteStore(tmp_path / "assent.db")
    yield opened
    await opened.close()


async def grow(store: Store, count: int) -> None:
    for number in range(count):
        store.note(entry(f"{number}"))
    await store.flush()


async def signed_size(ledger: Ledger) -> int:
    return checkpoints.parse(await ledger.latest() or b"")[0].size


async def test_a_gateway_signs_at_its_start_and_at_its_end(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, house, _), connect(url, ERAS[0], None) as client:
        await client.call_tool("list_orders", {})
        await client.call_tool("list_orders", {})
    store = SqliteStore(tmp_path / "assent.db")
    ledger = Ledger(store, tmp_path / "keys")
    try:
        assert await signed_size(ledger) == await store.length() >= 2
        assert (await ledger.inspect()).ok
    finally:
        await store.close()
    assert house.signing is not None and house.signing.trouble is None


async def test_what_is_new_is_signed_and_anchored_and_an_idle_log_is_left_alone(tmp_path: Path, store: Store) -> None:
    ledger = Ledger(store, tmp_path, anchors=[DirectoryAnchor(tmp_path / "elsewhere")])
    signing = Signing(ledger)
    await grow(store, 3)
    await signing.sign()
    await signing.sign()
    await grow(store, 1)
    await signing.sign()
    kept = await ledger.anchors[0].read()
    assert [checkpoints.parse(note)[0].size for note in kept] == [3, 4]


async def test_a_log_that_was_rolled_back_is_not_signed_and_this_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = SqliteStore(tmp_path / "one.db"), SqliteStore(tmp_path / "two.db")
    await grow(first, 5)
    await Signing(Ledger(first, tmp_path)).sign()
    signing = Signing(Ledger(second, tmp_path))
    with caplog.at_level(logging.ERROR, "assent"):
        await signing.sign()
        await signing.sign()
    assert [record.message for record in caplog.records] == [f"audit log: {signing.trouble}"]
    assert "5 entries were signed and 0 are here" in str(signing.trouble)
    await first.close()
    await second.close()


async def test_several_who_sign_at_once_take_turns(tmp_path: Path, store: Store) -> None:
    await grow(store, 10)
    ledgers = [Ledger(store, tmp_path) for _ in range(5)]
    for ledger in ledgers:
        ledger.keys()
    await asyncio.gather(*(ledger.sign(always=True) for ledger in ledgers))
    assert (await ledgers[0].inspect()).ok


async def test_only_the_newest_partial_tiles_stay(tmp_path: Path, store: Store) -> None:
    ledger = Ledger(store, tmp_path)
    for count in (10, 250, 300):
        await grow(store, count)
        await ledger.sign()
    tiles = sorted(path.relative_to(tmp_path / "log" / "tile").as_posix() for path in tmp_path.rglob("tile/*/*"))
    files = sorted(path.name for path in (tmp_path / "log" / "tile").rglob("*") if path.is_file())
    assert files == ["000", "001", "2", "48"], tiles
    assert (await ledger.inspect()).ok


async def test_entries_are_the_same_whichever_way_they_are_paged(store: Store) -> None:
    await grow(store, 30)
    entries = StoredEntries(store)
    whole = list(await entries.leaves(0, 30))
    assert list(await StoredEntries(store).leaves(7, 20)) == whole[7:20]
    assert list(await entries.leaves(25, 40)) == whole[25:]
    assert list(await entries.leaves(40, 50)) == []
    assert len(await entries.values(3, 9)) == 6


async def test_a_key_that_others_can_read_is_refused(tmp_path: Path, store: Store) -> None:
    ledger = Ledger(store, tmp_path)
    ledger.keys()
    (tmp_path / "log.key").chmod(0o644)
    with pytest.raises(LedgerError, match="chmod 600"):
        await ledger.sign()


async def test_an_idle_log_is_signed_again_when_its_heartbeat_is_due(tmp_path: Path, store: Store) -> None:
    clock = Clock()
    ledger = Ledger(store, tmp_path, anchors=[DirectoryAnchor(tmp_path / "elsewhere")], now=clock)
    signing = Signing(ledger, heartbeat=600)
    await grow(store, 3)
    await signing.sign()
    first = await ledger.latest()
    clock.advance(599)
    await signing.sign()
    assert await ledger.latest() == first
    clock.advance(1)
    await signing.sign()
    beat = await ledger.latest()
    assert beat != first
    assert await signed_size(ledger) == 3
    assert len(await ledger.anchors[0].read()) == 2
    clock.advance(-3600)
    await signing.sign()
    assert await ledger.latest() != beat, "a clock that was put back must not silence the log"
    assert (await ledger.inspect()).ok


async def test_other_settings_bring_other_anchors_and_times(tmp_path: Path, store: Store) -> None:
    clock = Clock()
    signing = Signing(Ledger(store, tmp_path, now=clock))
    await grow(store, 1)
    await signing.sign()
    elsewhere = DirectoryAnchor(tmp_path / "elsewhere")
    signing.follow(Ledger(store, tmp_path, anchors=[elsewhere], now=clock), heartbeat=10)
    clock.advance(10)
    await signing.sign()
    assert len(await elsewhere.read()) == 1
