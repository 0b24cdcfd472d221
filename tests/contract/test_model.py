"""The contract keeps every field of the contract file, and never changes."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from assent.contract.model import Contract
from assent.contract.reader import read_contract
from support.documents.contract_examples import FULL, FULL_YAML, RISKS, TIERS, contract_with, parse_contracts
from support.suite.hypothesis_profile import steady


@pytest.fixture
def full() -> Contract:
    return parse_contracts(FULL_YAML)["place_order"]


@pytest.mark.parametrize("field", FULL)
def test_each_field_of_the_file_is_kept_as_it_was_declared(field: str, full: Contract) -> None:
    assert full.as_json()[field] == FULL[field]


def test_the_example_declares_every_field_a_contract_has() -> None:
    assert set(Contract.model_fields) == {*FULL, "name", "meta"}


def test_a_file_and_keywords_make_the_same_contract(full: Contract) -> None:
    declared = read_contract("place_order", FULL)
    assert declared == full
    assert declared.digest == full.digest


@pytest.mark.parametrize("field", [field for field in FULL if field not in ("side_effect",)])
def test_everything_but_the_side_effect_can_be_left_out(field: str) -> None:
    fields = {key: value for key, value in FULL.items() if key != field}
    assert read_contract("place_order", fields).side_effect == "external_spend"


@pytest.mark.parametrize(
    ("field", "other"),
    [
        ("title", "Another"),
        ("description", "Another."),
        ("category", "other"),
        ("category_label", "Other"),
        ("side_effect", "destructive"),
        ("risk", "high"),
        ("confirmation", {"by": "user"}),
        ("step_up", {"max_age": "6m"}),
        ("permissions", ["orders:read"]),
        ("input", {"type": "object"}),
        ("output", {"type": "object"}),
        ("side_effects", []),
        ("audit_event", "other"),
        ("events", {"item.sent": "/items"}),
        ("failure_modes", {}),
        ("idempotency", {"key": "auto"}),
        ("dry_run", {"mode": "required"}),
        ("estimate", None),
        ("cost", {"amount": "/amount", "currency": "USD"}),
        ("natural", {"by": ["fileId"]}),
        ("secrets", ["/token"]),
        ("selects", ["ids", "filter"]),
        ("bulk", 101),
        ("open_world", False),
        ("produces", []),
        ("activity", "Bought {item}"),
        ("visibility", "locked"),
        ("labels", {}),
        ("hints", {"idempotent": False, "because": "PUT with the same body"}),
        ("meta", {"x-more": None}),
    ],
)
def test_a_change_to_any_field_changes_the_digest(field: str, other: Any, full: Contract) -> None:
    assert read_contract("place_order", {**FULL, field: other}).digest != full.digest


def test_a_value_of_null_inside_a_schema_counts_for_the_digest() -> None:
    without = contract_with(input={"type": "object", "properties": {"a": {}}})
    assert contract_with(input={"type": "object", "properties": {"a": {"default": None}}}).digest != without.digest


def test_the_order_in_which_fields_are_written_does_not_change_the_digest(full: Contract) -> None:
    assert read_contract("place_order", dict(reversed(FULL.items()))).digest == full.digest


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("risk", RISKS)
def test_saying_what_would_be_derived_changes_nothing(tier: str, risk: str) -> None:
    said = contract_with("a.tool", tier, risk=risk)
    assert read_contract("a.tool", said.as_json()) == said
    assert read_contract("a.tool", said.as_json()).digest == said.digest


def test_a_contract_written_out_in_full_is_a_contract_file(full: Contract) -> None:
    text = json.dumps({"tools": {full.name: full.as_json()}})
    assert parse_contracts(text) == {"place_order": full}


def test_the_same_promises_of_another_name_have_another_digest(full: Contract) -> None:
    assert read_contract("other", FULL).digest != full.digest


def test_the_digest_is_the_same_in_another_process(full: Contract) -> None:
    program = (
        "import sys; from assent.contract.files import parse_written; "
        "print(parse_written(sys.stdin.read())[0].contract.digest)"
    )
    other = subprocess.run([sys.executable, "-c", program], input=FULL_YAML, capture_output=True, text=True, check=True)
    assert other.stdout.strip() == full.digest


def test_a_contract_cannot_be_changed(full: Contract) -> None:
    with pytest.raises(ValidationError):
        full.risk = "low"  # type: ignore[misc,assignment]
    with pytest.raises(ValidationError):
        full.confirmation.by = "none"  # type: ignore[misc]


def test_a_contract_does_not_change_with_the_objects_it_was_made_from() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
    meta: dict[str, Any] = {"x-more": {"deep": [1]}}
    made = contract_with(input=schema, meta=meta)
    schema["properties"]["a"]["type"] = "number"
    meta["x-more"]["deep"].append(2)
    assert made.input == {"type": "object", "properties": {"a": {"type": "string"}}}
    assert made.meta == {"x-more": {"deep": [1]}}


@pytest.mark.parametrize("name", ["a", "A-b_c.d", "x" * 128, "1", "emails.send_external"])
def test_a_name_has_1_to_128_letters_digits_underscores_dots_and_hyphens(name: str) -> None:
    assert read_contract(name, {"side_effect": "read"}).name == name


@steady
@given(
    st.sampled_from(TIERS), st.sampled_from(RISKS), st.booleans(), st.sampled_from(["none", "host", "user", "approver"])
)
def test_a_guarded_tool_is_never_called_without_somebody_who_is_asked(
    tier: str, risk: str, ambiguous: bool, by: str
) -> None:
    made = contract_with(side_effect=tier, risk=risk, confirmation={"by": by, "because": "tried"})
    if risk in ("high", "critical", "forbidden"):
        assert made.asked_by(ambiguous) == by
        assert made.autonomous is False


@pytest.mark.parametrize(
    ("fields", "clear", "ambiguous"),
    [
        ({"side_effect": "read"}, "none", "none"),
        ({"side_effect": "write"}, "none", "user"),
        ({"side_effect": "write", "confirmation": {"by": "user"}}, "user", "user"),
        ({"side_effect": "write", "autonomous": True, "confirmation": {"by": "approver"}}, "none", "approver"),
        ({"side_effect": "write", "confirmation": {"by": "none"}}, "none", "none"),
        ({"side_effect": "read", "autonomous": False}, "user", "user"),
        ({"side_effect": "read", "confirmation": {"by": "host"}}, "host", "host"),
        ({"side_effect": "write", "autonomous": True, "confirmation": {"by": "host"}}, "host", "host"),
        ({"side_effect": "share_export"}, "user", "user"),
        ({"side_effect": "destructive", "confirmation": {"by": "approver"}}, "approver", "approver"),
    ],
)
def test_who_is_asked_follows_from_confirmation_autonomy_and_ambiguity(
    fields: dict[str, Any], clear: str, ambiguous: str
) -> None:
    made = read_contract("tool", fields)
    assert (made.asked_by(False), made.asked_by(True)) == (clear, ambiguous)
