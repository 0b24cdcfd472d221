"""A critical call asks for a recent login by default, of those callers and approvers who have a login to renew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from assent.config.load import parse_settings
from assent.core.default_step_up import DefaultStepUp
from assent.core.outcome import Pause, Refusal
from assent.core.principal import Principal
from assent.pipeline.approve import approve
from assent.testing import AGENT, ANN, World

WIPE: dict[str, Any] = {"wipe": {"side_effect": "destructive", "confirmation": {"by": "approver"}}}
OAUTH = replace(AGENT, bearer=True)


async def code_of(world: World, by: Principal) -> str:
    outcome = await world.call("wipe", by=by)
    return outcome.code if isinstance(outcome, Refusal | Pause) else "answered"


@pytest.mark.parametrize(
    ("caller", "code"),
    [
        (OAUTH, "step_up.required"),
        (replace(OAUTH, auth_time=0.0), "step_up.required"),
        (replace(OAUTH, auth_time=1e12), "confirm.approval_pending"),
        (replace(OAUTH, kind="human"), "step_up.required"),
        (replace(OAUTH, kind="service"), "confirm.approval_pending"),
        (replace(OAUTH, mode="test"), "confirm.approval_pending"),
        (AGENT, "confirm.approval_pending"),
    ],
    ids=["no login time", "old login", "fresh login", "person", "service", "test mode", "api key or stdio"],
)
async def test_a_caller_with_a_token_needs_a_recent_login_for_a_critical_call(caller: Principal, code: str) -> None:
    assert await code_of(World(WIPE, has_test=True), caller) == code


@pytest.mark.parametrize("risk", ["low", "medium", "high"])
async def test_other_risks_ask_for_no_login(risk: str) -> None:
    confirmed = {"by": "user"} if risk != "low" else {"by": "none"}
    world = World({"wipe": {"side_effect": "write", "risk": risk, "confirmation": confirmed}})
    assert await code_of(world, OAUTH) != "step_up.required"


async def test_the_challenge_says_how_recent_the_login_must_be() -> None:
    outcome = await World(WIPE).call("wipe", by=OAUTH)
    assert isinstance(outcome, Refusal)
    assert (outcome.problem()["status"], outcome.problem()["max_age"]) == (401, 300)


async def test_what_a_contract_declares_counts_instead_of_the_default() -> None:
    world = World({"wipe": {**WIPE["wipe"], "step_up": {"max_age": "1h"}}})
    assert await code_of(world, replace(OAUTH, auth_time=world.clock() - 3000)) == "confirm.approval_pending"


@pytest.mark.parametrize(
    ("callers", "oauth", "key"),
    [
        ("oauth", "step_up.required", "confirm.approval_pending"),
        ("none", "confirm.approval_pending", "confirm.approval_pending"),
        ("all", "step_up.required", "step_up.required"),
    ],
)
async def test_which_callers_are_asked_is_configured(callers: str, oauth: str, key: str) -> None:
    world = World(WIPE)
    settings = parse_settings(f"defaults: {{step_up: {{callers: {callers}}}}}")
    world.but(default_step_up=settings.default_step_up())
    assert (await code_of(world, OAUTH), await code_of(world, AGENT)) == (oauth, key)


@pytest.mark.parametrize(
    ("approvers", "person", "may"),
    [
        ("console", replace(ANN, in_console=True, auth_time=0.0), False),
        ("console", replace(ANN, in_console=True), False),
        ("console", replace(ANN, in_console=True, auth_time=1e12), True),
        ("console", replace(ANN, bearer=True), False),
        ("console", ANN, True),
        ("all", ANN, False),
        ("none", replace(ANN, in_console=True), True),
    ],
    ids=["old session", "unknown time", "fresh session", "token", "api key", "all", "none"],
)
async def test_an_approver_with_a_login_needs_a_recent_one(approvers: Any, person: Principal, may: bool) -> None:
    world = World(WIPE)
    world.but(default_step_up=DefaultStepUp(approvers=approvers))
    outcome = await world.call("wipe")
    assert isinstance(outcome, Refusal)
    waiting = str(outcome.problem()["approval"])
    if may:
        assert (await approve(person, waiting, "approve", world.ports)).approved_at is not None
        return
    with pytest.raises(Refusal, match="step_up_required"):
        await approve(person, waiting, "approve", world.ports)
    await approve(person, waiting, "decline", world.ports)
