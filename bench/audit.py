"""What does the audit log cost: to append to, to sign, to prove, to verify, and what does it cost the calls?

    python -m bench.audit [--entries 1000000]

A log is grown to so many entries in an SQLite store, signed and tiled as a gateway does it. Along the way it takes
turns with two young logs, made anew ten times: what an append costs at a size is held against what it costs at the
start, and one young log against the other shows how far to trust that. Proofs and verification are of the grown log;
governed calls take turns with and without a log that is signed meanwhile. `bench.turns` says how the machine is kept
out of it.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from pathlib import Path

import uvloop

from assent.audit import verifier
from assent.audit.bundle import DirectorySink, write_bundle
from assent.audit.checkpoints import Checkpoint
from assent.audit.log_reader import StoredEntries
from assent.audit.signed_log import AuditLogSigner
from assent.core.audit import Entry
from assent.stores.batched_store import entry_row
from assent.stores.sqlite.store import SqliteStore
from assent.web.server import tune_gc
from bench.signed_calls import measure_calls
from bench.turns import growth, range_of, spent, take_turns

WINDOWS, PIECE, BATCH = 100, 1000, 100
PROOFS = 500
START = 1_764_000_000_000
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


class Grown:
    """A log that takes in entries of calls, and is signed."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.store, self._number = SqliteStore(folder / "assent.db"), count()
        self.log_signer = AuditLogSigner(self.store, folder / "secrets", now=self._now)
        self.signed: list[Checkpoint] = []

    def _now(self) -> float:
        """A clock on which a checkpoint is kept for good now and then, as in a day of calls."""
        return START / 1000 + 60 * len(self.signed)

    async def append(self, many: int = PIECE, batch: int = BATCH) -> None:
        for done in range(0, many, batch):
            for _ in range(min(batch, many - done)):
                self.store.append(entry(next(self._number)))
            await self.store.flush()

    async def sign(self) -> None:
        signed = await self.log_signer.sign(always=True)
        assert signed is not None
        self.signed.append(signed)


