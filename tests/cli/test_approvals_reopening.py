"""What a waiting call tells its caller, and how a person takes a decision back."""

from __future__ import annotations

import asyncio
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from assent.core.approval import ApprovalState
from assent.core.outcome import Pause, Refusal
from assent.pipeline.approve import approve
from assent.testing import AGENT, ANN, World
from support.clients.transports import ROOT, Person
from support.gateway.wrap_process import ASSENT, home

ODD = str(ROOT / "tests" / "support" / "servers" / "odd_server.py")
WIPE = {"wipe": {"side_effect": "destructive", "confirmation": {"by": "approver", "expires": "15m"}}}


async def asked(world: World, **more: Any) -> Refusal:
    outcome = await world.call("wipe", {"id": "1"}, **more)
    assert isinstance(outcome, Refusal)
    return outcome


async def test_a_waiting_call_says_who_must_run_which_command_that_nothing_ran_and_until_when() -> None:
    world = World(WIPE)
    first, again = await asked(world), await asked(world)
    problem = first.problem()
    assert "Nothing has run." in problem["detail"]
    assert re.search(r"until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\.", problem["detail"])
    assert f"with `assent approvals approve {first.facts['approval']}` in their own terminal" in problem["remedy"]
    assert "--yes" not in str(problem)
    assert again.problem() == problem, "a repeated call is told the same"


async def test_where_no_other_process_reaches_the_store_no_command_is_named() -> None:
    world = World(WIPE)
    world.but(command=lambda words: None)
    assert "assent approvals" not in str((await asked(world)).problem())


async def test_a_question_names_the_server_that_will_run_the_call() -> None:
    world = World({"wipe": {"side_effect": "destructive"}})
    outcome = await world.call("wipe", {"id": "1"}, can_ask=True)
    assert isinstance(outcome, Pause)
    assert "On the server test" in outcome.approval.text.splitlines()


async def test_a_no_that_is_taken_back_waits_again_and_the_same_person_may_say_yes() -> None:
    world = World(WIPE)
    waiting = str((await asked(world)).facts["approval"])
    await approve(ANN, waiting, "decline", world.ports)
    declined = await asked(world)
    assert declined.code == "confirm.declined"
    assert f"`assent approvals reopen {waiting}`" in declined.problem()["remedy"]
    reopened = await approve(ANN, waiting, "reopen", world.ports)
    assert (reopened.declined_at, [one.verdict for one in reopened.decisions]) == (None, ["decline", "reopen"])
    assert (await asked(world)).facts["approval"] == waiting
    await approve(ANN, waiting, "approve", world.ports)
    assert not isinstance(await world.call("wipe", {"id": "1"}), Refusal)


async def test_a_no_after_a_reopening_is_a_no_again() -> None:
    world = World(WIPE)
    waiting = str((await asked(world)).facts["approval"])
    for verdict in ("decline", "reopen", "decline"):
        await approve(ANN, waiting, verdict, world.ports)  # type: ignore[arg-type]
    assert (await asked(world)).code == "confirm.declined"


async def test_a_yes_that_no_call_has_used_is_taken_back_and_a_used_one_is_not() -> None:
    world = World(WIPE)
    waiting = str((await asked(world)).facts["approval"])
    await approve(ANN, waiting, "approve", world.ports)
    reopened = await approve(ANN, waiting, "reopen", world.ports)
    assert (reopened.state_at(world.clock()), reopened.approved_at) == (ApprovalState.PENDING, None)
    assert (await asked(world)).facts["approval"] == waiting
    assert (await asked(world)).code == "confirm.approval_pending"
    await approve(ANN, waiting, "approve", world.ports)
    assert not isinstance(await world.call("wipe", {"id": "1"}), Refusal)
    with pytest.raises(Refusal) as used:
        await approve(ANN, waiting, "reopen", world.ports)
    assert used.value.code == "approve.not_declined"


async def test_a_no_that_is_taken_back_leaves_the_yes_of_another_person() -> None:
    world = World({"wipe": {"side_effect": "destructive", "confirmation": {"by": "approver", "quorum": 2}}})
    waiting = str((await asked(world)).facts["approval"])
    bob = replace(ANN, id="bob")
    await approve(ANN, waiting, "approve", world.ports)
    await approve(bob, waiting, "decline", world.ports)
    reopened = await approve(bob, waiting, "reopen", world.ports)
    assert [one.person for one in reopened.standing] == [ANN.id]


async def test_only_a_decision_is_taken_back_and_only_by_who_may_decide() -> None:
    world = World(WIPE)
    waiting = str((await asked(world)).facts["approval"])
    with pytest.raises(Refusal) as pending:
        await approve(ANN, waiting, "reopen", world.ports)
    assert pending.value.code == "approve.not_declined"
    await approve(ANN, waiting, "decline", world.ports)
    with pytest.raises(Refusal) as agent:
        await approve(AGENT, waiting, "reopen", world.ports)
    assert agent.value.code == "approve.not_entitled"
    world.clock.advance(16 * 60)
    with pytest.raises(Refusal) as late:
        await approve(ANN, waiting, "reopen", world.ports)
    assert late.value.code == "approve.expired"


async def test_who_took_a_no_back_is_in_the_log() -> None:
    world = World(WIPE)
    waiting = str((await asked(world)).facts["approval"])
    await approve(ANN, waiting, "decline", world.ports)
    await approve(ANN, waiting, "reopen", world.ports, "cli")
    await world.store.flush()
    said = [one.entry for one in await world.store.entries() if one.entry.kind == "decision"]
    assert [one.facts["verdict"] for one in said] == ["decline", "reopen"]
    assert said[-1].values["person"] == ANN.id


async def test_a_no_given_in_the_client_is_taken_back_with_the_command_that_the_refusal_names(tmp_path: Path) -> None:
    environment = home(tmp_path)
    own = tmp_path / "own place"
    own.mkdir()
    asks = "auth: {stdio: {kind: agent, scopes: ['*'], asks: person}}"
    (own / "assent.yaml").write_text(f"mode: enforce\nstore: sqlite:///a.db\n{asks}\n")
    arguments = [*ASSENT[1:], "wrap", "-c", str(own / "assent.yaml"), "--", sys.executable, ODD]
    server = StdioServerParameters(command=ASSENT[0], args=arguments, env=environment)
    person = Person(["decline", "accept"])
    async with Client(server, elicitation_callback=person) as client:
        declined = await client.call_tool("delete_thing", {})
        command = re.search(r"`assent (.*)`", declined.content[0].text)  # type: ignore[union-attr]
        assert command is not None
        given = shlex.split(command[1])
        assert given[:2] == ["approvals", "reopen"]
        reopening = await asyncio.create_subprocess_exec(*ASSENT, *given, "--yes", env=environment, cwd=tmp_path)
        assert await reopening.wait() == 0
        done = await client.call_tool("delete_thing", {})
    assert done.content[0].text.endswith(" 1")  # type: ignore[union-attr]
    assert all("On the server odd_server" in message.splitlines() for message in person.asked)
