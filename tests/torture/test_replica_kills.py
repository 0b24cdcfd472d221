"""Replicas are killed or run out of disk under load: a key has at most one effect, and the log has no gap."""

from __future__ import annotations

import asyncio
import json
import random
import resource
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from assent.core.problems import problem_in
from support.gateway.replicas import REPLICAS, Replicas, replicas
from support.stores.postgres_server import drop_store, new_store_url
from support.suite.soak import TORTURE, Told

CALLERS, ROUNDS = (200, 25) if TORTURE else (60, 1)
STORES = ["sqlite", "postgres"] if TORTURE else ["sqlite"]
NO_STORE = {"record.unavailable", "claim.unavailable"}
UNKNOWN = {"recall.in_doubt", "execute.in_doubt"}
UNLIMITED = resource.RLIM_INFINITY if sys.platform != "win32" else -1

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it needs prlimit and /proc")


async def heard(running: Replicas, key: str, tool: str = "note") -> str:
    """`done N`, the code of a refusal, or `lost` where the connection broke."""
    try:
        result = await running.call(tool, key)
    except (httpx2.TransportError, json.JSONDecodeError, KeyError):
        return "lost"
    problem = problem_in(result)
    return problem["code"] if problem else f"done {result['structuredContent']['number']}"


async def retried(running: Replicas, key: str, tool: str = "note") -> str:
    """What a caller hears who repeats a call with the same key while the connection breaks or another one runs."""
    async with asyncio.timeout(120):
        while (said := await heard(running, key, tool)) in ("lost", "recall.in_flight"):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    return said


async def verify(running: Replicas) -> None:
    command = (str(Path(sys.executable).with_name("assent")), "audit", "verify", "-c", str(running.file))
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=STDOUT)
    said = (await process.communicate())[0].decode()
    assert process.returncode == 0, said


@asynccontextmanager
async def replicas_on(kind: str, folder: Path) -> AsyncIterator[Replicas]:
    store = await new_store_url() if kind == "postgres" else ""
    async with replicas(folder, store) as running:
        yield running
        await verify(running)
    if store:
        await drop_store(store)


def judge(answers: Sequence[str], effects: int) -> None:
    """One effect at most; an answer means that it happened, and everybody who got one got the same."""
    done = {one for one in answers if one.startswith("done")}
    assert effects <= 1 and len(done) <= effects, answers
    assert set(answers) - done <= UNKNOWN, answers


@pytest.mark.parametrize("kind", STORES)
async def test_callers_with_one_key_have_at_most_one_effect_while_replicas_are_killed(
    kind: str, tmp_path: Path, told: Told
) -> None:
    chance, counts = random.Random(7), Counter[str]()
    async with replicas_on(kind, tmp_path) as running:
        for number in range(ROUNDS):
            calls = [asyncio.create_task(retried(running, f"round {number}")) for _ in range(CALLERS)]
            await asyncio.sleep(chance.uniform(0.0, 0.3))  # Any moment will do.
            await running.kill(chance.randrange(REPLICAS))
            answers, effects = await asyncio.gather(*calls), running.notes.effects.count(f"round {number}")
            judge(answers, effects)
            counts.update(effects=effects, doubts=not UNKNOWN.isdisjoint(answers))
    told(f"{kind}: {ROUNDS} rounds of {CALLERS} callers, a replica killed in each: {dict(counts)}")


@pytest.mark.skipif(not TORTURE, reason="it waits for the end of a lease")
@pytest.mark.parametrize("kind", STORES)
async def test_a_call_whose_replica_is_killed_is_in_doubt_for_all_and_never_runs_again(
    kind: str, tmp_path: Path
) -> None:
    async with replicas_on(kind, tmp_path) as running:
        calls = [asyncio.create_task(retried(running, "slow", "slow_note")) for _ in range(CALLERS)]
        await running.notes.started.wait()
        for index in range(REPLICAS):  # One of them has the claim.
            await running.kill(index)
        running.notes.started.clear()
        answers = await asyncio.gather(*calls)
        running.notes.go.set()
        assert set(answers) == {"recall.in_doubt"} and not running.notes.started.is_set()


async def test_without_disk_every_call_is_refused_before_its_effect_and_all_replicas_recover(tmp_path: Path) -> None:
    async with replicas(tmp_path) as running:
        assert (await heard(running, "before")).startswith("done")
        _limit(running, 4096)  # Smaller than the files are: no write succeeds.
        refused = await asyncio.gather(*(heard(running, f"full {number}") for number in range(20)))
        assert set(refused) <= NO_STORE and running.notes.effects == ["before"], refused
        assert {answer.status_code for answer in await running.get("/readyz")} == {503}
        _limit(running, UNLIMITED)
        async with asyncio.timeout(60):
            while await heard(running, "probe") in NO_STORE:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        answers = await asyncio.gather(*(retried(running, f"full {number}") for number in range(20)))
        assert all(one.startswith("done") for one in answers), answers
        assert Counter(running.notes.effects) == Counter(["before", "probe", *(f"full {one}" for one in range(20))])
        await verify(running)


def _limit(running: Replicas, size: int) -> None:
    for pid in running.pids():
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, UNLIMITED))
