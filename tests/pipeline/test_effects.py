"""What becomes of effects when the process is told to stop?"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from assent.core.call import Call, Request
from assent.core.claims import State
from assent.core.outcome import Answer, Refusal
from assent.pipeline.govern import govern
from assent.pipeline.leased_effects import EVERY, MOST_SWEPT, sweep
from assent.testing.world import AGENT, FakeUpstream, World
from support.store_suite.drafts import NOW, claim_draft, entry, succeeded

CONTRACTS = {"send": {"side_effect": "write", "idempotency": {"recovery": "none"}}}


class Pausing(FakeUpstream):
    """An upstream whose effects take the time they are told to."""

    def __init__(self, effect: Callable[[], Awaitable[dict[str, Any]]]) -> None:
        super().__init__()
        self._effect = effect

    async def run(self, call: Call, key: str | None) -> dict[str, Any]:
        return await self._effect()


def hanging() -> tuple[World, asyncio.Event, asyncio.Event]:
    world, begun, go = World(CONTRACTS), asyncio.Event(), asyncio.Event()

    async def run() -> dict[str, Any]:
        begun.set()
        await go.wait()
        return {"content": [], "structuredContent": {"ok": True}}

    world.but(upstream=Pausing(run))
    return world, begun, go


async def test_draining_waits_for_what_is_under_way() -> None:
    world, begun, go = hanging()
    calling = asyncio.create_task(world.call("send", {}, key="k"))
    await begun.wait()
    draining = asyncio.create_task(world.ports.work.drain(60))
    await asyncio.sleep(0)
    go.set()
    assert await draining == 0
    assert isinstance(await calling, Answer)


async def test_what_does_not_end_in_time_is_written_down_as_in_doubt() -> None:
    world, begun, _ = hanging()
    calling = asyncio.create_task(world.call("send", {}, key="k"))
    await begun.wait()
    assert await world.ports.work.drain(0) == 1
    await asyncio.gather(calling, return_exceptions=True)
    (record,) = await world.store.claims()
    assert record.state is State.IN_DOUBT
    assert [one.entry.kind for one in await world.store.entries()][:2] == ["intent", "outcome"]


async def test_nothing_new_is_started_while_draining() -> None:
    world = World(CONTRACTS)
    await world.ports.work.drain(0)
    outcome = await world.call("send", {}, key="k")
    assert isinstance(outcome, Refusal) and outcome.code == "claim.unavailable"
    assert "shutting down" in outcome.detail
    assert world.upstream.effects == []
    assert await world.store.claims() == []


async def test_whoever_works_also_lets_go_of_old_answers() -> None:
    world = World(CONTRACTS)
    await world.call("send", {}, key="old")
    world.clock.advance(31 * 86400 + EVERY)
    await world.call("send", {}, key="new")
    await asyncio.sleep(0)
    await world.ports.work.drain(1)
    results = {record.key: record.result for record in await world.store.claims()}
    assert results["old"] is None and results["new"] is not None


async def test_a_sweep_lets_go_of_everything_that_is_due_however_much_it_is() -> None:
    world = World(CONTRACTS)
    for number in range(2 * MOST_SWEPT + 1):
        draft = claim_draft(str(number))
        await world.store.claim(draft, entry(), None, NOW)
        await world.store.settle(draft.id, 1, succeeded(), [])
    await sweep(world.store, NOW + 365 * 86400, 30 * 86400)
    assert [record for record in await world.store.claims(limit=3 * MOST_SWEPT) if record.result is not None] == []


class Door:
    """A caller's presence, and whether it was let go."""

    def __init__(self) -> None:
        self.released = False

    def release(self) -> None:
        self.released = True


async def test_an_effect_runs_in_its_callers_task_where_nothing_else_could_end_it() -> None:
    world, begun, go = hanging()
    door, tasks = Door(), []

    async def run() -> dict[str, Any]:
        tasks.append(asyncio.current_task())
        begun.set()
        await go.wait()
        return {"content": [], "structuredContent": {"ok": True}}

    world.but(upstream=Pausing(run))
    calling = asyncio.create_task(govern(Request("send", {}, AGENT, ("k",), presence=door), world.ports))
    await begun.wait()
    assert door.released and tasks == [calling]
    draining = asyncio.create_task(world.ports.work.drain(60))
    await asyncio.sleep(0)
    go.set()
    assert await draining == 0
    assert isinstance(await calling, Answer)


async def test_such_an_effect_too_is_in_doubt_when_the_process_cannot_wait_for_it() -> None:
    world, begun, _ = hanging()
    calling = asyncio.create_task(govern(Request("send", {}, AGENT, ("k",), presence=Door()), world.ports))
    await begun.wait()
    assert await world.ports.work.drain(0) == 1
    await asyncio.gather(calling, return_exceptions=True)
    (record,) = await world.store.claims()
    assert record.state is State.IN_DOUBT


@pytest.mark.parametrize("stopping", [True, False])
async def test_an_effect_that_the_http_server_ends_is_in_doubt_and_counted(stopping: bool) -> None:
    world, begun, _ = hanging()
    calling = asyncio.create_task(govern(Request("send", {}, AGENT, ("k",), presence=Door()), world.ports))
    await begun.wait()
    calling.cancel()
    if not stopping:
        await asyncio.gather(calling, return_exceptions=True)
    assert await world.ports.work.drain(60) == 1
    (record,) = await world.store.claims()
    assert record.state is State.IN_DOUBT


async def test_a_caller_who_was_refused_is_still_expected_to_stay() -> None:
    world, door = World(CONTRACTS), Door()
    await world.ports.work.drain(0)
    await govern(Request("send", {}, AGENT, ("k",), presence=door), world.ports)
    assert not door.released
