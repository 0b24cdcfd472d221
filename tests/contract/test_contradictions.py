"""A contract that contradicts itself is refused with the field, what is wrong, and the remedy."""

from __future__ import annotations

from typing import Any

import pytest

from assent.contract.reader import read_contract
from assent.errors import ContractError, Fault
from support.documents.contract_examples import RISKS, TIERS

GUARDED = [risk for risk in RISKS if risk in ("high", "critical", "forbidden")]


def faults_of(fields: dict[str, Any]) -> tuple[Fault, ...]:
    with pytest.raises(ContractError) as caught:
        read_contract("tool", fields)
    return caught.value.faults


CASES: list[tuple[dict[str, Any], str, str, str]] = [
    *(
        (
            {"side_effect": tier, "overwrites": True},
            "overwrites",
            f"only a write can overwrite, and this is {tier}",
            "Remove it, or set side_effect: write",
        )
        for tier in TIERS
        if tier != "write"
    ),
    *(
        (
            {"side_effect": "write", "risk": risk, "autonomous": True},
            "autonomous",
            f"a tool of {risk} risk cannot be autonomous",
            "Remove it, or lower the risk",
        )
        for risk in GUARDED
    ),
    *(
        (
            {"side_effect": "write", "risk": risk, "confirmation": {"by": "none"}},
            "confirmation.by",
            f"a tool of {risk} risk needs a confirmation",
            "Give the reason with `because:`, or set by: user",
        )
        for risk in GUARDED
    ),
    (
        {"side_effect": "read", "autonomous": False, "confirmation": {"by": "none"}},
        "autonomous",
        "an agent may not call it alone, but no person is asked",
        "Remove it, or set confirmation",
    ),
    *(
        (
            {"side_effect": "external_spend", **fields},
            f"{part}.amount",
            "a price is one amount, and `*` means many",
            "Point to the one amount, or to an estimate that adds them up",
        )
        for part, fields in (
            ("cost", {"cost": {"amount": "/items/*/price"}}),
            ("estimate", {"estimate": {"tool": "quote", "amount": "/lines/*"}}),
        )
    ),
    *(
        (
            {"side_effect": "write", "confirmation": {"by": by, "quorum": 2}},
            "confirmation.quorum",
            "a quorum needs approvers",
            "Set by: approver",
        )
        for by in ("none", "host", "user")
    ),
    ({"side_effect": "write", "step_up": {}}, "step_up", "it requires nothing", "Set max_age, acr or both"),
    (
        {"side_effect": "external_spend", "idempotency": {"key": "optional"}},
        "idempotency.key",
        "spending without a key can charge twice",
        "Set key: required, or key: auto",
    ),
    (
        {"side_effect": "write", "idempotency": {"recovery": "reconcile"}},
        "idempotency.lookup",
        "recovery: reconcile needs a look-up",
        "Name the read-only tool that reports whether it was done",
    ),
    (
        {"side_effect": "write", "idempotency": {"forward": "argument"}},
        "idempotency.forward",
        "no argument is named for the key",
        "Name it with `argument:`",
    ),
    (
        {"side_effect": "read", "dry_run": {"mode": "required"}},
        "dry_run.mode",
        "a read changes nothing, so it needs no dry run",
        "Remove dry_run, or correct side_effect",
    ),
    (
        {"side_effect": "write", "dry_run": {"argument": "k"}, "idempotency": {"argument": "k"}},
        "dry_run.argument",
        "the key uses the same argument",
        "Use another name",
    ),
    (
        {"side_effect": "external_spend", "estimate": {"tool": "tool", "amount": "/price"}},
        "estimate.tool",
        "a tool cannot estimate its own price",
        "Use a tool that only estimates",
    ),
    (
        {"side_effect": "write", "idempotency": {"recovery": "reconcile", "lookup": {"tool": "tool"}}},
        "idempotency.lookup.tool",
        "a tool cannot look up its own result",
        "Use a read-only tool",
    ),
    (
        {"side_effect": "read", "natural": {"by": ["id"]}},
        "natural",
        "a read makes nothing that could be returned again",
        "Remove it",
    ),
    (
        {"side_effect": "write", "meta": {"dev.assent/contract": {"risk": "low"}}},
        "meta.dev.assent/contract",
        "only Assent writes this key",
        "Remove it",
    ),
    (
        {"side_effect": "write", "meta": {"anthropic/requiresUserInteraction": True}},
        "meta.anthropic/requiresUserInteraction",
        "only Assent writes this key",
        "Set confirmation: {by: host}",
    ),
    (
        {"side_effect": "write", "hints": {"idempotent": True}},
        "hints",
        "a hint is overridden without a reason",
        "Give the reason with `because:`",
    ),
    *(
        (
            {"side_effect": "read", "hints": {"read_only": said, "because": "x"}},
            "hints.read_only",
            "read-only follows from side_effect",
            "Correct side_effect instead",
        )
        for said in (True, False)
    ),
    (
        {"side_effect": "destructive", "hints": {"destructive": False, "because": "x"}},
        "hints.destructive",
        "destructive can be set to true, not to false",
        "Correct side_effect or overwrites",
    ),
    (
        {"side_effect": "read", "hints": {"destructive": True, "because": "x"}},
        "hints.destructive",
        "a read cannot be destructive",
        "Set side_effect: destructive",
    ),
]


@pytest.mark.parametrize(
    ("fields", "field", "message", "remedy"), CASES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_contradiction_names_the_field_what_is_wrong_and_the_remedy(
    fields: dict[str, Any], field: str, message: str, remedy: str
) -> None:
    assert faults_of(fields) == (Fault(message, remedy, f"tool.{field}"),)


def test_all_contradictions_of_a_contract_are_told_at_once() -> None:
    found = faults_of(
        {
            "side_effect": "destructive",
            "overwrites": True,
            "autonomous": True,
            "confirmation": {"by": "none", "quorum": 3},
            "step_up": {},
            "hints": {"read_only": True},
        }
    )
    assert [fault.field.removeprefix("tool.") for fault in found] == [
        "overwrites",
        "autonomous",
        "confirmation.by",
        "confirmation.quorum",
        "step_up",
        "hints",
        "hints.read_only",
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"side_effect": "write", "overwrites": True},
        {"side_effect": "destructive", "confirmation": {"by": "none", "because": "a person runs it"}},
        {"side_effect": "write", "confirmation": {"by": "approver", "quorum": 20}},
        {"side_effect": "external_spend", "idempotency": {"key": "auto"}},
        {"side_effect": "write", "idempotency": {"recovery": "reconcile", "lookup": {"tool": "get"}}},
        {"side_effect": "read", "dry_run": {"mode": "offered"}},
        {"side_effect": "write", "hints": {"destructive": True, "because": "it truncates"}},
        {"side_effect": "destructive", "hints": {"idempotent": True, "open_world": False, "because": "x"}},
        {"side_effect": "write", "hints": {"because": "nothing to explain"}},
        {"side_effect": "write", "dry_run": {"mode": "none", "argument": "k"}, "idempotency": {"argument": "k"}},
        {"side_effect": "write", "autonomous": False, "confirmation": {"by": "none", "because": "asked elsewhere"}},
    ],
)
def test_what_only_looks_contradictory_is_accepted(fields: dict[str, Any]) -> None:
    assert read_contract("tool", fields).side_effect == fields["side_effect"]


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("risk", RISKS)
def test_no_tier_contradicts_any_risk(tier: str, risk: str) -> None:
    assert read_contract("tool", {"side_effect": tier, "risk": risk}).risk == risk
