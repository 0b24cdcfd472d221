"""Does the sentence keep its shape: nobody unknown gets in, nothing hidden is told of, every end is recorded?"""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp.shared.exceptions import MCPError

from assent.contract.decorator import contract
from assent.core.call import Request, UserAnswer
from assent.core.outcome import Answer, Pause, Refusal
from assent.core.principal import Principal
from assent.library.governance import Assent
from assent.pipeline.approve import approve
from assent.pipeline.authenticate import authenticate
from assent.pipeline.govern import govern
from assent.testing import AGENT, ANN, World

SERVICE = Principal("robot", "service", scopes=frozenset({"*"}))
ABSENT = {
    "hidden": {"side_effect": "read", "visibility": "hidden"},
    "forbidden": {"side_effect": "destructive", "risk": "forbidden"},
    "guarded": {
        "side_effect": "external_spend",
        "visibility": "hidden",
        "permissions": ["nobody:has"],
        "step_up": {"acr": ["mfa"]},
        "dry_run": {"mode": "required"},
        "input": {"type": "object", "required": ["x"]},
    },
}


async def trace(world: World, request: Request) -> tuple[Any, ...]:
    """Everything that a caller or the log can tell of a request."""
    outcome = await govern(request, world.ports)
    assert isinstance(outcome, Refusal)
    entries = [(one.entry.kind, one.entry.facts, one.entry.values) for one in await world.store.entries()]
    return outcome.problem(), outcome.args, outcome.facts, outcome.__cause__, entries


@pytest.mark.parametrize("arguments", [None, {}, {"x": 1, "dryRun": True}, [1], "text", {"n": 2**60}])
@pytest.mark.parametrize("name", ABSENT)
async def test_a_hidden_or_forbidden_tool_is_refused_exactly_as_an_unknown_one(name: str, arguments: Any) -> None:
    request = Request(name, arguments, AGENT, ("key", "other key"), can_ask=True)
    assert await trace(World({name: ABSENT[name]}), request) == await trace(World({}), request)


@pytest.mark.parametrize("who", [AGENT, ANN, SERVICE])
async def test_what_is_hidden_is_hidden_from_everybody(who: Principal) -> None:
    request = Request("hidden", {}, who)
    assert await trace(World({"hidden": ABSENT["hidden"]}), request) == await trace(World({}), request)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_on_the_wire_a_hidden_tool_is_an_unknown_one(mode: str) -> None:
    assent = Assent()
    server = MCPServer("shop", extensions=[assent.extension()])

    @server.tool()
    @contract(side_effect="read", visibility="hidden")
    def secret_door(key: int) -> str:
        return "open"

    assent.apply(server)
    told = []
    async with Client(server, mode=mode) as client:
        for name in ("secret_door", "no_such_door"):
            for arguments in ({}, {"key": 1}, {"key": "x", "dryRun": True}):
                with pytest.raises(MCPError) as error:
                    await client.call_tool(name, arguments)
                told.append((error.value.code, error.value.message.replace(name, "?"), error.value.data))
        assert (await client.list_tools()).tools == []
    assert set(told) == {(-32602, "Unknown tool: ?", None)}
    await assent.close()


async def test_failed_authentication_is_recorded_and_tells_of_nobody() -> None:
    world = World({"look": {"side_effect": "read"}})
    assert isinstance(await world.call("look", {"canary": "c4nary"}, by=None), Refusal)
    [logged] = await world.store.entries()
    assert (logged.entry.kind, logged.entry.facts) == ("denial", {"code": "authenticate.missing"})
    assert logged.entry.values == {"tool": "look"}


async def test_a_failing_authenticator_lets_nobody_in_and_is_recorded() -> None:
    async def broken() -> Principal:
        raise RuntimeError("the directory is on fire")

    world = World({"look": {"side_effect": "read"}})
    with pytest.raises(RuntimeError):
        await authenticate(broken(), "look", world.ports)
    assert [one.entry.kind for one in await world.store.entries()] == ["failure"]


async def test_every_ending_leaves_its_entries() -> None:
    world = World(
        {
            "look": {"side_effect": "read"},
            "note": {"side_effect": "write"},
            "wipe": {"side_effect": "destructive"},
            "plan": {"side_effect": "write", "dry_run": {"mode": "offered"}},
        }
    )
    expected: list[str] = []

    async def then(outcome: Any, *kinds: str) -> None:
        expected.extend(kinds)
        assert [one.entry.kind for one in await world.store.entries()] == expected, outcome

    await then(await world.call("look"), "read")
    await then(await world.call("note", key="k"), "intent", "outcome")
    await then(await world.call("note", key="k"), "replay")
    await then(await world.call("note", {"a": 1}, key="k"), "denial")
    await then(await world.call("plan", {"dryRun": True}), "rehearsal")
    pause = await world.call("wipe", can_ask=True)
    assert isinstance(pause, Pause)
    await then(pause, "approval", "pause")
    await then(await world.call("wipe"), "denial")


