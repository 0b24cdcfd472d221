"""A running gateway signs what it has written down, and goes on when it cannot."""

from __future__ import annotations

import asyncio
import logging
import secrets
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from assent.audit import checkpoints, verifier
from assent.audit.anchors import DirectoryAnchor
from assent.audit.bundle import BadBundle, write_bundle
from assent.audit.log_directory import KeyFile
from assent.audit.log_reader import StoredEntries
from assent.audit.signed_log import AuditLogError, AuditLogSigner, verify_store
from assent.audit.signing_schedule import PeriodicSigner, SigningPlan
from assent.core.audit import Entry
from assent.ports import Store
from assent.stores import SqliteStore
from assent.testing.world import Clock
from gateway.test_app import ERAS, connect, shop_gateway
from support.audit.memory import MemorySink
from support.store_suite.drafts import entry


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = SqliteStore(tmp_path / "assent.db")
    yield opened
    await opened.close()


async def grow(store: Store, count: int) -> None:
    for number in range(count):
        store.append(entry(f"{number}"))
    await store.flush()


async def signed_size(log_signer: AuditLogSigner) -> int:
    return checkpoints.parse(await log_signer.latest() or b"")[0].size


async def test_a_gateway_signs_at_its_start_and_at_its_end(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), connect(url, ERAS[0], None) as client:
        await client.call_tool("list_orders", {})
        await client.call_tool("list_orders", {})
    store = SqliteStore(tmp_path / "assent.db")
    log_signer = AuditLogSigner(store, tmp_path / "keys")
    try:
        assert await signed_size(log_signer) == await store.length() >= 2
        assert (await log_signer.inspect()).ok
    finally:
        await store.close()
    assert gateway_app.signing is not None and gateway_app.signing.trouble is None


async def test_what_is_new_is_signed_and_anchored_and_an_idle_log_is_left_alone(tmp_path: Path, store: Store) -> None:
    log_signer = AuditLogSigner(store, tmp_path, anchors=[DirectoryAnchor(tmp_path / "elsewhere")])
    signing = PeriodicSigner(lambda: SigningPlan(log_signer))
    await grow(store, 3)
    await signing.sign()
    await signing.sign()
    await grow(store, 1)
    await signing.sign()
    kept = await log_signer.anchors[0].read()
    assert [checkpoints.parse(note)[0].size for note in kept] == [3, 4]


async def test_a_log_that_was_rolled_back_is_not_signed_and_this_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = SqliteStore(tmp_path / "one.db"), SqliteStore(tmp_path / "two.db")
    await grow(first, 5)
    await PeriodicSigner(lambda: SigningPlan(AuditLogSigner(first, tmp_path))).sign()
    signing = PeriodicSigner(lambda: SigningPlan(AuditLogSigner(second, tmp_path)))
    with caplog.at_level(logging.ERROR, "assent"):
        await signing.sign()
        await signing.sign()
    assert [record.message for record in caplog.records] == [f"audit log: {signing.trouble}"]
    assert str(signing.trouble).startswith("The log is not signed: 5 entries were signed, and 0 are here.")
    assert "If this is another store, give it a `secrets: {directory: ...}` of its own." in str(signing.trouble)
    await first.close()
    await second.close()


async def test_several_who_sign_at_once_take_turns(tmp_path: Path, store: Store) -> None:
    await grow(store, 10)
    ledgers = [AuditLogSigner(store, tmp_path) for _ in range(5)]
    for log_signer in ledgers:
        log_signer.keys()
    await asyncio.gather(*(log_signer.sign(always=True) for log_signer in ledgers))
    assert (await ledgers[0].inspect()).ok


async def test_only_the_newest_partial_tiles_stay(tmp_path: Path, store: Store) -> None:
    log_signer = AuditLogSigner(store, tmp_path)
    for count in (10, 250, 300):
        await grow(store, count)
        await log_signer.sign()
    tiles = sorted(path.relative_to(tmp_path / "log" / "tile").as_posix() for path in tmp_path.rglob("tile/*/*"))
    files = sorted(path.name for path in (tmp_path / "log" / "tile").rglob("*") if path.is_file())
    assert files == ["000", "001", "2", "48"], tiles
    assert (await log_signer.inspect()).ok


async def test_a_signature_writes_only_partial_tiles_that_changed_or_were_lost(tmp_path: Path, store: Store) -> None:
    log_signer = AuditLogSigner(store, tmp_path)
    await grow(store, 600)
    await log_signer.sign()
    [upper] = (tmp_path / "log" / "tile" / "1").rglob("2")
    first = upper.stat().st_ino
    await grow(store, 10)
    await log_signer.sign()
    assert upper.stat().st_ino == first
    upper.unlink()
    await grow(store, 10)
    await log_signer.sign()
    assert upper.exists()
    assert (await log_signer.inspect()).ok


