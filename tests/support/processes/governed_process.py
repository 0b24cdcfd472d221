"""What does a process of the crash suites do? It governs calls to a tool that keeps a log of its own, and dies on cue.

Nothing in the product knows of faults: they are wrapped around its ports here.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import resource
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assent.core.call import Call
from assent.core.outcome import Answer, Refusal
from assent.stores import SqliteStore, open_store
from assent.testing.world import World
from support.stores.failing_disk import FailingDisk

PAD = "x" * 6000
"""So much that no write fits into a page that is there already."""
RECOVERIES: dict[str, dict[str, Any]] = {
    "none": {"recovery": "none"},
    "keyed": {"recovery": "keyed", "forward": "meta"},
    "natural": {"recovery": "natural"},
    "reconcile": {"recovery": "reconcile", "lookup": {"tool": "look", "by": ["name"], "result": "/result"}},
}
WATCHED = ("claim_by_id", "claim", "retake", "mark_in_doubt", "settle")


class Faults:
    """Counts the points a call passes, and does the deed at the one it was told."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        self.at, self.kind, self.passed = job.get("at"), job.get("fault"), list[str]()
        self.store: Any = None

    async def hit(self, point: str) -> None:
        self.passed.append(point)
        if len(self.passed) - 1 != self.at:
            return
        if self.kind == "SIGKILL":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.kind == "SIGTERM":
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.Event().wait()
        elif self.kind == "SIGSTOP":
            os.kill(os.getpid(), signal.SIGSTOP)
        elif self.kind == "ENOSPC":
            connection = self.store._writer._connection
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages}").fetchall()
        elif self.kind == "EIO":
            size = Path(f"{self.store._path}-wal").stat().st_size
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


class FaultyStore:
    """A store with a fault point before and after each of its operations."""

    def __init__(self, inner: Any, faults: Faults) -> None:
        self._inner, self._faults = inner, faults

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        if name not in WATCHED:
            return method

        async def watched(*args: Any, **kwargs: Any) -> Any:
            await self._faults.hit(f"before {name}")
            found = await method(*args, **kwargs)
            await self._faults.hit(f"after {name}")
            return found

        return watched