async def test_the_intent_stands_before_the_effect() -> None:
    world = World({"note": {"side_effect": "write"}})
    seen: list[list[str]] = []

    async def effect(arguments: dict[str, Any]) -> Any:
        seen.append([one.entry.kind for one in await world.store.entries()])
        return {"ok": True}

    world.upstream.functions["note"] = effect
    assert isinstance(await world.call("note"), Answer)
    assert seen == [["intent"]]


async def test_a_read_that_somebody_approved_is_written_down_before_it_runs_and_its_result_is_not_kept() -> None:
    world = World({"vault": {"side_effect": "read", "risk": "high"}}, {"vault": lambda _: {"pin": "s3cret"}})
    await world.call("vault")
    [asked] = await world.store.approvals()

    await approve(ANN, asked.id, "approve", world.ports)
    assert isinstance(await world.call("vault"), Answer)
    assert [one.entry.kind for one in await world.store.entries()][-2:] == ["intent", "outcome"]
    [claim] = await world.store.claims()
    assert (claim.state.value, claim.result) == ("succeeded", None)


async def test_a_refused_attempt_to_approve_is_recorded() -> None:
    world = World({"wipe": {"side_effect": "destructive"}})
    await world.call("wipe")
    [asked] = await world.store.approvals()
    with pytest.raises(Refusal, match="not_entitled"):
        await approve(SERVICE, asked.id, "approve", world.ports)
    entry = (await world.store.entries())[-1].entry
    assert entry.kind == "denial"
    assert entry.facts == {"code": "approve.not_entitled", "verdict": "approve", "channel": "api"}
    assert entry.values["principal"] == "robot"


async def test_a_client_that_cannot_ask_cannot_answer() -> None:
    world = World({"wipe": {"side_effect": "destructive"}})
    first = await world.call("wipe")
    assert isinstance(first, Refusal)
    forged = await world.call("wipe", reply=UserAnswer(first.facts["approval"], "accept"))
    assert isinstance(forged, Refusal)
    assert forged.code == "confirm.approval_pending"
    assert world.upstream.effects == []


async def test_a_client_cannot_answer_for_an_approver() -> None:
    world = World({"wipe": {"side_effect": "destructive", "confirmation": {"by": "approver"}}})
    first = await world.call("wipe", can_ask=True)
    assert isinstance(first, Refusal)
    forged = await world.call("wipe", reply=UserAnswer(first.facts["approval"], "accept"), can_ask=True)
    assert isinstance(forged, Refusal)
    assert forged.code == "confirm.approval_pending"
    assert world.upstream.effects == []


async def test_the_answer_to_another_question_answers_nothing() -> None:
    world = World({"wipe": {"side_effect": "destructive"}})
    other = await world.call("wipe", {"id": 1}, can_ask=True)
    assert isinstance(other, Pause)
    again = await world.call("wipe", {"id": 2}, reply=UserAnswer(other.approval.id, "accept"), can_ask=True)
    assert isinstance(again, Pause)
    assert again.approval.id != other.approval.id
    assert world.upstream.effects == []


async def test_a_result_that_cannot_be_kept_leaves_a_doubt_and_not_an_open_claim() -> None:
    world = World(
        {"note": {"side_effect": "write"}}, {"note": lambda _: {"content": [], "structuredContent": object()}}
    )
    outcome = await world.call("note", key="k")
    assert isinstance(outcome, Refusal)
    assert outcome.code == "execute.in_doubt"
    [claim] = await world.store.claims()
    assert claim.state.value == "in_doubt"


@pytest.mark.parametrize(
    ("fields", "said", "code"),
    [
        ({"output": {"type": "object", "required": ["n"]}}, {"ok": True}, "execute.output_invalid"),
        (
            {"failure_modes": {"nope": {"class": "no_effect"}}},
            {"content": [{"type": "text", "text": "no"}], "isError": True},
            "execute.undeclared_failure",
        ),
    ],
)
@pytest.mark.parametrize("mode", ["enforce", "observe"])
async def test_a_result_that_breaks_its_contract_reaches_the_caller_only_while_observing(
    mode: str, fields: dict[str, Any], said: dict[str, Any], code: str
) -> None:
    contracts = {"note": {"side_effect": "write", "risk": "low", **fields}}
    world = World(contracts, {"note": lambda _: said}, mode=mode)
    seen: list[Any] = []
    world.ports = world.ports._replace(seen=lambda tool, outcome, would: seen.append(list(would)))
    first, again = [await world.call("note", {}, key="k") for _ in range(2)]
    assert len(world.upstream.effects) == 1
    assert [one.entry.facts["code"] for one in await world.store.entries() if one.entry.kind == "outcome"] == [code]
    assert isinstance(again, Answer) and again.replayed
    if mode == "enforce":
        assert isinstance(first, Refusal) and first.code == code
        assert again.result["structuredContent"]["code"] == code
    else:
        assert isinstance(first, Answer) and first.result == again.result
        assert first.result.get("isError", False) == said.get("isError", False)
        assert seen[0] == [code]