async def test_entries_are_the_same_whichever_way_they_are_paged(store: Store) -> None:
    await grow(store, 30)
    entries = StoredEntries(store)
    whole = list(await entries.leaves(0, 30))
    assert list(await StoredEntries(store).leaves(7, 20)) == whole[7:20]
    assert list(await entries.leaves(25, 40)) == whole[25:]
    assert list(await entries.leaves(40, 50)) == []
    assert len(await entries.values(3, 9)) == 6


async def test_a_key_that_others_can_read_is_refused(tmp_path: Path, store: Store) -> None:
    log_signer = AuditLogSigner(store, tmp_path)
    log_signer.keys()
    (tmp_path / "log.key").chmod(0o644)
    with pytest.raises(AuditLogError, match="chmod 600"):
        await log_signer.sign()


async def test_an_idle_log_is_signed_again_when_its_heartbeat_is_due(tmp_path: Path, store: Store) -> None:
    clock = Clock()
    log_signer = AuditLogSigner(store, tmp_path, anchors=[DirectoryAnchor(tmp_path / "elsewhere")], now=clock)
    signing = PeriodicSigner(lambda: SigningPlan(log_signer, heartbeat=600))
    await grow(store, 3)
    await signing.sign()
    first = await log_signer.latest()
    clock.advance(599)
    await signing.sign()
    assert await log_signer.latest() == first
    clock.advance(1)
    await signing.sign()
    beat = await log_signer.latest()
    assert beat != first
    assert await signed_size(log_signer) == 3
    assert len(await log_signer.anchors[0].read()) == 2
    clock.advance(-3600)
    await signing.sign()
    assert await log_signer.latest() != beat, "a clock that was put back must not silence the log"
    assert (await log_signer.inspect()).ok


async def test_other_settings_bring_other_anchors_and_times(tmp_path: Path, store: Store) -> None:
    clock = Clock()
    plans = [SigningPlan(AuditLogSigner(store, tmp_path, now=clock))]
    signing = PeriodicSigner(lambda: plans[-1])
    await grow(store, 1)
    await signing.sign()
    elsewhere = DirectoryAnchor(tmp_path / "elsewhere")
    plans.append(SigningPlan(AuditLogSigner(store, tmp_path, anchors=[elsewhere], now=clock), heartbeat=10))
    clock.advance(10)
    await signing.sign()
    assert len(await elsewhere.read()) == 1


async def test_a_value_erased_while_the_log_is_read_is_no_fault(tmp_path: Path, store: Store) -> None:
    log_signer = AuditLogSigner(store, tmp_path)
    await grow(store, 5)
    await log_signer.sign()

    class ErasedMeanwhile(StoredEntries):
        async def leaves(self, start: int, stop: int) -> Sequence[bytes]:
            if start == 0:
                await erase(store, 2)
            return await super().leaves(start, stop)

    report = await verify_store(await log_signer.evidence(), ErasedMeanwhile(store), log_signer.tiles)
    assert (report.faults, report.erased) == ([], 1)
    assert (await log_signer.inspect()).ok


async def erase(store: Store, index: int) -> None:
    facts = {"action": "redact", "entry": index, "fields": ["mark"]}
    await store.erase(index, ["mark"], Entry("redaction", 1_764_000_000.0, facts))


async def test_a_bundle_in_whose_writing_a_value_was_erased_is_not_handed_out(tmp_path: Path, store: Store) -> None:
    log_signer = AuditLogSigner(store, tmp_path)
    await grow(store, 5)
    await log_signer.sign()
    evidence = await log_signer.evidence()
    await erase(store, 2)
    with pytest.raises(BadBundle, match="write it again"):
        await write_bundle(MemorySink(), evidence, StoredEntries(store))
    await log_signer.sign()
    files = MemorySink()
    await write_bundle(files, await log_signer.evidence(), StoredEntries(store))
    assert verifier.verify(files).ok


async def test_a_crash_while_a_new_key_is_signed_for_is_no_fault_before_or_after_the_next_signature(
    tmp_path: Path, store: Store
) -> None:
    """The checkpoint of both keys is kept first, and then put in its place."""
    log_signer = AuditLogSigner(store, tmp_path)
    await grow(store, 5)
    await log_signer.sign()
    before = (tmp_path / "log" / "checkpoint").read_bytes()
    await log_signer.rotate({"principal": "ann"})
    (tmp_path / "log" / "checkpoint").write_bytes(before)
    again = AuditLogSigner(store, tmp_path)
    assert (await again.inspect()).faults == []
    await grow(store, 1)
    await again.sign()
    assert (await again.inspect()).faults == []


@pytest.mark.parametrize("lost", [True, False], ids=["lost", "old"])
async def test_nothing_is_signed_that_contradicts_a_kept_checkpoint_wherever_the_newest_one_went(
    tmp_path: Path, lost: bool
) -> None:
    first, second = SqliteStore(tmp_path / "one.db"), SqliteStore(tmp_path / "two.db")
    await grow(first, 2)
    clock = Clock()
    log_signer = AuditLogSigner(first, tmp_path, now=clock)
    await log_signer.sign()
    old = (tmp_path / "log" / "checkpoint").read_bytes()
    await grow(first, 3)
    clock.advance(3600)
    await log_signer.sign()
    (tmp_path / "log" / "checkpoint").unlink() if lost else (tmp_path / "log" / "checkpoint").write_bytes(old)
    await grow(second, 2)
    with pytest.raises(AuditLogError, match="5 entries were signed, and 2 are here"):
        await AuditLogSigner(second, tmp_path).sign(always=True)
    await first.close()
    await second.close()


