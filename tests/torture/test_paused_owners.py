"""A process stands still past its lease, others retry, it goes on: is it fenced?"""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import product
from pathlib import Path

from support.processes.forked import forker
from support.processes.governed_process import RECOVERIES, effects
from support.stores.postgres_server import drop_store, new_store_url
from support.suite.soak import Told, rounds

ROUNDS = rounds(20, 1_000)
MOMENTS = {"before the effect": 4, "after the effect": 5}
"""Where a first call passes these: recall and claim, each before and after, come first."""


def test_a_late_owner_is_fenced(tmp_path: Path, told: Told) -> None:
    url = asyncio.run(new_store_url())
    stores = {"sqlite": f"sqlite:///{tmp_path}/assent.db", "postgres": url}
    chosen = list(product(RECOVERIES, MOMENTS, stores))
    counts: Counter[str] = Counter(rounds=ROUNDS)
    with forker() as forks:
        for number in range(ROUNDS):
            recovery, moment, store = chosen[number % len(chosen)]
            asked = {
                "store": stores[store],
                "log": f"{tmp_path}/effects {number}.log",
                "answer": f"{tmp_path}/answer {number}",
                "recovery": recovery,
                "dedup": True,
                "name": f"key {number}",
                "at": MOMENTS[moment],
                "fault": "SIGSTOP",
            }
            said = forks.ask("pause", asked)
            where = f"{recovery}, {moment}, {store}: {said}"
            happened = effects(Path(asked["log"]))
            counts["effects"] += len(happened)
            assert said["stopped"] and said["ended"] == 0, where
            assert said["first"]["answer"] == {"code": "execute.in_doubt"}, where
            assert said["last"]["answers"][-1] == {**said["then"]["answers"][-1]}, where
            assert said["last"]["states"] == said["then"]["states"], where
            if recovery == "none":
                assert said["then"]["answers"][-1] == {"code": "recall.in_doubt"}, where
                counts["in doubt"] += 1
            else:
                assert said["then"]["answers"][-1]["result"] == happened[0]["result"], where
            # What is about to be sent cannot be called back: only an upstream that knows the call again can refuse it.
            unstoppable = recovery == "reconcile" and moment == "before the effect"
            assert len(happened) <= 1 + unstoppable, where
            counts["fenced"] += 1
    asyncio.run(drop_store(url))
    told(f"paused owners: {dict(counts)}")
