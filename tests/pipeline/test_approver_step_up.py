"""A contract's demand on authentication holds for whoever approves the call, too."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assent.core.approval import SignedDecision, decision_digest
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.pipeline.approve import approve
from assent.testing import World

WIRE = {
    "wire": {
        "side_effect": "external_spend",
        "risk": "critical",
        "step_up": {"max_age": "5m", "acr": ["urn:mfa", "weird \u00fc".replace(" ", "-")], "when": "amount > 100"},
        "input": {"type": "object", "properties": {"amount": {"type": "number"}}},
    }
}


async def asked(world: World, amount: int) -> str:
    caller = Principal("bot", "agent", scopes=frozenset({"*"}), acr="urn:mfa", auth_time=world.ports.now())
    outcome = await world.call("wire", {"amount": amount}, by=caller, key="k")
    assert isinstance(outcome, Refusal) and outcome.code == "confirm.approval_pending", outcome
    return str(outcome.problem()["approval"])


def approver(world: World, acr: str | None, age: float | None) -> Principal:
    at = None if age is None else world.ports.now() - age
    return Principal("ann", "human", roles=frozenset({"approver"}), acr=acr, auth_time=at)


@pytest.mark.parametrize(
    ("acr", "age", "passes"),
    [
        ("urn:mfa", 0, True),
        ("weird-\u00fc", 299, True),
        ("urn:mfa", 300, False),
        ("pwd", 0, False),
        (None, None, False),
    ],
)
async def test_the_approver_must_be_as_fresh_and_strong_as_the_contract_asks(
    acr: str | None, age: float | None, passes: bool
) -> None:
    world = World(WIRE)
    approval = await asked(world, 500)
    if passes:
        assert (await approve(approver(world, acr, age), approval, "approve", world.ports)).approved_at is not None
        return
    with pytest.raises(Refusal) as refused:
        await approve(approver(world, acr, age), approval, "approve", world.ports)
    assert refused.value.code == "approve.step_up_required"
    await approve(approver(world, acr, age), approval, "decline", world.ports)


async def test_where_the_condition_does_not_hold_nothing_is_asked_of_the_approver() -> None:
    world = World(WIRE)
    approval = await asked(world, 50)
    assert (await approve(approver(world, None, None), approval, "approve", world.ports)).approved_at is not None


async def test_a_signature_counts_for_the_decision_that_was_signed_alone() -> None:
    world = World(WIRE)
    kept = await world.ports.store.approval(await asked(world, 500))
    assert kept is not None
    weak = approver(world, None, None)
    for wrong in (
        decision_digest(kept, "decline"),
        decision_digest(replace(kept, text=kept.text + " "), "approve"),
        decision_digest(replace(kept, binding="0" * 64), "approve"),
        decision_digest(replace(kept, id="other"), "approve"),
    ):
        with pytest.raises(Refusal):
            await approve(weak, kept.id, "approve", world.ports, signed=SignedDecision(wrong, {}))
    right = SignedDecision(decision_digest(kept, "approve"), {"format": "x"})
    assert (await approve(weak, kept.id, "approve", world.ports, signed=right)).approved_at is not None
