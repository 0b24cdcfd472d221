"""Does anything that was sent, returned or raised come out where it must not?"""

from __future__ import annotations

import json
import re
from typing import Any

import orjson
import pytest

from assent.core.outcome import Answer, Outcome, Pause, Refusal
from assent.core.principal import Principal
from assent.pipeline.approve import approve
from assent.pipeline.authenticate import authenticate
from assent.ports import NotReached, NotRun, OutcomeUnknown, ToolFailed
from assent.testing import AGENT, ANN, World, as_given

ARGUMENT, KEY, SECRET, RAISED, BODY, NAME = (f"c4nary-{n}" for n in ("arg", "key", "secret", "raised", "body", "name"))
SENT = {"text": ARGUMENT, "deep": {"list": [{"in": ARGUMENT}]}}


async def log_of(world: World) -> str:
    return json.dumps([one.entry._asdict() for one in await world.store.entries()])


async def facts_of(world: World) -> str:
    return json.dumps([(one.entry.kind, one.entry.facts) for one in await world.store.entries()])


def told(outcome: Outcome) -> str:
    """What the caller is told, where it is not the tool's own answer; and what a log of ours would show of it."""
    assert isinstance(outcome, Refusal)
    assert outcome.__cause__ is None
    return json.dumps(outcome.problem()) + str(outcome) + repr(outcome)


STRICT = {"type": "object", "properties": {"text": {"enum": ["a", "b"]}}, "additionalProperties": True}
REFUSING: dict[str, tuple[dict[str, Any], Any]] = {
    "validate.arguments_invalid": ({"side_effect": "write", "input": STRICT}, SENT),
    "validate.malformed": ({"side_effect": "write"}, {**SENT, "n": 2**60}),
    "authorize.missing_permissions": ({"side_effect": "write", "permissions": ["x:y"]}, SENT),
    "rehearse.dry_run_required": ({"side_effect": "write", "dry_run": {"mode": "required"}}, SENT),
    "confirm.approval_pending": ({"side_effect": "destructive"}, SENT),
    "step_up.required": ({"side_effect": "write", "step_up": {"max_age": "5m", "when": "text != 'a'"}}, SENT),
}


@pytest.mark.parametrize("code", REFUSING)
async def test_no_refusal_and_no_fact_repeats_an_argument_or_a_key(code: str) -> None:
    fields, arguments = REFUSING[code]
    world = World({"tool": fields})
    nobody_special = Principal("p", "agent")
    outcome = await world.call("tool", arguments, by=nobody_special, key=KEY)
    assert isinstance(outcome, Refusal)
    assert outcome.code == code
    for canary in (ARGUMENT, KEY):
        assert canary not in told(outcome)
        assert canary not in await facts_of(world)


async def test_a_mismatch_repeats_neither_the_first_arguments_nor_the_second() -> None:
    world = World({"note": {"side_effect": "write"}})
    await world.call("note", {"first": ARGUMENT}, key=KEY)
    outcome = await world.call("note", {"second": ARGUMENT}, key=KEY)
    assert ARGUMENT not in told(outcome)
    assert KEY not in told(outcome)
    assert KEY not in await log_of(world)


async def test_a_made_up_tool_name_is_no_fact() -> None:
    world = World({})
    await world.call(NAME, SENT)
    assert NAME not in await facts_of(world)
    assert ARGUMENT not in await log_of(world)


FAILURES = [RuntimeError(RAISED), OutcomeUnknown(RAISED), NotReached(RAISED), ToolFailed(RAISED, RAISED, more=RAISED)]


@pytest.mark.parametrize("tier", ["read", "write"])
@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
async def test_what_an_upstream_raised_is_told_to_nobody(failure: Exception, tier: str) -> None:
    world = World({"tool": {"side_effect": tier, "failure_modes": {"known": {}}}}, {"tool": lambda _: failure})
    outcome = await world.call("tool", SENT, key=KEY)
    assert RAISED not in told(outcome)
    assert RAISED not in await facts_of(world)


@pytest.mark.parametrize(
    "failure", [*FAILURES, NotRun("The tool refused the arguments.")], ids=lambda f: type(f).__name__
)
async def test_what_a_dry_run_raised_is_told_to_nobody(failure: Exception) -> None:
    fields = {
        "side_effect": "write",
        "dry_run": {"mode": "offered"},
        "input": {"type": "object", "properties": {"dryRun": {"type": "boolean"}}},
    }
    world = World({"tool": fields}, {"tool": lambda _: failure})
    outcome = await world.call("tool", {**SENT, "dryRun": True})
    assert RAISED not in told(outcome)
    assert RAISED not in await facts_of(world)
    assert ARGUMENT not in told(outcome)


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
async def test_what_an_estimate_or_a_look_up_raised_is_told_to_nobody(failure: Exception) -> None:
    lookup = {"recovery": "reconcile", "key": "auto", "lookup": {"tool": "ask"}}
    contracts = {
        "buy": {"side_effect": "external_spend", "risk": "medium", "estimate": {"tool": "ask", "amount": "/p"}},
        "make": {"side_effect": "write", "idempotency": lookup},
        "ask": {"side_effect": "read"},
    }
    world = World(contracts, {"ask": lambda _: failure, "make": lambda _: OutcomeUnknown()})
    await world.call("make", SENT, key=KEY)
    for tool, code in (("buy", "rehearse.estimate_failed"), ("make", "recall.in_doubt")):
        outcome = await world.call(tool, SENT, key=KEY)
        assert isinstance(outcome, Refusal)
        assert outcome.code == code
        assert RAISED not in told(outcome)
    assert RAISED not in await facts_of(world)


