"""Is every request written down, however it ends?"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from assent.audit.sentences import sentence
from assent.core.outcome import Answer
from assent.testing import AGENT, World

NATIVE = {"type": "object", "properties": {"dryRun": {"type": "boolean"}}}
REHEARSED: dict[str, Any] = {"side_effect": "write", "dry_run": {"mode": "offered"}}
QUESTION = {"resultType": "input_required", "inputRequests": {}}


async def kinds(world: World) -> list[str]:
    return [one.entry.kind for one in await world.store.entries()]


@pytest.mark.parametrize("said", [{"content": [], "isError": True}, QUESTION])
async def test_a_dry_run_that_gave_no_preview_is_written_down(said: dict[str, Any]) -> None:
    world = World({"plan": {**REHEARSED, "input": NATIVE}}, {"plan": lambda _: said})
    assert isinstance(await world.call("plan", {"dryRun": True}), Answer)
    [logged] = await world.store.entries()
    assert (logged.entry.kind, logged.entry.facts["dry_run"]) == ("rehearsal", True)
    assert logged.entry.values["principal"] == AGENT.id
    assert isinstance(await world.call("plan", {}), Answer)


async def test_a_rehearsal_by_who_lacks_permissions_is_written_down_and_counts_for_nothing() -> None:
    fields = {**REHEARSED, "dry_run": {"mode": "required"}, "permissions": ["plans:write"], "visibility": "locked"}
    world = World({"plan": fields})
    assert isinstance(await world.call("plan", {"dryRun": True}, by=replace(AGENT, scopes=frozenset())), Answer)
    assert await kinds(world) == ["rehearsal"]
    await world.call("plan", {})
    assert await kinds(world) == ["rehearsal", "denial"]


@pytest.mark.parametrize(("said", "state"), [({"content": [], "isError": True}, "failed"), ({"content": []}, None)])
async def test_a_read_that_the_tool_refused_is_written_down_as_failed(said: dict[str, Any], state: str | None) -> None:
    world = World({"look": {"side_effect": "read"}}, {"look": lambda _: said})
    await world.call("look", {})
    [logged] = await world.store.entries()
    assert (logged.entry.kind, logged.entry.facts.get("state")) == ("read", state)
    text = sentence("read", logged.entry.facts, None, None)
    assert text == ("Failed to look" if state else "Looked")


async def test_a_read_whose_caller_left_is_written_down_for_it_may_have_reached_its_tool() -> None:
    reached = asyncio.Event()

    async def hang(_: dict[str, Any]) -> Any:
        reached.set()
        await asyncio.Event().wait()

    world = World({"look": {"side_effect": "read"}}, {"look": hang})
    calling = asyncio.create_task(world.call("look", {"q": "all of it"}))
    await reached.wait()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    [logged] = await world.store.entries()
    assert (logged.entry.kind, logged.entry.values["arguments"]) == ("failure", {"q": "all of it"})


async def test_a_call_whose_caller_left_after_it_began_is_written_down_once() -> None:
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def hang(_: dict[str, Any]) -> Any:
        reached.set()
        await go_on.wait()

    world = World({"note": {"side_effect": "write"}}, {"note": hang})
    calling = asyncio.create_task(world.call("note"))
    await reached.wait()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    go_on.set()
    await world.work.drain(10)
    assert await kinds(world) == ["intent", "outcome"]