@pytest.mark.parametrize("key", ["nonsense", "thief+00000000+AAAA"])
async def test_an_entry_that_names_no_key_is_refused_in_words(tmp_path: Path, store: Store, key: str) -> None:
    log_signer = AuditLogSigner(store, tmp_path)
    await grow(store, 1)
    await log_signer.sign()
    store.append(Entry("key", 1_764_000_000.0, {"key": key, "previous": log_signer.keys().newest.text}))
    with pytest.raises(AuditLogError, match="is not signed"):
        await log_signer.sign()


async def test_of_a_gateways_checkpoints_one_in_ten_minutes_is_kept_for_good(tmp_path: Path, store: Store) -> None:
    clock = Clock()
    log_signer = AuditLogSigner(store, tmp_path, now=clock)
    for _ in range(25):
        await grow(store, 1)
        await log_signer.sign()
        clock.advance(60)
    kept = [checkpoints.parse(note)[0].size for note in (await log_signer.evidence()).kept]
    assert kept == [1, 11, 21, 25]
    assert (await log_signer.inspect()).ok


async def test_a_clock_that_went_back_keeps_no_checkpoint_from_being_kept(tmp_path: Path, store: Store) -> None:
    clock = Clock()
    log_signer = AuditLogSigner(store, tmp_path, now=clock)
    for step in (0, -100_000, 60):
        clock.advance(step)
        await grow(store, 1)
        await log_signer.sign()
    kept = [checkpoints.parse(note)[0].size for note in (await log_signer.evidence()).kept]
    assert kept == [1, 2, 3]
    clock.advance(60)
    await grow(store, 1)
    await log_signer.sign()
    assert [checkpoints.parse(note)[0].size for note in (await log_signer.evidence()).kept] == [1, 2, 4]


def delete_entry(path: Path, index: int) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM audit_entries WHERE idx = ?", (index,))


async def test_a_log_with_a_gap_is_not_signed_and_the_gap_is_named(tmp_path: Path, store: Store) -> None:
    log_signer = AuditLogSigner(store, tmp_path)
    await grow(store, 8)
    delete_entry(tmp_path / "assent.db", 5)
    with pytest.raises(AuditLogError, match="entry 5 is missing, and later ones are there"):
        await log_signer.sign()
    assert await log_signer.latest() is None


async def test_entries_behind_a_gap_do_not_move_up(tmp_path: Path, store: Store) -> None:
    log_signer = AuditLogSigner(store, tmp_path)
    await grow(store, 300)
    await log_signer.sign()
    delete_entry(tmp_path / "assent.db", 3)
    faults = {(fault.code, fault.place) for fault in (await log_signer.inspect()).faults}
    assert faults == {("entries.torn", "tile/entries/000")}


async def test_a_new_key_whose_entry_waits_for_its_checkpoint_accuses_nobody(tmp_path: Path, store: Store) -> None:
    log_signer = AuditLogSigner(store, tmp_path)
    await grow(store, 3)
    await log_signer.sign()
    old, new = log_signer.keys().newest, KeyFile(tmp_path / "log.key").add(secrets.token_bytes).newest
    store.append(Entry("key", 1_800_000_000.0, {"action": "rotate", "key": new.text, "previous": old.text}))
    report = await log_signer.inspect()
    assert (report.faults, report.remarks[0]) == ([], "entries 3 to 3 are not signed yet")
    await log_signer.sign()
    assert (await log_signer.inspect()).ok and [key.public for key in log_signer.keys().secret] == [new]


class Moody:
    """An anchor that fails as often as it is told to, in a way nobody thought of."""

    name, failures = "moody", 0

    async def publish(self, note: bytes) -> None:
        if self.failures:
            self.failures -= 1
            raise ZeroDivisionError("no such thing")

    async def read(self) -> list[bytes]:
        return []


async def test_trouble_nobody_thought_of_is_said_and_over_when_it_is_over(
    tmp_path: Path, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    anchor = Moody()
    signing = PeriodicSigner(lambda: SigningPlan(AuditLogSigner(store, tmp_path, anchors=[anchor])))
    with caplog.at_level(logging.ERROR, "assent"):
        for failures, trouble in (
            (2, "ZeroDivisionError: no such thing"),
            (0, None),
            (1, "ZeroDivisionError: no such thing"),
        ):
            anchor.failures = failures
            for _ in range(max(1, failures)):
                await signing.sign(always=True)
                assert signing.trouble == trouble
    assert [record.message for record in caplog.records] == ["audit log: ZeroDivisionError: no such thing"] * 2
