"""Whatever dies, and whenever: does the outside world's own log show at most one effect, and is no doubt hidden?"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

from support.processes.forked import Forker, forker
from support.processes.governed_process import RECOVERIES, effects
from support.stores.postgres_server import drop_store, new_store_url
from support.suite.soak import TORTURE, Told, rounds

FAULTS = ("SIGKILL", "SIGTERM", "ENOSPC", "EIO")
ENDINGS = {"SIGKILL": {-9}, "SIGTERM": {0, 1}, "ENOSPC": {0, 1}, "EIO": {0, 1}}
RUNS, LATER_RUNS = rounds(1, 50), rounds(1, 2)


def job(folder: Path, recovery: str, dedup: bool, url: str | None = None, **more: Any) -> dict[str, Any]:
    folder.mkdir()
    return {
        "store": url or f"sqlite:///{folder}/assent.db",
        "log": f"{folder}/effects.log",
        "answer": f"{folder}/answer",
        "recovery": recovery,
        "dedup": dedup,
        "name": "the key",
        **more,
    }


def judge(asked: dict[str, Any], said: dict[str, Any]) -> str:
    """Nothing is believed but the upstream's log; the end of it in one word."""
    happened = [one for one in effects(Path(asked["log"])) if one["name"] == asked["name"]]
    where = f"{asked['recovery']}, dedup {asked['dedup']}, {asked['fault']} at point {asked['at']}: {said}"
    for name, heard in said["then"]["earlier"].items():
        _judge_earlier(asked, name, heard, where)
    assert said["ended"] in ENDINGS[asked["fault"]], where
    assert said["again"] == 0 and said["then"]["gapless"], where
    first = said["first"]["answer"] if said["first"] else None
    answers = [answer for answer in (first, *said["then"]["answers"]) if answer is not None]
    results = [answer["result"] for answer in answers if "result" in answer]
    assert all(result == results[0] for result in results), where
    if asked["recovery"] not in ("keyed", "natural") or asked["dedup"]:
        assert len(happened) <= 1, where
    assert len({(one["name"], one["key"]) for one in happened}) <= 1, where
    last = said["then"]["answers"][-1]
    if "result" in last:
        assert happened and last["result"] in [one["result"] for one in happened], where
        assert said["then"]["states"] == ["succeeded"], where
        return "succeeded"
    assert asked["recovery"] == "none", where
    assert last["code"] == "recall.in_doubt" and said["then"]["states"] == ["in_doubt"], where
    assert not results, where
    return "in doubt"


def _judge_earlier(asked: dict[str, Any], name: str, heard: list[dict[str, Any]], where: str) -> None:
    """What was called before the call that is judged: done once and answered, or honestly in doubt."""
    happened = [one for one in effects(Path(asked["log"])) if one["name"] == name]
    if asked["recovery"] not in ("keyed", "natural") or asked["dedup"]:
        assert len(happened) <= 1, where
    if "result" in heard[-1]:
        assert heard[-1]["result"] in [one["result"] for one in happened], where
    else:
        assert asked["recovery"] == "none" and heard[-1]["code"] == "recall.in_doubt", where


def points(forks: Forker, folder: Path, recovery: str, **more: Any) -> list[str]:
    """The points that calls pass where nothing happens to them."""
    said = forks.ask("crash", job(folder, recovery, False, at=None, fault=None, **more))
    passed: list[str] = said["first"]["points"]
    return passed


def crashes(folder: Path, recovery: str) -> Counter[str]:
    """Every fault at every point; an upstream that knows calls again matters only where it is told of them."""
    counts: Counter[str] = Counter()
    kinds = (False, True) if recovery in ("keyed", "natural") else (False,)
    with forker() as forks:
        passed = points(forks, folder / f"clean {recovery}", recovery)
        counts["points"] += len(passed)
        for at, fault, dedup, run in product(range(len(passed)), FAULTS, kinds, range(RUNS)):
            home = folder / f"{recovery} {at} {fault} {dedup} {run}"
            asked = job(home, recovery, dedup, at=at, fault=fault)
            counts[judge(asked, forks.ask("crash", asked))] += 1
            counts["rounds"] += 1
            counts["effects"] += len(effects(home / "effects.log"))
    return counts


def test_a_process_that_dies_anywhere_leaves_at_most_one_effect_or_an_honest_doubt(tmp_path: Path, told: Told) -> None:
    with ThreadPoolExecutor(len(RECOVERIES)) as pool:  # they wait for the disk more than they work
        counts = sum(pool.map(lambda recovery: crashes(tmp_path, recovery), RECOVERIES), Counter[str]())
    assert counts["in doubt"] > 0 and counts["succeeded"] > 0
    told(f"crash matrix (sqlite): {dict(counts)}")


SEQUENCES: dict[str, dict[str, Any]] = {
    "a later call": {"earlier": ["an earlier key"]},
    "a retry of what died before its effect": {"lost": 4},
    "a retry of what died after its effect": {"lost": 5},
}
"""Where a first call passes its effect: recall and claim, each before and after, come first."""


def later_crashes(folder: Path, recovery: str) -> Counter[str]:
    """Faults in calls that are not a store's first, and in the recovery of those that were lost."""
    counts: Counter[str] = Counter()
    turn = list(FAULTS)
    with forker() as forks:
        for number, (sequence, more) in enumerate(SEQUENCES.items()):
            passed = points(forks, folder / f"clean {sequence} {recovery}", recovery, **more)
            counts["points"] += len(passed)
            for at, run in product(range(len(passed)), range(LATER_RUNS)):
                for fault in FAULTS if TORTURE else [turn[(at + number) % len(turn)]]:
                    home = folder / f"{sequence} {recovery} {at} {fault} {run}"
                    asked = job(home, recovery, True, at=at, fault=fault, **more)
                    counts[judge(asked, forks.ask("crash", asked))] += 1
                    counts["rounds"] += 1
                    counts["effects"] += len(effects(home / "effects.log"))
    return counts


def test_a_process_that_dies_in_a_later_call_or_while_it_recovers_one_does_no_worse(tmp_path: Path, told: Told) -> None:
    with ThreadPoolExecutor(len(RECOVERIES)) as pool:
        counts = sum(pool.map(lambda recovery: later_crashes(tmp_path, recovery), RECOVERIES), Counter[str]())
    assert counts["in doubt"] > 0 and counts["succeeded"] > 0
    told(f"crash matrix, later calls (sqlite): {dict(counts)}")


def test_on_postgres_as_well(tmp_path: Path, told: Told) -> None:
    counts: Counter[str] = Counter()
    chosen = random.Random(5)
    url = asyncio.run(new_store_url())
    with forker() as forks:
        passed = forks.ask("crash", job(tmp_path / "clean", "none", False, url, at=None, fault=None, name="clean"))
        for at, point in enumerate(passed["first"]["points"]):
            for fault in ("SIGKILL", "SIGTERM"):
                for recovery in RECOVERIES if TORTURE else [chosen.choice(list(RECOVERIES))]:
                    name = f"{recovery} {at} {fault} {point}"
                    asked = job(tmp_path / name, recovery, True, url, at=at, fault=fault, name=name)
                    counts[judge(asked, forks.ask("crash", asked))] += 1
                    counts["rounds"] += 1
                    counts["effects"] += len(effects(tmp_path / name / "effects.log"))
    asyncio.run(drop_store(url))
    told(f"crash matrix (postgres): {dict(counts)}")