class LoggedUpstream:
    """The outside world: what happened in it stands in its own file, durable before it is answered."""

    def __init__(self, job: Mapping[str, Any], faults: Faults) -> None:
        self._log, self._faults = Path(job["log"]), faults
        self._dedup = job["dedup"] and job["recovery"] in ("keyed", "natural")

    async def run(self, call: Call, key: str | None) -> dict[str, Any]:
        await self._faults.hit("before the effect")
        result = self._effect(str(call.arguments["name"]), key)
        await self._faults.hit("after the effect")
        return {"content": [{"type": "text", "text": PAD}], "structuredContent": result}

    async def read(self, tool: str, arguments: Mapping[str, Any], call: Call) -> dict[str, Any]:
        await self._faults.hit("before the look-up")
        done = [one for one in effects(self._log) if one["name"] == arguments["name"]]
        said = {"status": "done", "result": done[0]["result"]} if done else {"status": "not_done"}
        await self._faults.hit("after the look-up")
        return {"content": [], "structuredContent": said}

    def _effect(self, name: str, key: str | None) -> dict[str, Any]:
        with self._log.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            earlier = effects(self._log)
            if self._dedup and (known := [one for one in earlier if one["key"] == key and one["name"] == name]):
                result: dict[str, Any] = known[0]["result"]
                return result
            result = {"name": name, "number": len(earlier), "by": os.getpid()}
            file.write(json.dumps({"name": name, "key": key, "result": result}).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
            return result


def effects(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_bytes().splitlines()] if log.exists() else []


class Governed:
    """A small server: a store, the sentence, and the tool."""

    def __init__(self, world: World, faults: Faults, store: Any) -> None:
        self.world, self.faults, self.store = world, faults, store

    @classmethod
    async def open(cls, job: Mapping[str, Any]) -> Governed:
        faults = Faults(job)
        store: Any = await open_store(job["store"])
        if isinstance(store, SqliteStore):
            faults.store = store
        contracts = {
            "act": {"side_effect": "write", "idempotency": RECOVERIES[job["recovery"]]},
            "look": {"side_effect": "read"},
        }
        world = World(contracts, store=FaultyStore(store, faults))  # type: ignore[arg-type]
        skew, lease = job.get("skew", 0.0), job.get("lease", 15.0)
        world.clock = lambda: time.time() + skew  # type: ignore[assignment]
        from assent.pipeline.leased_effects import EffectRunner

        world.but(
            now=world.clock,
            upstream=LoggedUpstream(job, faults),
            work=EffectRunner(world.store, world.clock, lease),
            lease=lease,
            attach=job.get("attach", 0.0),
            new_id=lambda: os.urandom(8).hex(),
        )
        return cls(world, faults, store)

    async def call(self, name: str) -> dict[str, Any]:
        outcome = await self.world.call("act", {"name": name, "pad": PAD}, key=name)
        if isinstance(outcome, Answer):
            return {"result": outcome.result["structuredContent"], "replayed": outcome.replayed}
        assert isinstance(outcome, Refusal)
        return {"code": outcome.code}

    async def close(self) -> None:
        await self.world.ports.work.drain(0.05)  # type: ignore[attr-defined]
        await self.store.close()


async def one_call(job: Mapping[str, Any]) -> None:
    """Call once, after as many earlier calls as were asked for, with the fault anywhere in between; what was answered
    to the last, if anything was, goes into a file."""
    governed = await Governed.open(job)

    async def in_turn() -> dict[str, Any]:
        for earlier in job.get("earlier", ()):
            await governed.call(earlier)
        return await governed.call(job["name"])

    calling = asyncio.create_task(in_turn())
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    told = asyncio.create_task(stopping.wait())
    await asyncio.wait([calling, told], return_when=asyncio.FIRST_COMPLETED)
    if calling.done():
        said: dict[str, Any] = {"answer": calling.result(), "points": governed.faults.passed}
        Path(job["answer"]).write_text(json.dumps(said))
    told.cancel()
    try:
        await governed.close()
    finally:
        if not calling.done():
            calling.cancel()


async def retries(job: Mapping[str, Any]) -> None:
    """Call twice more, an hour later; what was answered, how the claim stands, and whether the log has gaps."""
    governed = await Governed.open({**job, "at": None, "skew": job.get("skew", 0.0) + 3600.0})
    answers = [await governed.call(job["name"]) for _ in range(2)]
    earlier = {name: [await governed.call(name) for _ in range(2)] for name in job.get("earlier", ())}
    log = await governed.store.entries(limit=100_000)
    claims = await governed.store.claims(limit=100_000)
    states = [record.state_at(governed.world.clock()).value for record in claims if record.key == job["name"]]
    await governed.close()
    gapless = [one.index for one in log] == list(range(len(log)))
    said = {"answers": answers, "earlier": earlier, "states": states, "gapless": gapless}
    Path(job["answer"]).write_text(json.dumps(said))


async def failing_writes(job: Mapping[str, Any]) -> None:
    """Two calls on a disk whose n-th write fails; what was answered, and how many writes there were."""
    governed = await Governed.open({**job, "at": None})
    disk = FailingDisk(job["nth"], job["errno"], lasting=job["lasting"])
    answers = [await governed.call(name) for name in (*job["earlier"], job["name"])]
    Path(job["answer"]).write_text(json.dumps({"answer": answers[-1], "all": answers, "writes": disk.writes}))
    await governed.close()


async def race(job: Mapping[str, Any], barrier: Any) -> None:
    """Many callers with one key in every round; the processes begin each round together."""
    governed = await Governed.open({**job, "attach": 10.0})
    said: list[list[dict[str, Any]]] = []
    for number in range(job["rounds"]):
        await asyncio.to_thread(barrier.wait)  # a loop that stands still would hold up the store of all
        said.append(list(await asyncio.gather(*(governed.call(f"key {number}") for _ in range(job["callers"])))))
    await governed.close()
    Path(job["answer"]).write_text(json.dumps(said))
