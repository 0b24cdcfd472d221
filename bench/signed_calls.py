"""Is a governed call any slower while the log is signed?"""

from __future__ import annotations

import asyncio
import statistics
import time
from pathlib import Path

from assent.core.outcome import Answer
from assent.ledger import Ledger
from assent.stores.sqlite.store import SqliteStore
from assent.testing import World
from bench.turns import range_of, take_turns

CALLERS, CALLS, WARM, ROUNDS = 32, 3200, 2, 20
CONTRACTS = {"write": {"side_effect": "write"}}


class Calls:
    """Governed calls on a store of their own, 32 at a time; if signed, what the last ones left is signed meanwhile.

    That is a checkpoint for every half second of calls without a pause, where a gateway makes one a minute.
    """

    def __init__(self, folder: Path, *, signed: bool) -> None:
        folder.mkdir()
        self.store = SqliteStore(folder / "assent.db")
        self._world, self._signed = World(CONTRACTS, store=self.store), signed
        self._ledger = Ledger(self.store, folder / "secrets")
        self.waits: list[float] = []
        self.loop: list[float] = []

    async def run(self) -> None:
        before = time.thread_time()
        signing = asyncio.ensure_future(self._ledger.sign()) if self._signed else None
        await asyncio.gather(*(self._caller() for _ in range(CALLERS)))
        if signing is not None:
            await signing
        self.loop.append(time.thread_time() - before)

    async def _caller(self) -> None:
        for _ in range(CALLS // CALLERS):
            before = time.perf_counter()
            outcome = await self._world.call("write", {"item": "SCENE", "amount": 120})
            self.waits.append(time.perf_counter() - before)
            assert isinstance(outcome, Answer), outcome


async def measure_calls(folder: Path) -> None:
    kinds = {"unsigned": False, "control": False, "signed": True}
    calls = {name: Calls(folder / name, signed=signed) for name, signed in kinds.items()}
    steps = {name: one.run for name, one in calls.items()}
    costs = [await take_turns(turn, steps) for turn in range(WARM + ROUNDS)][WARM:]
    each = {name: statistics.median(cost[name] for cost in costs) / CALLS * 1e6 for name in calls}
    print(f"a governed call, unsigned / signed: {each['unsigned']:.1f} / {each['signed']:.1f} us of CPU time")
    for name, text in (("signed", "signed beside unsigned"), ("control", "unsigned beside unsigned (control)")):
        whole = [cost[name] / cost["unsigned"] for cost in costs]
        loop = [one / other for one, other in zip(calls[name].loop, calls["unsigned"].loop, strict=True)][WARM:]
        print(f"   {text + ', all threads':<51} {range_of(whole)}")
        print(f"   {text + ', the loop alone':<51} {range_of(loop)}")
    for name, one in calls.items():
        waits = sorted(one.waits)
        median, most = waits[len(waits) // 2] * 1e3, waits[len(waits) * 99 // 100] * 1e3
        print(f"   {name}: a caller waits {median:.1f} ms at the median, {most:.1f} ms at 99 %", flush=True)
        await one.store.close()
