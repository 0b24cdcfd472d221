"""Whole tools, as they are listed."""

from __future__ import annotations

from typing import Any

import pytest

from assent.contract.profiles import profile
from assent.contract.tool_listing import CONTRACT_KEY
from assent.errors import ContractError
from support.openapi.documents import api, ok, parameter, ref, sending
from support.openapi.worlds import compile_tools


def listed(paths: dict[str, Any], named: str = "geopera", **more: Any) -> dict[str, dict[str, Any]]:
    return {tool.name: dict(tool.definition) for tool in compile_tools(api(paths, **more), profile=profile(named))}


def marked(tier: str, **more: Any) -> dict[str, Any]:
    return {
        "operationId": f"things.{tier}",
        "summary": f"Do a {tier} thing.",
        "x-side-effect": tier,
        "x-required-scope": "things:write",
        "x-produces": [],
        "x-raw-response": False,
        "x-kernel-version": "1",
        "responses": ok({"type": "object", "properties": {"id": {"type": "string"}}}),
        **more,
    }


def test_a_marked_operation_is_listed_as_its_vendor_lists_it() -> None:
    place = marked(
        "external_spend",
        parameters=[parameter("x-api-key", "header"), parameter("Idempotency-Key", "header")],
        requestBody=sending(ref("NewThing")),
        **{"x-produces": ["thing"]},
    )
    schemas = {"NewThing": {"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]}}
    tool = listed({"/v1/op/things.place": {"post": place}}, components={"schemas": schemas})["things.external_spend"]
    assert (
        tool.pop("_meta").items()
        >= {
            "x-side-effect": "external_spend",
            "x-required-scope": "things:write",
            "x-produces": ["thing"],
            "x-kernel-version": "1",
        }.items()
    )
    assert tool == {
        "name": "things.external_spend",
        "title": "Do a external_spend thing.",
        "description": "Do a external_spend thing.",
        "inputSchema": {
            "type": "object",
            "properties": {"size": {"type": "integer"}},
            "required": ["size"],
            "additionalProperties": False,
        },
        "outputSchema": {"type": "object", "properties": {"id": {"type": "string"}}},
        "annotations": {
            "title": "Do a external_spend thing.",
            "readOnlyHint": False,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": True,
        },
    }


@pytest.mark.parametrize(
    ("tier", "hints"),
    [
        ("read", (True, False, False, True)),
        ("compute", (False, False, False, False)),
        ("external_spend", (False, False, True, True)),
        ("share_export", (False, False, False, True)),
        ("destructive", (False, True, False, False)),
    ],
)
def test_the_tier_decides_the_hints(tier: str, hints: tuple[bool, ...]) -> None:
    tool = listed({"/v1/op/x": {"post": marked(tier)}})[f"things.{tier}"]
    names = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
    assert tuple(tool["annotations"][name] for name in names) == hints
    said = {key: value for key, value in tool["_meta"].items() if key != CONTRACT_KEY}
    assert said == {
        "x-side-effect": tier,
        "x-required-scope": "things:write",
        "x-produces": [],
        "x-kernel-version": "1",
    }


THING = {"type": "object", "properties": {"id": {"type": "string"}, "secret": {"writeOnly": True}}}
KNOWN = {"type": "object", "properties": {"id": {"type": "string"}}}


@pytest.mark.parametrize(
    ("responses", "expected"),
    [
        (ok(THING), KNOWN),
        (ok({"properties": {"id": {}}}), {"type": "object", "properties": {"id": {}}}),
        (ok({"allOf": [KNOWN]}), {"type": "object", "allOf": [KNOWN]}),
        (ok({"anyOf": [KNOWN, {"type": "null"}]}), None),
        (ok({"type": "array", "items": KNOWN}), None),
        (ok({}), None),
        (ok(KNOWN, "application/x-ndjson"), None),
        ({**ok(KNOWN), "201": ok(KNOWN)["200"]}, KNOWN),
        ({**ok(KNOWN), "202": ok({"type": "object"})["200"]}, {"type": "object", "anyOf": [KNOWN, {"type": "object"}]}),
        ({**ok(KNOWN), "204": {"description": "none"}}, None),
        ({"204": {"description": "none"}}, None),
        ({"default": ok(KNOWN)["200"]}, KNOWN),
        ({}, None),
    ],
)
def test_an_output_schema_is_promised_where_every_good_answer_is_an_object(responses: Any, expected: Any) -> None:
    tool = listed({"/x": {"get": {"operationId": "it", "responses": responses}}})["it"]
    assert tool.get("outputSchema") == expected


def test_a_tool_without_words_of_its_author_is_described_by_its_place() -> None:
    tool = listed({"/x/{id}": {"get": {"responses": ok()}}}, "spec")["get_x_id"]
    assert tool["description"] == "GET /x/{id}"
    assert tool["title"] == "Get x id"


def test_a_prefix_makes_the_canonical_name_and_an_overlay_wins() -> None:
    read = api({"/x": {"post": {"operationId": "it", "x-version": 1, "responses": ok()}}})
    overlays = {"shop_it": {"side_effect": "external_spend", "title": "Buy"}}
    (tool,) = compile_tools(read, profile=profile("spec"), upstream="shop", prefix="shop_", overlays=overlays)
    assert (tool.name, tool.wire_name, tool.upstream) == ("shop_it", "it", "shop")
    assert (tool.contract.side_effect.value, tool.contract.title) == ("external_spend", "Buy")
    assert tool.definition["_meta"]["x-version"] == 1
    with pytest.raises(ContractError):
        list(compile_tools(read, profile=profile("spec"), overlays={"it": {"side_effect": "none"}}))


def test_an_input_too_large_to_list_is_cut_and_reported() -> None:
    wide = {
        f"S{n}": {"type": "object", "properties": {f"p{i}": ref(f"S{n + 1}") for i in range(90)}} for n in range(60)
    }
    schemas = {**wide, "S60": {"type": "string"}}
    body = sending({"type": "object", "properties": {"a": ref("S0")}})
    found = api({"/x": {"post": {"operationId": "it", "requestBody": body}}}, components={"schemas": schemas})
    assert list(found.tools) == ["it"]
    assert "input schema is too large and was cut" in str(found.findings[0])
