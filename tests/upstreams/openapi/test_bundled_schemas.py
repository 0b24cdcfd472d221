"""Schemas that stand alone."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import orjson
import pytest

from assent.upstreams.openapi import schemas as bundled_schemas
from assent.upstreams.openapi.document import Unresolved
from assent.upstreams.openapi.schemas import Bundler, Schemas
from support.openapi.documents import library, ref


def bundled(schema: Any, most: int = bundled_schemas.MOST_REFERENCED, **schemas: Any) -> tuple[dict[str, Any], bool]:
    found = library(components={"schemas": {"It": schema, **schemas}})
    known = Schemas(found, "input")
    made = known.convert(found.start().at("components", "schemas", "It"))
    assert isinstance(made, dict)
    return Bundler(known).bundle(made, most)


def test_what_is_not_recursive_is_written_out_in_place() -> None:
    order = {"type": "object", "properties": {"a": ref("Item"), "b": {**ref("Item"), "description": "another"}}}
    made, whole = bundled(
        order, Item={"type": "object", "properties": {"n": ref("Number")}}, Number={"type": "integer"}
    )
    item = {"type": "object", "properties": {"n": {"type": "integer"}}}
    assert made == {"type": "object", "properties": {"a": item, "b": {**item, "description": "another"}}}
    assert whole


def test_rules_beside_a_reference_hold_as_well() -> None:
    made, _ = bundled({"properties": {"a": {**ref("Text"), "maxLength": 3}}}, Text={"type": "string", "minLength": 2})
    check = jsonschema_rs.validator_for(made)
    assert [check.is_valid({"a": text}) for text in ("x", "xx", "xxxx")] == [False, True, False]


def test_recursion_stays_a_reference_under_defs() -> None:
    node = {"type": "object", "properties": {"next": ref("Node"), "label": ref("Label")}, "required": ["label"]}
    made, _ = bundled({"properties": {"root": ref("Node")}}, Node=node, Label={"type": "string"})
    assert made["properties"] == {"root": {"$ref": "#/$defs/Node"}}
    assert made["$defs"]["Node"]["properties"] == {"next": {"$ref": "#/$defs/Node"}, "label": {"type": "string"}}
    check = jsonschema_rs.validator_for(made)
    assert check.is_valid({"root": {"label": "a", "next": {"label": "b"}}})
    assert not check.is_valid({"root": {"label": "a", "next": {"label": 1}}})


def test_two_schemas_that_need_each_other_stay_references() -> None:
    made, _ = bundled(
        {"properties": {"a": ref("A")}},
        A={"properties": {"b": ref("B")}},
        B={"properties": {"a": ref("A"), "c": ref("C")}},
        C={},
    )
    assert set(made["$defs"]) == {"A", "B"}
    jsonschema_rs.validator_for(made)


@pytest.mark.parametrize("loop", [{"$ref": "#/components/schemas/A"}, {"allOf": [{"$ref": "#/components/schemas/A"}]}])
def test_a_schema_that_is_only_itself_neither_hangs_nor_crashes(loop: Any) -> None:
    made, _ = bundled({"properties": {"a": ref("A")}}, A=loop)
    assert jsonschema_rs.validator_for(made).is_valid({"a": 1})


def test_a_document_that_doubles_at_every_step_stays_small() -> None:
    steps = {f"S{n}": {"properties": {"l": ref(f"S{n + 1}"), "r": ref(f"S{n + 1}")}} for n in range(60)}
    made, whole = bundled({"properties": {"a": ref("S0")}}, **steps, S60={"type": "integer"})
    assert whole
    assert len(orjson.dumps(made)) < 10_000
    jsonschema_rs.validator_for(made)


def test_a_chain_of_a_thousand_references_is_followed() -> None:
    steps = {f"S{n}": {"properties": {"next": ref(f"S{n + 1}")}} for n in range(1_000)}
    made, whole = bundled({"properties": {"a": ref("S0")}}, **steps, S1000={"type": "integer"})
    assert whole
    assert len(made["$defs"]) == 1_001
    jsonschema_rs.validator_for(made)
    orjson.dumps(made)


def test_what_finds_no_room_says_nothing_and_is_reported() -> None:
    steps = {f"S{n}": {"type": "object", "properties": {"next": ref(f"S{n + 1}")}} for n in range(50)}
    made, whole = bundled({"properties": {"a": ref("S0")}}, 20, **steps, S50={"type": "integer"})
    assert not whole
    check = jsonschema_rs.validator_for(made)
    assert not check.is_valid({"a": {"next": 1}})
    deep: Any = 1
    for _ in range(40):
        deep = {"next": deep}
    assert check.is_valid({"a": deep})


def test_definitions_of_the_same_name_are_kept_apart() -> None:
    more = {"x-parts": {"Node": {"properties": {"n": {"$ref": "#/x-parts/Node"}}}}}
    node = {"properties": {"n": ref("Node"), "o": {"$ref": "#/x-parts/Node"}}}
    found = library(components={"schemas": {"Node": node}}, **more)
    known = Schemas(found, "input")
    made = known.convert(found.start().at("components", "schemas", "Node"))
    assert isinstance(made, dict)
    assert set(Bundler(known).bundle(made)[0]["$defs"]) == {"Node", "Node_2"}


def test_a_reference_out_of_the_document_deep_inside_is_found() -> None:
    with pytest.raises(Unresolved, match=r"evil\.example"):
        bundled({"properties": {"a": ref("A")}}, A={"items": {"$ref": "http://evil.example/x"}})
