"""Geopera: one mechanical rule from tier to hints, the tier and scope in `_meta`, and the gate keyed off both."""

from __future__ import annotations

from typing import Any

import pytest

from assent.contract.profiles import profile
from assent.contract.reader import read_contract
from assent.contract.tool_listing import CONTRACT_KEY, annotations_of, definition, meta_of
from support.documents.seed_payloads import compact

# tier: readOnlyHint, destructiveHint, idempotentHint, openWorldHint
TIERS = {
    "read": (True, False, False, True),
    "compute": (False, False, False, False),
    "external_spend": (False, False, True, True),
    "share_export": (False, False, False, True),
    "destructive": (False, True, False, False),
}
HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")

META = '{"x-side-effect":"external_spend","x-required-scope":"orders:write","x-produces":["order"]}'


def tool_of(tier: str, **fields: Any) -> dict[str, Any]:
    contract = read_contract("tool", {"side_effect": tier, **fields})
    return definition(contract, profile("geopera"), inputSchema={"type": "object"})


@pytest.mark.parametrize("tier", TIERS)
def test_the_tier_table_comes_out(tier: str) -> None:
    annotations = tool_of(tier, title="T")["annotations"]
    assert annotations == {"title": "T", **dict(zip(HINTS, TIERS[tier], strict=True))}
    assert list(annotations) == ["title", *HINTS]


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(
    "fields",
    [{"open_world": True}, {"open_world": False}, {"idempotency": {"recovery": "natural"}}, {"risk": "critical"}],
)
def test_the_rule_is_mechanical_with_no_tuning_by_operation(tier: str, fields: dict[str, Any]) -> None:
    assert tool_of(tier, **fields)["annotations"] == tool_of(tier)["annotations"]


def test_the_meta_example_is_printed_byte_for_byte() -> None:
    contract = read_contract(
        "orders.archive.place",
        {"side_effect": "external_spend", "permissions": ["orders:write"], "produces": ["order"]},
    )
    said = meta_of(contract, profile("geopera"))
    del said[CONTRACT_KEY]
    assert compact(said) == META


def test_creates_and_updates_carry_the_vendors_label() -> None:
    assert tool_of("write")["_meta"]["x-side-effect"] == "compute"
    assert tool_of("write", overwrites=True)["_meta"]["x-side-effect"] == "compute"


@pytest.mark.parametrize("tier", TIERS)
def test_each_tier_stands_in_the_meta_as_it_is(tier: str) -> None:
    assert tool_of(tier)["_meta"]["x-side-effect"] == tier


def test_several_scopes_are_joined_by_a_space_and_none_is_left_out() -> None:
    assert tool_of("read", permissions=["a:read", "b:read"])["_meta"]["x-required-scope"] == "a:read b:read"
    assert set(tool_of("read")["_meta"]) == {"x-side-effect", CONTRACT_KEY}


def test_other_vendor_keys_are_carried_along() -> None:
    assert tool_of("read", meta={"x-quota": 5})["_meta"]["x-quota"] == 5


def needs_confirmation(tool: dict[str, Any]) -> bool:
    """The published gate, line by line."""
    if tool["annotations"].get("readOnlyHint"):
        return False
    tier = tool["_meta"].get("x-side-effect")
    return tier in ("external_spend", "destructive", "share_export")


@pytest.mark.parametrize(
    ("tier", "confirms"),
    [
        ("read", False),
        ("compute", False),
        ("write", False),
        ("external_spend", True),
        ("share_export", True),
        ("destructive", True),
    ],
)
def test_the_published_gate_decides_as_the_contract_does(tier: str, confirms: bool) -> None:
    contract = read_contract("tool", {"side_effect": tier})
    assert needs_confirmation(tool_of(tier)) is confirms
    assert (contract.asked_by(ambiguous=False) != "none") is confirms


def test_the_booleans_alone_cannot_tell_compute_from_share_export() -> None:
    def mutations(tier: str) -> list[bool]:
        said = annotations_of(read_contract("tool", {"side_effect": tier}), profile("geopera"))
        return [said[name] for name in ("readOnlyHint", "destructiveHint", "idempotentHint")]

    assert mutations("compute") == mutations("share_export")
    assert tool_of("compute")["_meta"]["x-side-effect"] != tool_of("share_export")["_meta"]["x-side-effect"]


def test_tools_are_locked_not_hidden() -> None:
    assert profile("geopera").visibility == "locked"