@pytest.mark.parametrize(
    "result",
    [
        {"content": [{"type": "text", "text": BODY}], "isError": True},
        {"content": [], "structuredContent": {"code": BODY, "detail": BODY}, "isError": True},
        {"content": [{"type": "text", "text": BODY}], "structuredContent": {"id": BODY}},
        {"content": [], "structuredContent": {"id": 1, "extra": {"x": BODY}}},
    ],
)
async def test_a_body_that_breaks_the_contract_is_told_to_nobody(result: dict[str, Any]) -> None:
    output = {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "extra": {"type": "string"}},
    }
    fields = {"side_effect": "write", "output": output, "failure_modes": {"known": {}}}
    world = World({"make": fields}, {"make": lambda _: result})
    outcome = await world.call("make", key=KEY)
    assert BODY not in told(outcome)
    assert BODY not in await facts_of(world)


TOKEN = {"side_effect": "write", "secrets": ["/token", "/all/*/token"]}
HELD = {"id": 1, "token": SECRET, "all": [{"token": SECRET}, {"token": SECRET}]}


@pytest.mark.parametrize(
    "result",
    [
        {"content": [{"type": "text", "text": json.dumps(HELD)}], "structuredContent": HELD},
        {"content": [{"type": "text", "text": SECRET}]},
        {"content": [{"type": "resource", "resource": {"uri": "x:y", "text": SECRET}}], "structuredContent": HELD},
    ],
)
async def test_a_one_time_secret_is_in_the_first_answer_and_nowhere_else(result: dict[str, Any]) -> None:
    world = World({"token": TOKEN}, {"token": lambda _: result})
    first = await world.call("token", key=KEY)
    assert isinstance(first, Answer)
    assert SECRET in json.dumps(first.result)
    replay = await world.call("token", key=KEY)
    assert isinstance(replay, Answer)
    assert SECRET not in json.dumps(replay.on_wire())
    assert SECRET not in await log_of(world)
    [claim] = await world.store.claims()
    assert claim.result is not None
    assert SECRET.encode() not in claim.result
    assert orjson.loads(claim.result)["_meta"]["dev.assent/secret_already_delivered"] == list(TOKEN["secrets"])


async def test_a_secret_in_an_error_or_a_misfit_is_in_no_log() -> None:
    for result in (
        {"content": [], "structuredContent": {"code": "known", "token": SECRET}, "isError": True},
        {"content": [], "structuredContent": {"code": "other", "token": SECRET}, "isError": True},
    ):
        world = World({"token": {**TOKEN, "failure_modes": {"known": {}}}}, {"token": lambda _, said=result: said})
        await world.call("token", key=KEY)
        assert SECRET not in await log_of(world)
        [claim] = await world.store.claims()
        assert SECRET.encode() not in (claim.result or b"")


async def test_an_error_result_that_holds_a_secret_does_not_replay_it() -> None:
    held = {"content": [{"type": "text", "text": SECRET}], "structuredContent": {"token": SECRET}, "isError": True}
    world = World({"token": TOKEN}, {"token": lambda _: held})
    await world.call("token", key=KEY)
    replay = await world.call("token", key=KEY)
    assert isinstance(replay, Answer)
    assert SECRET not in json.dumps(replay.on_wire())


async def test_an_approval_holds_the_arguments_for_the_approver_and_not_for_the_log() -> None:
    world = World({"wipe": {"side_effect": "destructive"}})
    pause = await world.call("wipe", SENT, can_ask=True)
    assert isinstance(pause, Pause)
    assert ARGUMENT in pause.approval.text
    await approve(ANN, pause.approval.id, "approve", world.ports)
    assert isinstance(await world.call("wipe", SENT), Answer)
    assert ARGUMENT not in await facts_of(world)
    assert ARGUMENT not in json.dumps(pause.approval.facts)


async def test_credentials_are_in_no_log_and_no_refusal() -> None:
    world = World({"look": {"side_effect": "read"}})
    with pytest.raises(Refusal) as refused:
        await authenticate(as_given("Bearer c4nary-credential"), "look", world.ports)
    assert "c4nary" not in told(refused.value)
    assert "c4nary" not in await log_of(world)


async def test_two_equal_refusals_are_equal_in_everything() -> None:
    first, second = World({"wipe": {"side_effect": "destructive"}}), World({"wipe": {"side_effect": "destructive"}})
    second.clock.advance(12_345)
    one, two = await first.call("wipe", SENT), await second.call("wipe", SENT)
    until = re.compile(r"until [0-9TZ:-]+")  # when the question is over differs, and is told
    assert until.sub("", told(one)) == until.sub("", told(two))
    assert isinstance(one, Refusal)
    again = await first.call("wipe", SENT, by=AGENT)
    assert told(one) == told(again)
