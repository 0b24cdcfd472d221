"""What a definition says on the wire is derived, complete, and tells no more than anyone may know."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assent.contract.profiles import profile, profile_names
from assent.contract.reader import read_contract
from assent.contract.tool_listing import (
    CONTRACT_KEY,
    Claims,
    annotations_of,
    definition,
    meta_of,
    projection,
    read_claims,
    runtime_failures,
)
from support.documents.contract_examples import FULL, contract_with

PRIVATE = {
    "confirmation": {"by": "approver", "quorum": 7, "expires": "77m", "because": "because-canary"},
    "step_up": {"max_age": "78m", "acr": ["acr-canary"], "when": "amount > 4242"},
    "dry_run": {"mode": "required", "within": "79m"},
    "selects": ["selects-canary"],
    "bulk": 4343,
    "secrets": ["/secret-canary"],
    "cost": {"amount": "/cost-canary", "currency": "XXX"},
    "labels": {"reads_private": True},
    "hints": {"open_world": True, "because": "hint-canary"},
}
CANARIES = ["canary", "77m", "78m", "79m", "4620", "4680", "4740", "4242", "4343", "quorum", "because", "XXX", "bulk"]


def test_the_projection_has_what_is_published_and_nothing_else() -> None:
    full = read_contract("place_order", FULL)
    assert projection(full, profile("spec")) == {
        "version": 1,
        "digest": full.digest,
        "tier": "external_spend",
        "risk": "critical",
        "risk_number": 4,
        "category": "billing",
        "category_label": "Billing",
        "activity": "Ordered {item} for {amount}",
        "autonomous": False,
        "confirmation": "approver",
        "step_up": "always",
        "dry_run": {"mode": "offered", "argument": "dryRun"},
        "idempotency": {
            "recovery": "none",
            "key": "required",
            "argument": "idempotency_key",
            "retention": "30d",
            "natural": ["fileId", "expiresAt"],
        },
        "permissions": ["orders:write"],
        "side_effects": ["Charges the account.", "Repeating with the same key charges nothing."],
        "failure_modes": {"card_declined": {"class": "no_effect", "status": 402}},
        "audit_event": "order.placed",
        "secrets": True,
        # Beyond the published list: a client must know which tool to ask for the price.
        "estimate": "estimate_order",
    }


def test_a_medium_tool_that_runs_alone_does_not_say_that_a_user_confirms_every_call() -> None:
    said = profile("mcp-first")
    alone, broad = contract_with(side_effect="write"), contract_with(side_effect="write", selects=["ids"])
    asked = contract_with(side_effect="write", risk="high")
    found = [meta_of(one, said) for one in (alone, broad, asked)]
    assert [one["confirmation"] for one in found] == ["none", "user", "user"]
    assert [one.get("confirmationWhen") for one in found] == [None, "ambiguous", None]


@pytest.mark.parametrize("by_default", [True, False])
def test_a_critical_tool_says_that_a_login_may_be_asked_for_where_the_default_asks(by_default: bool) -> None:
    critical = contract_with(side_effect="destructive")
    said = meta_of(critical, profile("mcp-first", default_step_up=by_default))
    expected = "conditional" if by_default else "no"
    assert (said["stepUpAuth"], said[CONTRACT_KEY]["step_up"]) == (expected, expected)
    assert ("step_up_required" in said["runtimeFailureModes"]) is by_default
    assert meta_of(contract_with(side_effect="write"), profile("mcp-first"))["stepUpAuth"] == "no"


def test_a_secret_result_may_answer_that_it_was_delivered_already() -> None:
    assert "secret_already_delivered" in runtime_failures(contract_with(side_effect="share_export"))
    assert "secret_already_delivered" not in runtime_failures(contract_with(side_effect="share_export", secrets=[]))


def test_under_mcp_first_nothing_there_and_nothing_said_differ_on_the_wire() -> None:
    fields = {"permissions": [], "side_effects": [], "failure_modes": {}}
    said = meta_of(contract_with(side_effect="read", **fields), profile("mcp-first"))
    assert (said["permissions"], said["sideEffects"], said["failureModes"]) == ([], [], [])
    assert {"permissions", "sideEffects", "failureModes"}.isdisjoint(
        meta_of(contract_with(side_effect="read"), profile("mcp-first"))
    )


def test_historic_and_standard_names_can_be_sent_together() -> None:
    made = contract_with(side_effect="read")
    historic, standard, both = (
        annotations_of(made, profile("mcpgate"), historic_names=on) for on in (True, False, "both")
    )
    assert both == {**historic, **standard}
    assert (both["readOnly"], both["readOnlyHint"]) == (True, True)
    assert annotations_of(made, profile("spec"), historic_names="both") == annotations_of(made, profile("spec"))


def test_the_smallest_contract_has_the_smallest_projection() -> None:
    assert set(projection(contract_with(side_effect="read"), profile("spec"))) == {
        "version",
        "digest",
        "tier",
        "risk",
        "risk_number",
        "autonomous",
        "confirmation",
        "step_up",
        "dry_run",
        "idempotency",
        "permissions",
        "side_effects",
        "failure_modes",
        "audit_event",
        "secrets",
    }


@pytest.mark.parametrize("name", profile_names())
def test_no_threshold_approver_or_reason_is_published(name: str) -> None:
    made = contract_with("tool", "write", risk="critical", **PRIVATE)
    said = definition(made, profile(name), inputSchema={"type": "object"})
    text = json.dumps(
        {**said, "_meta": {**said["_meta"], CONTRACT_KEY: {**projection(made, profile("spec")), "digest": ""}}}
    )
    assert [canary for canary in CANARIES if canary in text] == []
    assert said["_meta"][CONTRACT_KEY]["step_up"] == "conditional"


@pytest.mark.parametrize(
    ("step_up", "said"),
    [(None, "no"), ({"max_age": "5m"}, "always"), ({"acr": ["mfa"], "when": "amount > 5"}, "conditional")],
)
def test_step_up_is_published_as_no_always_or_conditional(step_up: Any, said: str) -> None:
    assert projection(contract_with(step_up=step_up), profile("spec"))["step_up"] == said


@pytest.mark.parametrize("name", profile_names())
@pytest.mark.parametrize("by", ["none", "user", "approver", "host"])
def test_host_levers_are_pulled_only_where_the_host_asks(name: str, by: str) -> None:
    made = contract_with(confirmation={"by": by, "because": "tried"})
    pulled = {"anthropic/requiresUserInteraction": True, "cursor/requiresConfirmation": True}
    said = definition(made, profile(name), inputSchema={}, _meta=dict(pulled))
    assert ("anthropic/requiresUserInteraction" in said["_meta"]) is (by == "host")
    assert ("cursor/requiresConfirmation" in said["annotations"]) is (by == "host" and name != "mcpgate")
    assert "cursor/requiresConfirmation" not in said["_meta"]


def test_parts_stand_in_the_order_of_the_published_payloads() -> None:
    made = contract_with(title="T", description="D.")
    said = definition(made, profile("spec"), inputSchema={}, outputSchema={}, icons=[], description="upstream's")
    assert list(said) == [
        "name",
        "title",
        "description",
        "inputSchema",
        "outputSchema",
        "icons",
        "annotations",
        "_meta",
    ]
    assert said["description"] == "D."


def test_the_upstreams_description_and_meta_stay_where_the_contract_says_nothing() -> None:
    said = definition(contract_with(), profile("spec"), description="upstream's", inputSchema={}, _meta={"own": 1})
    assert said["description"] == "upstream's"
    assert said["_meta"]["own"] == 1


def test_an_upstream_cannot_write_the_contracts_own_key() -> None:
    forged = {CONTRACT_KEY: {"risk": "low", "autonomous": True}}
    made = contract_with(side_effect="destructive")
    assert definition(made, profile("spec"), inputSchema={}, _meta=forged)["_meta"][CONTRACT_KEY] == projection(
        made, profile("spec")
    )


def test_extra_meta_of_a_contract_is_said_as_it_is_and_never_replaces_a_derived_key() -> None:
    made = contract_with(side_effect="destructive", meta={"x-rate": {"per": 1}, "x-side-effect": "read"})
    said = meta_of(made, profile("geopera"))
    assert (said["x-rate"], said["x-side-effect"]) == ({"per": 1}, "destructive")
    said["x-rate"]["per"] = 2
    assert made.meta["x-rate"] == {"per": 1}


@pytest.mark.parametrize(
    ("annotations", "claims"),
    [
        (None, Claims()),
        ("text", Claims()),
        ({}, Claims()),
        ({"readOnlyHint": True, "destructiveHint": False}, Claims(read_only=True, destructive=False)),
        ({"idempotentHint": True, "openWorldHint": False}, Claims(idempotent=True, open_world=False)),
        (
            {"readOnly": True, "destructive": False, "idempotent": True, "openWorldHint": True},
            Claims(True, False, True, True, ("readOnly", "destructive", "idempotent")),
        ),
        ({"readOnly": True, "readOnlyHint": False}, Claims(read_only=False, foreign=("readOnly",))),
        ({"openWorld": False}, Claims(open_world=False, foreign=("openWorld",))),
        ({"readOnlyHint": "true", "destructiveHint": 1, "readOnly": None}, Claims()),
    ],
)
def test_foreign_hints_are_read_as_what_they_mean(annotations: Any, claims: Claims) -> None:
    assert read_claims({"name": "x", "annotations": annotations}) == claims


def test_absent_hints_have_the_specifications_defaults() -> None:
    nothing = read_claims({})
    names = ("read_only", "destructive", "idempotent", "open_world")
    assert [nothing.effective(name) for name in names] == [False, True, False, True]
    assert read_claims({"annotations": {"destructive": False}}).effective("destructive") is False


def test_mcp_first_carries_the_whole_risk_model() -> None:
    made = contract_with(
        "emails.send",
        risk="critical",
        permissions=["emails:send", "contacts:read"],
        side_effects=["Sends."],
        failure_modes={"bounced": {}},
        step_up={"max_age": "5m"},
        category="communication",
    )
    said = meta_of(made, profile("mcp-first"))
    del said[CONTRACT_KEY]
    assert said == {
        "riskLevel": "critical",
        "autonomousExecution": False,
        "confirmation": "user",
        "stepUpAuth": "always",
        "permissions": ["emails:send", "contacts:read"],
        "sideEffects": ["Sends."],
        "auditEvent": "emails.send.called",
        "failureModes": ["bounced"],
        "runtimeFailureModes": runtime_failures(made),
        "category": "communication",
    }


def test_mcp_first_says_a_low_risk_tool_confirms_where_its_contract_does() -> None:
    asks = meta_of(contract_with(risk="low", confirmation={"by": "user"}), profile("mcp-first"))
    plain = meta_of(contract_with(risk="low"), profile("mcp-first"))
    assert (asks["confirmation"], plain["confirmation"]) == ("user", "none")
