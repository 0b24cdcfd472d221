"""Two hundred callers in four processes with one key: one effect?"""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from support.processes.forked import forker
from support.processes.governed_process import effects
from support.stores.postgres_server import drop_store, new_store_url
from support.suite.soak import Told, rounds

ROUNDS = rounds(20, 2_000)
PROCESSES, CALLERS = 4, 50


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_one_key_has_one_effect_and_one_answer(kind: str, tmp_path: Path, told: Told) -> None:
    url = asyncio.run(new_store_url()) if kind == "postgres" else f"sqlite:///{tmp_path}/assent.db"
    asked = {
        "store": url,
        "log": str(tmp_path / "effects.log"),
        "answer": str(tmp_path / "answer"),
        "recovery": "none",
        "dedup": False,
        "rounds": ROUNDS,
        "processes": PROCESSES,
        "callers": CALLERS,
    }
    with forker() as forks:
        said = forks.ask("race", asked)
    if kind == "postgres":
        asyncio.run(drop_store(url))
    assert said["ended"] == [0] * PROCESSES
    happened = {one["name"]: one["result"] for one in effects(tmp_path / "effects.log")}
    assert len(effects(tmp_path / "effects.log")) == len(happened) == ROUNDS
    counts: Counter[str] = Counter(rounds=ROUNDS, effects=len(happened))
    for number in range(ROUNDS):
        answers = [answer for process in said["said"] for answer in process[number]]
        assert len(answers) == PROCESSES * CALLERS
        for answer in answers:
            assert answer.get("result", happened[f"key {number}"]) == happened[f"key {number}"]
            assert answer.get("code", "recall.in_flight") == "recall.in_flight"
            counts["told to wait" if "code" in answer else "answered"] += 1
    told(f"same-key races ({kind}): {dict(counts)}")
