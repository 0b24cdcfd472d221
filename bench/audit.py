"""What does the audit log cost: to append, to sign, to prove, to verify?

    python -m bench.audit [--entries 1000000] [--verify 200000]

Times are CPU times of this process, best of several where that makes sense.
"""

import argparse
import asyncio
import os
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path

from assent.audit import verifier
from assent.audit.bundle import DirectorySink, Evidence, write_bundle
from assent.audit.checkpoints import Checkpoint
from assent.audit.directory import DirectoryTiles
from assent.audit.keys import Keys
from assent.audit.log import Log, open_log
from assent.audit.notes import SecretKey
from assent.audit.sealing import Sealed, seal
from assent.audit.sources import MemoryCheckpoints, MemoryTiles
from assent.core.audit import Entry
from assent.core.outcome import Answer
from assent.ledger import Ledger
from assent.signing import Signing
from assent.stores.rows import entry_row
from assent.stores.sqlite.store import SqliteStore
from assent.testing import World

ROUNDS, CALLS = 7, 3200
ORIGIN, START, BATCH = "bench.example/log", 1_764_000_000_000, 100
DIGEST = "sha256:5b0f2c7a9d1e48c3b6a7f0e2d4c19b8370a6e5d2c1f4b39807e6a5d4c3b2f1e0"
FACTS = {"upstream": "billing", "open_world": True, "tool": "place_order", "tier": "external_spend"}
FACTS |= {"risk": "critical", "event": "order.placed", "contract": DIGEST, "mode": "live"}
ARGUMENTS = b'{"amount":120,"currency":"EUR","item":"SCENE-2026-11-04","notes":"as agreed","urgent":false}'


def entry(number: int) -> Entry:
    """What a call leaves: an intent with who and what, then an outcome without values."""
    claim = f"{number // 2:064x}"
    at = (START + number) / 1000
    if number % 2:
        return Entry("outcome", at, {**FACTS, "claim": claim, "state": "succeeded"})
    who = {"principal": f"agent-{number % 97}", "kind": "agent", "tenant": "acme"}
    return Entry("intent", at, {**FACTS, "claim": claim}, {**who, "arguments": ARGUMENTS, "call": DIGEST})


def sealed(number: int) -> Sealed:
    made = entry(number)
    return seal(made.kind, round(made.at * 1000), made.facts, made.values, os.urandom)


class Repeated:
    """A source of as many entries as wanted that takes no room: a thousand rows over and over."""

    def __init__(self, count: int = 0) -> None:
        self.size = count
        self._rows = [sealed(number) for number in range(1000)]

    async def count(self) -> int:
        return self.size

    async def leaves(self, start: int, stop: int) -> Sequence[bytes]:
        return [self._rows[at % 1000].leaf for at in range(start, min(stop, self.size))]

    async def values(self, start: int, stop: int) -> Sequence[bytes | None]:
        return [self._rows[at % 1000].values for at in range(start, min(stop, self.size))]


def per_entry(seconds: float, count: int) -> str:
    return f"{seconds / count * 1e6:7.2f} us/entry {count / seconds:12,.0f} entries/s"


def measure_floor() -> None:
    """How fast this machine hashes just now, to hold the rest against."""
    row = sealed(0)
    best = min(_timed(lambda: [sha256(row.leaf).digest() for _ in range(5000)]) for _ in range(7))
    print(f"one SHA-256 of a leaf of {len(row.leaf)} bytes        {per_entry(best, 5000)}")


def measure_seal() -> None:
    for name, one in (("intent, five values", entry(2)), ("outcome, no values", entry(3))):
        best = min(_timed(partial(_seal_many, one)) for _ in range(7))
        print(f"seal ({name})".ljust(41) + per_entry(best, 5000))


def _seal_many(one: Entry) -> None:
    for _ in range(5000):
        entry_row(one)


def _timed(act) -> float:
    start = time.process_time()
    act()
    return time.process_time() - start


