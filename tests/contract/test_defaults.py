"""What a contract promises where it says nothing follows from tier and risk."""

from __future__ import annotations

from typing import Any

import pytest

from assent.contract.model import humanise
from support.documents.contract_examples import RISKS, TIERS, contract_with

LEVEL_OF_TIER = {
    "read": ("low", 1),
    "compute": ("low", 1),
    "write": ("medium", 2),
    "share_export": ("high", 3),
    "external_spend": ("critical", 4),
    "destructive": ("critical", 4),
}
# level: (autonomous, who is asked)
DEMANDS = {
    "low": (True, "none"),
    "medium": (True, "user"),
    "high": (False, "user"),
    "critical": (False, "user"),
    "forbidden": (False, "user"),
}


@pytest.mark.parametrize("tier", TIERS)
def test_the_risk_follows_from_the_tier(tier: str) -> None:
    made = contract_with(side_effect=tier)
    assert (made.risk.value, made.risk.number) == LEVEL_OF_TIER[tier]


def test_risks_are_numbered_from_one_to_five() -> None:
    assert [contract_with(risk=risk).risk.number for risk in RISKS] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("risk", RISKS)
def test_autonomy_and_confirmation_follow_from_the_risk_whatever_the_tier(tier: str, risk: str) -> None:
    made = contract_with(side_effect=tier, risk=risk)
    assert (made.autonomous, made.confirmation.by) == DEMANDS[risk]
    assert (made.confirmation.quorum, made.confirmation.expires) == (1, 900)


@pytest.mark.parametrize(
    ("fields", "autonomous", "by"),
    [
        ({"risk": "low", "autonomous": False}, False, "user"),
        ({"risk": "medium", "autonomous": False}, False, "user"),
        ({"risk": "low", "confirmation": {"by": "user"}}, False, "user"),
        ({"risk": "low", "confirmation": {"by": "approver"}}, False, "approver"),
        ({"risk": "low", "confirmation": {}}, False, "user"),
        ({"risk": "medium", "confirmation": {"expires": "5m"}}, False, "user"),
        ({"risk": "medium", "confirmation": {"by": "none"}}, True, "none"),
        ({"risk": "low", "confirmation": {"by": "none"}}, True, "none"),
        ({"risk": "low", "confirmation": {"by": "host"}}, False, "host"),
        ({"risk": "high", "confirmation": {"by": "host"}}, False, "host"),
        ({"risk": "high", "confirmation": {"by": "none", "because": "the host asks"}}, False, "none"),
        ({"risk": "medium", "autonomous": True, "confirmation": {"by": "approver"}}, True, "approver"),
    ],
)
def test_a_declared_confirmation_or_autonomy_tightens_the_other(
    fields: dict[str, Any], autonomous: bool, by: str
) -> None:
    made = contract_with(**fields)
    assert (made.autonomous, made.confirmation.by) == (autonomous, by)


@pytest.mark.parametrize("tier", TIERS)
def test_only_a_read_is_recovered_by_running_it_again_and_only_a_spend_derives_its_key(tier: str) -> None:
    made = contract_with(side_effect=tier).idempotency
    assert made.recovery == ("natural" if tier == "read" else "none")
    assert made.key == ("auto" if tier == "external_spend" else "optional")
    assert (made.argument, made.forward, made.retention, made.lookup) == (None, None, None, None)


@pytest.mark.parametrize(
    ("fields", "forward"),
    [
        ({"recovery": "keyed"}, "header"),
        ({"recovery": "keyed", "argument": "key"}, "argument"),
        ({"recovery": "keyed", "argument": "key", "forward": "meta"}, "meta"),
        ({"recovery": "none", "argument": "key"}, None),
    ],
)
def test_a_keyed_tool_is_given_the_key_where_it_can_take_it(fields: dict[str, Any], forward: str | None) -> None:
    assert contract_with(idempotency=fields).idempotency.forward == forward


def test_a_dry_run_is_offered_only_where_the_contract_says_so() -> None:
    assert contract_with().dry_run.mode == "none"
    assert contract_with(dry_run={}).dry_run.mode == "offered"
    assert contract_with(dry_run={}).dry_run.argument == "dryRun"
    assert contract_with(dry_run={"mode": "required"}).dry_run.within == 600


def test_a_failure_is_definite_and_unprocessable_unless_it_says_otherwise() -> None:
    mode = contract_with(failure_modes={"no_stock": {}}).failure_modes["no_stock"]
    assert (mode.outcome, mode.status) == ("definite", 422)


def test_everything_else_is_empty_by_default() -> None:
    made = contract_with()
    assert (made.permissions, made.secrets, made.selects, made.produces, made.side_effects) == ((), (), (), (), ())
    assert (made.input, made.output, made.step_up, made.natural, made.estimate, made.cost) == (None,) * 6
    assert (made.bulk, made.open_world, made.visibility, made.activity) == (None,) * 4
    assert (made.failure_modes, made.meta, made.overwrites) == ({}, {}, False)


def test_title_and_audit_event_come_from_the_name() -> None:
    made = contract_with("orders.place_order")
    assert (made.title, made.audit_event) == ("Orders place order", "orders.place_order.called")


@pytest.mark.parametrize(
    ("name", "title"), [("a-b_c.d", "A b c d"), ("getURL", "GetURL"), ("_", "_"), ("...", "..."), ("x", "X")]
)
def test_a_name_is_written_as_a_person_would_write_it(name: str, title: str) -> None:
    assert humanise(name) == title
