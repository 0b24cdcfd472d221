"""The n-th write to the disk fails, for every n until none does: is anything torn, lost or done twice?"""

from __future__ import annotations

import errno
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from support.processes.forked import forker
from support.processes.governed_process import effects
from support.suite.soak import TORTURE, Told

STRIDE = 1 if TORTURE else 7
MOST = 1000
EARLIER = "an earlier key"


def judge(asked: dict[str, Any], said: dict[str, Any]) -> Counter[str]:
    """From the upstream's log: each key at most once; answered means done; undone means it runs on a sound disk."""
    where = f"{asked}: {said}"
    assert said["ended"] in (0, 1) and said["again"] == 0 and said["then"]["gapless"], where
    told = dict(zip((EARLIER, asked["name"]), said["first"]["all"], strict=True))
    counts: Counter[str] = Counter()
    for name, heard in ((EARLIER, said["then"]["earlier"][EARLIER]), (asked["name"], said["then"]["answers"])):
        happened = [one["result"] for one in effects(Path(asked["log"])) if one["name"] == name]
        assert len(happened) <= 1, where
        if "result" in heard[-1]:
            assert [heard[-1]["result"]] == happened, where
            assert "result" in told[name] or told[name]["code"] != "execute.in_doubt", where
            counts["succeeded"] += 1
        else:
            assert heard[-1] == {"code": "recall.in_doubt"} and "result" not in told[name], where
            counts["in doubt"] += 1
        counts["effects"] += len(happened)
    return counts


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO], ids=["ENOSPC", "EIO"])
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from then on"])
def test_a_write_that_fails_anywhere_tears_nothing_and_nothing_is_done_twice(
    error: int, lasting: bool, tmp_path: Path, told: Told
) -> None:
    counts: Counter[str] = Counter()
    with forker() as forks:
        for nth in count(0, STRIDE):
            assert nth < MOST
            asked = {
                "store": f"sqlite:///{tmp_path}/{nth}.db",
                "log": f"{tmp_path}/{nth}.log",
                "answer": f"{tmp_path}/{nth}.answer",
                "recovery": "none",
                "dedup": False,
                "name": "the key",
                "earlier": [EARLIER],
                "nth": nth,
                "errno": error,
                "lasting": lasting,
            }
            said = forks.ask("writes", asked)
            counts += judge(asked, said)
            counts["rounds"] += 1
            assert said["first"]["writes"] > 0, "SQLite's writes do not pass here"
            if nth >= said["first"]["writes"]:
                break
    assert counts["in doubt"] > 0 and counts["succeeded"] > 0
    told(f"{nth} writes, {errno.errorcode[error]}, lasting {lasting}: {dict(counts)}")