@dataclass
class Shares:
    """Of each window: the size, grown against young, young against young; and the seconds spent."""

    grown: list[tuple[float, float]] = field(default_factory=list)
    control: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    young: list[float] = field(default_factory=list)

    def take(self, size: int, costs: dict[str, float]) -> None:
        self.grown.append((size, costs["grown"] / costs["young"]))
        self.control.append(costs["other"] / costs["young"])
        self.seconds.append(costs["grown"])
        self.young.append(costs["young"])

    def show(self, name: str) -> None:
        each = statistics.median(self.seconds) / PIECE * 1e6
        print(f"{name}: {each:.2f} us an entry; beside a young log, by tenths of the way:")
        tenth = max(1, len(self.grown) // 10)
        parts = [slice(at, at + tenth) for at in range(0, len(self.grown), tenth)]
        print("   " + "  ".join(f"{sum(self.seconds[part]) / sum(self.young[part]):.2f}" for part in parts))
        print(f"   growth from the first entry to the last, times      {range_of(self.grown, growth)}")
        print(f"   one young log beside the other (control)            {range_of(self.control)}", flush=True)


async def grow(log: Grown, total: int, folder: Path) -> None:
    """Grow a log in windows, each of which begins with entries nobody measures."""
    appending, signing, young = Shares(), Shares(), []
    step = total // WINDOWS
    room, ahead, chance = step - PIECE - BATCH, 0, random.Random(2)
    for turn in range(WINDOWS):
        if turn % max(1, WINDOWS // 10) == 0:
            young = [await anew(one, folder / f"{turn}-{at}") for at, one in enumerate(young or [None, None])]
        # Now and then the database moves its write-ahead log into its file: not always in the same place of a window.
        before, ahead = ahead, chance.randrange(room // 2 + 1)
        await log.append(room + ahead - before, 1000)
        await log.sign()
        logs = {"grown": log, "young": young[0], "other": young[1]}
        for one in logs.values():  # what the system still owes for the tiles of the last signature is paid here
            await one.append(BATCH)
        size = (turn + 1) * step
        appending.take(size, await take_turns(turn, {name: one.append for name, one in logs.items()}))
        signing.take(size, await take_turns(turn, {name: one.sign for name, one in logs.items()}))
    for one in young:
        await one.store.close()
    appending.show(f"append, {BATCH} to a durable commit")
    signing.show(f"sign, {PIECE} entries to a checkpoint")


async def anew(before: Grown | None, folder: Path) -> Grown:
    if before is not None:
        await before.store.close()
    log = Grown(folder)
    await log.append()
    await log.sign()
    return log


def measure_floor() -> None:
    """How fast this machine hashes just now, to hold the rest against."""
    leaf = entry_row(entry(0)).leaf
    took = []
    for _ in range(21):
        before = time.process_time()
        for _ in range(2000):
            sha256(leaf).digest()
        took.append((time.process_time() - before) / 2000)
    print(f"SHA-256 of a leaf of {len(leaf)} bytes: {statistics.median(took) * 1e6:.2f} us", flush=True)


async def measure_proofs(log: Grown) -> None:
    chance, size = random.Random(1), await log.store.length()
    old = log.signed[len(log.signed) // 3]
    whole = [await spent(lambda: log.log_signer.prove(chance.randrange(size))) for _ in range(PROOFS // 5)]
    async with log.log_signer._open_locked() as opened:
        inclusion = [await spent(lambda: opened.prove_inclusion(chance.randrange(size))) for _ in range(PROOFS)]
        consistency = [await spent(lambda: opened.prove_consistency(old)) for _ in range(PROOFS)]
    named = {"inclusion": inclusion, "consistency": consistency, "`assent audit prove`, key to proof": whole}
    for name, took in named.items():
        at = sorted(took)
        figures = statistics.median(at), at[len(at) * 99 // 100], at[-1]
        median, most, worst = (f"{one * 1e3:.2f}" for one in figures)
        print(f"proof, {name}, of {size:,} entries: median {median} ms, 99 % {most} ms, worst {worst} ms", flush=True)


async def measure_verification(log: Grown, folder: Path) -> None:
    size = await log.store.length()

    async def inspect() -> None:
        report = await log.log_signer.inspect()
        assert report.ok and report.entries == size, report.faults[:3]

    async def write() -> None:
        await write_bundle(DirectorySink(folder / "bundle"), await log.log_signer.evidence(), StoredEntries(log.store))

    async def verify() -> None:
        trusted = [log.log_signer.keys().newest.text]
        report = verifier.verify(verifier.open_bundle(folder / "bundle"), [], trusted)
        assert report.ok and report.entries == size, report.faults[:3]

    rates = {"write a bundle": [await spent(write)], "`assent audit verify`": [], "verifier.py": []}
    for turn in range(3):
        costs = await take_turns(turn, {"`assent audit verify`": inspect, "verifier.py": verify})
        for name, cost in costs.items():
            rates[name].append(cost)
    for name, took in rates.items():
        each = ", ".join(f"{size / one:,.0f}" for one in sorted(took))
        print(f"{name}, {size:,} entries: {size / statistics.median(took):,.0f} entries/s ({each})", flush=True)


async def run(total: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        measure_floor()
        log = Grown(folder / "grown")
        tune_gc()
        await grow(log, total, folder)
        await measure_proofs(log)
        await measure_verification(log, folder)
        await log.store.close()
        measure_floor()
        await measure_calls(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--entries", type=int, default=1_000_000)
    options = parser.parse_args()
    if options.entries < 2 * WINDOWS * PIECE:
        parser.error(f"--entries is at least {2 * WINDOWS * PIECE}")
    uvloop.run(run(options.entries))


if __name__ == "__main__":
    main()