async def measure_append(log: Log, entries: Repeated, total: int) -> None:
    """Append in batches, one checkpoint per batch, as a busy gateway does."""
    windows, window = [], max(BATCH, total // 10)
    for start in range(0, total, window):
        before = time.process_time()
        for at in range(start, min(total, start + window), BATCH):
            entries.size = min(total, at + BATCH)
            await log.extend(await entries.leaves(at, entries.size))
            await log.checkpoint(START // 1000 + at // 1000)
        windows.append((time.process_time() - before) / window)
    for number, cost in enumerate(windows, 1):
        print(f"append and sign, up to {min(total, number * window):>9,} entries {per_entry(cost, 1)}")
    print(f"last tenth / first tenth                 {windows[-1] / windows[0]:7.2f}")


async def measure_proofs(log: Log, entries: Repeated, cold: bool) -> None:
    chance = random.Random(1)
    inclusion, consistency = [], []
    for _ in range(200):
        before = time.perf_counter()
        await log.prove_inclusion(chance.randrange(log.size))
        inclusion.append(time.perf_counter() - before)
    old = Checkpoint(ORIGIN, log.size // 3, (await _root_at(log, entries, log.size // 3)))
    for _ in range(50):
        before = time.perf_counter()
        await log.prove_consistency(old)
        consistency.append(time.perf_counter() - before)
    kind = "from files" if cold else "from memory"
    for name, times in (("inclusion", inclusion), ("consistency", consistency)):
        middle, worst = statistics.median(times) * 1e3, max(times) * 1e3
        print(f"{name} proof, {log.size:,} entries, {kind}: median {middle:.2f} ms, worst {worst:.2f} ms")


async def _root_at(log: Log, entries: Repeated, size: int) -> bytes:
    return (await log._derivation.edge(size)).root


async def measure_resume(log: Log, entries: Repeated, tiles, store, keys: Keys) -> None:
    before = time.perf_counter()
    again = await open_log(ORIGIN, keys, entries, tiles, store)
    print(f"resume a log of {again.size:,} entries       {(time.perf_counter() - before) * 1e3:9.1f} ms")


async def measure_verification(key: SecretKey, count: int, folder: Path) -> None:
    entries, store, tiles = Repeated(count), MemoryCheckpoints(), MemoryTiles()
    log = await open_log(ORIGIN, Keys((key.public,), (key,)), entries, tiles, store)
    await log.checkpoint(START // 1000 + count)
    await log.flush()
    evidence = Evidence(ORIGIN, [key.public], await store.kept(), {})
    before = time.process_time()
    await write_bundle(DirectorySink(folder / "bundle"), evidence, entries)
    print(f"write a bundle of {count:>9,} entries      {per_entry(time.process_time() - before, count)}")
    for _ in range(3):
        before = time.process_time()
        report = verifier.verify(verifier.open_bundle(folder / "bundle"), [], [key.public.text])
        print(f"stand-alone verifier, {count:>9,} entries  {per_entry(time.process_time() - before, count)}")
        assert report.ok, report.faults[:3]
    for values in (True, False):
        await measure_store(count, folder / f"store-{values}", values)


async def measure_store(count: int, folder: Path, values: bool) -> None:
    """`assent audit verify` of an SQLite store with its tiles and checkpoints, without the command round it."""
    folder.mkdir()
    store = SqliteStore(folder / "assent.db")
    ledger = Ledger(store, folder / "secrets", now=lambda: (START + count) / 1000)
    for number in range(count):
        store.note(entry(number if values else 2 * number + 1))
        if number % 50_000 == 0:
            await store.flush()
    await ledger.sign()
    rates = []
    for _ in range(3):
        before = time.process_time()
        report = await ledger.inspect()
        rates.append(time.process_time() - before)
        assert report.ok and report.entries == count, report.faults[:3]
    kind = "calls" if values else "no values"
    print(f"inspection of a store ({kind})".ljust(41) + per_entry(min(rates), count))
    await store.close()


async def measure_calls(folder: Path) -> None:
    """Governed calls on SQLite, 32 at a time, while the log is signed once a second, or not at all."""
    spent: dict[bool, list[float]] = {True: [], False: []}
    for number in range(2 * ROUNDS):
        signed = bool(number % 2)
        place = folder / f"calls-{number}"
        place.mkdir()
        store = SqliteStore(place / "assent.db")
        world = World({"write": {"side_effect": "write"}}, store=store)
        signing = Signing(Ledger(store, place / "secrets"), every=1.0)
        if signed:
            signing.start()
        spent[signed].append(await _calls(world))
        await signing.stop()
        await store.close()
    off, on = statistics.median(spent[False]), statistics.median(spent[True])
    print(f"a governed call, unsigned / signed       {off:7.1f} / {on:.1f} us CPU, {on / off:.2f} times")


async def _calls(world: World) -> float:
    async def caller() -> None:
        for _ in range(CALLS // 32):
            outcome = await world.call("write", {"item": "SCENE", "amount": 120})
            assert isinstance(outcome, Answer), outcome

    before = time.process_time()
    await asyncio.gather(*(caller() for _ in range(32)))
    return (time.process_time() - before) / (CALLS // 32 * 32) * 1e6


async def run(total: int, verify: int) -> None:
    key = SecretKey.generate(ORIGIN, os.urandom)
    keys = Keys((key.public,), (key,))
    measure_floor()
    measure_seal()
    with tempfile.TemporaryDirectory() as name:
        folder, entries, store = Path(name), Repeated(), MemoryCheckpoints()
        tiles = DirectoryTiles(folder / "log")
        log = await open_log(ORIGIN, keys, entries, tiles, store)
        await measure_append(log, entries, total)
        await log.flush()
        await measure_proofs(log, entries, cold=True)
        await measure_resume(log, entries, tiles, store, keys)
        await measure_verification(key, verify, folder)
        await measure_calls(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--verify", type=int, default=200_000)
    options = parser.parse_args()
    asyncio.run(run(options.entries, options.verify))


if __name__ == "__main__":
    main()
