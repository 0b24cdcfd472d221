"""A client's decisions as one table: every tier, every combination of hints, every level of trust."""

from __future__ import annotations

from itertools import product
from typing import Any

import mcp_types as types
import pytest

from assent import needs_confirmation
from assent.client.tool_policy import policy_of
from assent.contract.profiles import profile
from assent.contract.reader import read_contract
from assent.contract.tiers import Tier
from assent.contract.tool_listing import definition

HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
EVERY_COMBINATION = list(product((None, False, True), repeat=4))
ASKED = {"external_spend", "destructive", "share_export"}
NAMES = ("list_orders", "place_order", "delete_customer", "create_note", "frobnicate", "share_file", "run_command")


def tool(name: str = "frobnicate", meta: dict[str, Any] | None = None, hints: tuple[Any, ...] = ()) -> dict[str, Any]:
    said: dict[str, Any] = {"name": name, "inputSchema": {"type": "object"}}
    annotations = {wire: value for wire, value in zip(HINTS, hints, strict=False) if value is not None}
    if annotations:
        said["annotations"] = annotations
    return said | ({"_meta": meta} if meta else {})


def seed_rule(annotations: dict[str, Any], meta: dict[str, Any]) -> bool:
    """The gate that seed 000 publishes."""
    return not annotations.get("readOnlyHint") and meta.get("x-side-effect") in ASKED


def test_the_published_gate_and_ours_agree_on_every_tier() -> None:
    for tier in ("read", "compute", "external_spend", "share_export", "destructive"):
        contract = read_contract("orders.something", {"side_effect": tier})
        said = definition(contract, profile("geopera"), inputSchema={"type": "object"})
        del said["_meta"]["dev.assent/contract"]
        assert needs_confirmation(said) is seed_rule(said["annotations"], said["_meta"]), tier


@pytest.mark.parametrize("tier", list(Tier))
def test_a_trusted_tier_decides_whatever_the_hints_say(tier: Tier) -> None:
    asked, other = tier.value in ASKED, "read" if tier.value in ASKED else "destructive"
    named = {"x-side-effect": tier.value}
    contradicted = {"x-side-effect": other, "dev.assent/contract": {"tier": tier.value}}
    cells = list(product(EVERY_COMBINATION, (named, contradicted)))
    assert [cell for cell in cells if needs_confirmation(tool(meta=cell[1], hints=cell[0])) is not asked] == []


def expected_of_hints(read_only: Any, destructive: Any, idempotent: Any, open_world: Any) -> bool | None:
    """The trusted reading of hints; None where they say nothing about effects, or leave it to the name."""
    if destructive:
        return True
    if read_only:
        return False
    if destructive is None:
        return None if read_only is None else True
    return None if open_world is None else bool(open_world)


def test_trusted_hints_decide_where_there_is_no_tier() -> None:
    decided = {hints: expected for hints in EVERY_COMBINATION if (expected := expected_of_hints(*hints)) is not None}
    for name in NAMES:
        assert {hints: needs_confirmation(tool(name, hints=hints)) for hints in decided} == decided


@pytest.mark.parametrize(
    ("name", "asks"),
    [
        ("list_orders", False),
        ("get_customer", False),
        ("delete_customer", True),
        ("place_order", True),
        ("frobnicate", True),
        ("run_command", True),
    ],
)
def test_inference_decides_where_there_is_nothing(name: str, asks: bool) -> None:
    assert needs_confirmation(tool(name)) is asks
    assert needs_confirmation(tool(name), trusted=False) is asks


@pytest.mark.parametrize("name", NAMES)
def test_what_an_untrusted_server_says_only_raises_the_guard(name: str) -> None:
    bare = policy_of(tool(name), trusted=False)
    for tier, hints in product((None, *Tier), EVERY_COMBINATION):
        contract = {"tier": tier and tier.value, "confirmation": "none"}
        meta = {"x-side-effect": tier and tier.value, "dev.assent/contract": contract}
        said = policy_of(tool(name, meta=meta, hints=hints), trusted=False)
        asks = bare.asks or bool(hints[1]) or (tier is not None and tier.value in ASKED)
        assert said.asks >= asks, (tier, hints)
        assert said.risk.number >= bare.risk.number, (tier, hints)
        assert (said.idempotent, said.contract) == (False, {}), (tier, hints)


@pytest.mark.parametrize("name", NAMES)
def test_a_server_is_never_guarded_more_because_it_is_trusted(name: str) -> None:
    for tier, said, hints in product((None, *Tier), (None, *Tier), EVERY_COMBINATION):
        contract = {"tier": said.value, "confirmation": "user"} if said else None
        meta = {"x-side-effect": tier and tier.value, "dev.assent/contract": contract}
        listed = tool(name, meta=meta, hints=hints)
        assert needs_confirmation(listed, trusted=False) >= needs_confirmation(listed), listed


def test_a_read_only_delete_is_asked_about_unless_its_server_is_trusted() -> None:
    lie = tool("delete_everything", hints=(True, False, True, False))
    assert needs_confirmation(lie, trusted=False)
    assert not needs_confirmation(lie)


@pytest.mark.parametrize("by", ["none", "host", "user", "approver"])
def test_a_trusted_contract_is_asked_about_as_the_server_would(by: str) -> None:
    confirmation = {"by": by, "because": "The table needs it."} if by == "none" else {"by": by}
    for tier in Tier:
        contract = read_contract("t", {"side_effect": tier.value, "confirmation": confirmation})
        said = definition(contract, profile("spec"), inputSchema={"type": "object"})
        assert needs_confirmation(said) is (contract.asked_by(ambiguous=False) != "none"), tier


def test_an_sdk_tool_and_its_wire_form_are_one() -> None:
    for hints in EVERY_COMBINATION:
        wire = tool("create_note", hints=hints)
        assert needs_confirmation(types.Tool.model_validate(wire)) is needs_confirmation(wire)


@pytest.mark.parametrize("junk", [3, ["read"], "harmless", None, {}])
def test_a_tier_that_is_none_is_passed_over(junk: Any) -> None:
    for meta in ({"x-side-effect": junk}, {"dev.assent/contract": junk}, {"dev.assent/contract": {"tier": junk}}):
        assert needs_confirmation(tool("delete_customer", meta=meta))
        assert not needs_confirmation(tool("delete_customer", meta=meta, hints=(True,)))


def test_what_is_no_tool_is_named() -> None:
    with pytest.raises(TypeError, match="not str"):
        needs_confirmation("delete_customer")  # type: ignore[arg-type]
