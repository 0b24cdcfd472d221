"""A guess never lowers a host's guard: inferred hints are no laxer than the upstream's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assent.contract.infer import classify
from assent.contract.profiles import profile, profile_names
from assent.contract.reader import read_contract
from assent.pipeline.confirm import ambiguous
from assent.upstreams.compiled_tools import UpstreamPolicy, compile_tools
from assent.upstreams.openapi.tools import compile_one
from support.clients.transports import over_http
from support.gateway.gateways import Shop, gateway, post, rpc
from support.openapi.documents import api, ok, sending

LISTS = {"name": "list_orders", "description": "Lists orders.", "inputSchema": {"type": "object"}}
SENDS = {"name": "send_note", "description": "Sends a note to a colleague.", "inputSchema": {"type": "object"}}
LAX = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}


def hints(definition: dict[str, Any], contract: dict[str, Any] | None = None, **terms: Any) -> dict[str, Any]:
    """The hints that a host gets to see of one tool."""
    name = definition["name"]
    contracts = {name: read_contract(name, contract)} if contract else {}
    (tool,) = compile_tools(
        [definition], contracts, UpstreamPolicy("up", profile(terms.pop("profile", "spec")), **terms)
    ).tools
    return {key: value for key, value in tool.definition["annotations"].items() if key != "title"}


def lax(said: dict[str, Any]) -> set[str]:
    return {name for name, value in LAX.items() if said.get(name) is value}


@pytest.mark.parametrize("definition", [LISTS, SENDS], ids=lambda one: one["name"])
def test_of_a_tool_without_hints_no_guess_is_sent_that_is_laxer_than_the_specifications_default(
    definition: dict[str, Any],
) -> None:
    assert lax(hints(definition)) == set()


def test_what_the_upstream_declares_is_sent_where_the_guess_agrees_or_is_laxer() -> None:
    declared = {"readOnlyHint": True, "openWorldHint": False}
    assert lax(hints({**LISTS, "annotations": declared})) == {"readOnlyHint", "openWorldHint"}


def test_a_stricter_guess_is_sent_in_place_of_what_the_upstream_declares() -> None:
    wipes = {"name": "delete_all", "description": "Deletes every file for good.", "inputSchema": {"type": "object"}}
    said = hints({**wipes, "annotations": LAX})
    assert (said["readOnlyHint"], said["destructiveHint"]) == (False, True)


@pytest.mark.parametrize(
    ("contract", "terms"),
    [({"side_effect": "read"}, {}), (None, {"trust": "annotations"}), (None, {"chosen": True})],
    ids=["a contract", "trusted annotations", "a chosen profile"],
)
def test_somebody_can_vouch_for_the_hints(contract: dict[str, Any] | None, terms: dict[str, Any]) -> None:
    said = hints({**LISTS, "annotations": {"readOnlyHint": True}}, contract, **terms)
    assert lax(said) >= {"readOnlyHint", "idempotentHint"}


def operation_hints(method: str, overlay: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    operation = {"operationId": "find_orders", "summary": "Searches orders.", "responses": ok(), **more}
    if method == "post":
        operation["requestBody"] = sending({"type": "object", "properties": {"query": {"type": "string"}}})
    (tool,) = api({"/x": {method: operation}}, infer=classify).tools.values()
    return dict(
        compile_one(tool, tool.name, overlay or {}, UpstreamPolicy("", profile("spec"))).definition["annotations"]
    )


def test_an_operation_has_the_hints_that_its_method_promises_and_no_laxer_ones() -> None:
    assert lax(operation_hints("get")) == {"readOnlyHint", "idempotentHint"}
    assert lax(operation_hints("post")) == set()


def test_the_author_of_a_document_or_a_contract_can_say_more() -> None:
    assert "readOnlyHint" in lax(operation_hints("post", **{"x-side-effect": "read"}))
    assert "readOnlyHint" in lax(operation_hints("post", {"side_effect": "read"}))


@pytest.mark.parametrize("mode", ["enforce", "observe"])
@pytest.mark.parametrize(("chosen", "expected"), [({}, set()), ({"profile": "spec"}, {"readOnlyHint"})])
async def test_a_gateway_lists_no_lax_guess_unless_a_profile_is_chosen(
    mode: str, chosen: dict[str, str], expected: set[str], tmp_path: Path
) -> None:
    shop = Shop()
    async with over_http(shop.server) as upstream:
        async with gateway(tmp_path, {"shop": {"url": upstream}}, mode=mode, **chosen) as (url, _):
            listed = (await post(url, rpc("tools/list"))).json()["result"]["tools"]
    (found,) = [tool["annotations"] for tool in listed if tool["name"] == "list_orders"]
    assert lax(found) & {"readOnlyHint"} == expected


@pytest.mark.parametrize("name", ["charge_card", "pay_invoice", "refund_order", "create_order"])
def test_no_profile_calls_a_guessed_change_repeatable_on_its_own(name: str) -> None:
    definition = {"name": name, "description": "Acts.", "inputSchema": {"type": "object"}}
    assert hints(definition, profile="epd", chosen=True)["idempotentHint"] is False
    declared = {**definition, "annotations": {"idempotentHint": True}}
    assert hints(declared, profile="epd", trust="annotations")["idempotentHint"] is True


@pytest.mark.parametrize(("name", "expected"), [("taskIds", ("taskIds",)), ("task_ids", ("task_ids",)), ("grids", ())])
def test_a_guessed_write_is_asked_about_where_its_list_of_ids_is_broad(name: str, expected: tuple[str, ...]) -> None:
    ids = {"type": "array", "items": {"type": "string"}}
    schema = {"type": "object", "properties": {name: ids, "status": {"type": "string"}}, "required": [name]}
    definition = {"name": "update_tasks", "description": "Updates the status of tasks.", "inputSchema": schema}
    (tool,) = compile_tools([definition], {}, UpstreamPolicy("up", profile("spec"))).tools
    assert tool.contract.selects == expected
    asked = [ambiguous(tool.contract, {name: given}) for given in ([], ["*"], ["t"] * 5000, ["t-1", "t-2"])]
    assert [why is not None for why in asked] == ([True, True, True, False] if expected else [False] * 4)


def test_recovery_none_unsets_the_hint_under_every_profile() -> None:
    for tier in ("write", "external_spend", "destructive"):
        for name in profile_names():
            contract = read_contract("send", {"side_effect": tier, "idempotency": {"recovery": "none"}})
            assert not profile(name).hints(contract)["idempotent"], (tier, name)


async def test_a_tool_that_nobody_described_has_category_label_and_action_template_on_the_wire(tmp_path: Path) -> None:
    async with over_http(Shop().server) as upstream:
        async with gateway(tmp_path, {"shop": {"url": upstream}}, contracts=[]) as (url, _):
            listed = (await post(url, rpc("tools/list"))).json()["result"]["tools"]
    said = {one["name"]: one["_meta"]["dev.assent/contract"] for one in listed}
    told = {name: (one["category"], one["category_label"], one["activity"]) for name, one in said.items()}
    assert told["delete_order"] == ("delete", "Deletes data or takes something back", "Delete order: {order_id}")
    assert told["list_orders"] == ("read", "Reads data", "List orders")
