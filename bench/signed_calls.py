"""Is a governed call any slower while the log is signed?"""

from __future__ import annotations

import asyncio
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from assent.audit.signed_log import AuditLogSigner
from assent.core.audit import Entry
from assent.core.outcome import Answer
from assent.stores.sqlite.store import SqliteStore
from assent.testing import World
from bench.turns import range_of, take_turns

CALLERS, CALLS = 32, 1600
SETS, ROUNDS = 5, 6  # in six turns each has been in each place as often
CONTRACTS = {"write": {"side_effect": "write"}}
KINDS = {"unsigned": False, "control": False, "signed": True}


class Calls:
    """Governed calls on a store of their own, 32 at a time; if signed, what the last ones left is signed meanwhile.

    That is a checkpoint for every quarter of a second of calls without a pause, where a gateway makes one a minute.
    """

    def __init__(self, folder: Path, *, signed: bool) -> None:
        folder.mkdir()
        self.store = SqliteStore(folder / "assent.db")
        self._world, self._signed = World(CONTRACTS, store=self.store), signed
        self._log_signer = AuditLogSigner(self.store, folder / "secrets")
        self.waits: list[float] = []
        self.loop: list[float] = []

    async def run(self) -> None:
        before = time.thread_time()
        signing = asyncio.ensure_future(self._log_signer.sign()) if self._signed else None
        await asyncio.gather(*(self._caller() for _ in range(CALLERS)))
        if signing is not None:
            await signing
        self.store.append(Entry("operator", time.time(), {"action": "end"}))
        await self.store.flush()  # what the system still owes for the tiles is paid by whoever wrote them
        self.loop.append(time.thread_time() - before)

    async def _caller(self) -> None:
        for _ in range(CALLS // CALLERS):
            before = time.perf_counter()
            outcome = await self._world.call("write", {"item": "SCENE", "amount": 120})
            self.waits.append(time.perf_counter() - before)
            assert isinstance(outcome, Answer), outcome


async def measure_calls(folder: Path) -> None:
    """In sets of new stores, since two that are alike may differ in cost for as long as they live."""
    found = [await measure_set(folder / f"set-{number}") for number in range(SETS)]
    each = {name: statistics.median(one.cost[name] for one in found) / CALLS * 1e6 for name in KINDS}
    print(f"a governed call, unsigned / signed: {each['unsigned']:.1f} / {each['signed']:.1f} us of CPU time")
    for name, text in (("signed", "signed beside unsigned"), ("control", "unsigned beside unsigned (control)")):
        for threads in ("all threads", "the loop alone"):
            print(f"   {f'{text}, {threads}':<51} {range_of([one.shares[name, threads] for one in found])}")
    for name in KINDS:
        waits = sorted(wait for one in found for wait in one.waits[name])
        median, most = waits[len(waits) // 2] * 1e3, waits[len(waits) * 99 // 100] * 1e3
        print(f"   {name}: a caller waits {median:.1f} ms at the median, {most:.1f} ms at 99 %", flush=True)


@dataclass(frozen=True)
class Found:
    """What one set has shown, by kind of calls."""

    cost: dict[str, float]
    shares: dict[tuple[str, str], float]
    waits: dict[str, list[float]]


async def measure_set(folder: Path) -> Found:
    folder.mkdir()
    calls = {name: Calls(folder / name, signed=signed) for name, signed in KINDS.items()}
    steps = {name: one.run for name, one in calls.items()}
    for step in steps.values():  # to warm up
        await step()
    costs = [await take_turns(turn, steps) for turn in range(ROUNDS)]
    shares = {}
    for name, one in calls.items():
        loop = [mine / other for mine, other in zip(one.loop, calls["unsigned"].loop, strict=True)][1:]
        shares[name, "the loop alone"] = statistics.median(loop)
        shares[name, "all threads"] = statistics.median(cost[name] / cost["unsigned"] for cost in costs)
        await one.store.close()
    cost = {name: statistics.median(cost[name] for cost in costs) for name in calls}
    return Found(cost, shares, {name: one.waits for name, one in calls.items()})
