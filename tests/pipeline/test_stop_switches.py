"""Stop switches are enforced on every call, cheaply, and within a second everywhere."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from assent.core.outcome import Answer, Outcome, Refusal
from assent.core.principal import Principal
from assent.pipeline import authorize
from assent.pipeline.authorize import StopSwitches
from assent.stores import open_store
from assent.stores.memory import MemoryStore
from assent.testing import World

CONTRACTS = {"look": {"side_effect": "read"}, "save": {"side_effect": "write"}}
ROOT = Principal("root", "human", roles=frozenset({"operator"}))
CI = Principal("ci", "agent", "acme", frozenset({"*"}))


class CountingStore(MemoryStore):
    """A store that counts how often it is asked for switches."""

    looks = 0

    async def documents(self, kind: str, now: float, **more: Any) -> Any:
        self.looks += 1
        return await super().documents(kind, now, **more)


def world(**more: Any) -> tuple[World, StopSwitches]:
    made = World(CONTRACTS, **more)
    switches = StopSwitches(made.store)
    made.but(stops=switches.current)
    return made, switches


def code(outcome: Outcome) -> str:
    return outcome.code if isinstance(outcome, Refusal) else type(outcome).__name__


async def stop(switches: StopSwitches, scope: Any, target: str = "", tenant: str = "", level: Any = "all") -> str:
    return (await switches.stop(ROOT, scope, target, tenant, level, "an incident", 1.0)).id


@pytest.mark.parametrize(
    ("scope", "target", "tenant"),
    [
        ("everything", "", ""),
        ("upstream", "test", ""),
        ("tool", "save", ""),
        ("principal", "ci", "acme"),
        ("principal", "ci", ""),
    ],
)
async def test_a_stopped_call_is_refused_with_the_reason(scope: str, target: str, tenant: str) -> None:
    there, switches = world()
    await stop(switches, scope, target, tenant)
    refused = await there.call("save", {}, by=CI)
    assert isinstance(refused, Refusal)
    assert refused.code == "authorize.stopped"
    assert "an incident" in refused.problem()["detail"]
    assert "operator" in refused.problem()["remedy"]
    assert there.upstream.effects == []


@pytest.mark.parametrize(
    ("scope", "target", "tenant"),
    [("upstream", "other", ""), ("tool", "look", ""), ("principal", "bob", ""), ("principal", "ci", "other")],
)
async def test_other_calls_go_on(scope: str, target: str, tenant: str) -> None:
    there, switches = world()
    await stop(switches, scope, target, tenant)
    assert isinstance(await there.call("save", {}, by=CI), Answer)


async def test_a_stopped_person_is_stopped_with_the_agent_that_acts_for_them() -> None:
    there, switches = world()
    await stop(switches, "principal", "ann")
    acting = Principal("bot", "agent", scopes=frozenset({"*"}), actors=(Principal("ann", "human"),))
    assert code(await there.call("save", {}, by=acting)) == "authorize.stopped"


async def test_a_release_goes_through_reads_first() -> None:
    there, switches = world()
    switch = await stop(switches, "everything")
    assert code(await there.call("look", {}, by=CI)) == "authorize.stopped"
    await switches.ease(ROOT, switch, "reads are fine", 2.0)
    assert isinstance(await there.call("look", {}, by=CI), Answer)
    assert code(await there.call("save", {}, by=CI)) == "authorize.stopped"
    assert await switches.ease(ROOT, switch, "again", 3.0) is None
    await switches.release(ROOT, switch, "solved", 4.0)
    assert isinstance(await there.call("save", {}, by=CI), Answer)
    assert await switches.release(ROOT, switch, "again", 5.0) is None
    entries = [one.entry for one in await there.store.entries() if one.entry.kind == "operator"]
    events = [(one.facts["event"], one.facts["state"], one.values["reason"]) for one in entries]
    assert events == [
        ("stop.set", "all", "an incident"),
        ("stop.eased", "effects", "reads are fine"),
        ("stop.released", "released", "solved"),
    ]


async def test_observing_lets_no_stopped_call_pass() -> None:
    there, switches = world(mode="observe")
    await stop(switches, "tool", "save")
    assert code(await there.call("save", {}, by=CI)) == "authorize.stopped"


async def test_a_stopped_caller_gets_no_old_answer_either() -> None:
    there, switches = world()
    assert isinstance(await there.call("save", {}, by=CI, key="k-1"), Answer)
    await stop(switches, "principal", "ci")
    assert code(await there.call("save", {}, by=CI, key="k-1")) == "authorize.stopped"


async def test_calls_do_not_read_the_store_each(monkeypatch: pytest.MonkeyPatch) -> None:
    store = CountingStore()
    there, _ = world(store=store)
    monkeypatch.setattr(authorize, "FRESH", 3600.0)
    for number in range(50):
        await there.call("look", {"n": number}, by=CI)
    assert store.looks == 1


async def test_a_switch_set_in_another_process_holds_here_after_the_cache_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr(authorize.time, "monotonic", lambda: clock[0])
    url = f"sqlite:///{tmp_path}/a.db"
    one, other = await open_store(url), await open_store(url)
    here, there = StopSwitches(one), StopSwitches(other)
    assert (await here.current()).is_empty
    await stop(there, "everything")
    clock[0] += authorize.FRESH / 2
    assert (await here.current()).is_empty
    clock[0] += authorize.FRESH
    assert (await here.current()).everything is not None
    assert authorize.FRESH <= 1.0
    await one.close()
    await other.close()


async def test_an_earlier_look_that_ends_later_does_not_undo_a_switch() -> None:
    store, asked, go = MemoryStore(), asyncio.Event(), asyncio.Event()

    class SlowStore(MemoryStore):
        async def documents(self, kind: str, now: float, **more: Any) -> Any:
            found = await store.documents(kind, now, **more)
            if not asked.is_set():
                asked.set()
                await go.wait()
            return found

        document, put_document = store.document, store.put_document

    switches = StopSwitches(SlowStore())
    early = asyncio.create_task(switches.current())
    await asked.wait()
    await stop(switches, "everything")
    go.set()
    await early
    assert (await switches.current()).stop_for_messages(CI, "") is not None


async def test_two_operators_at_once_leave_the_stricter_stop(tmp_path: Path) -> None:
    store = await open_store(f"sqlite:///{tmp_path}/assent.db")
    try:
        for number in range(10):
            here, there = StopSwitches(store), StopSwitches(store)
            await asyncio.gather(
                stop(here, "tool", f"tool {number}", level="all"),
                stop(there, "tool", f"tool {number}", level="effects"),
            )
        assert {one.level for one in await StopSwitches(store).all()} == {"all"}
    finally:
        await store.close()
