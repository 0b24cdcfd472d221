"""OpenAPI schemas as JSON Schema 2020-12."""

from __future__ import annotations

from typing import Any

import pytest

from assent.upstreams.openapi.document import Unresolved
from assent.upstreams.openapi.schemas import Schemas
from support.openapi.documents import library, ref


def converted(schema: Any, version: str = "3.0.3", direction: Any = "input", **schemas: Any) -> Any:
    found = library(version=version, components={"schemas": {"It": schema, **schemas}})
    return Schemas(found, direction).convert(found.start().at("components", "schemas", "It"))


def address(name: str) -> str:
    return f"service.json#/components/schemas/{name}"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "enum": ["a"], "nullable": True}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"type": "string", "nullable": False}, {"type": "string"}),
        ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
        ({"minimum": 1, "exclusiveMinimum": False}, {"minimum": 1}),
        ({"maximum": 1, "exclusiveMaximum": True}, {"exclusiveMaximum": 1}),
        ({"exclusiveMaximum": True}, {}),
        ({"type": "integer", "example": 7}, {"type": "integer", "examples": [7]}),
        (
            {"type": "object", "discriminator": {"propertyName": "x"}, "xml": {}, "externalDocs": {}, "x-any": 1},
            {"type": "object"},
        ),
        (
            {"type": "array", "items": {"nullable": True, "type": "number"}},
            {"type": "array", "items": {"type": ["number", "null"]}},
        ),
        (
            {"default": {"$ref": "#/nothing"}, "enum": [{"nullable": True}]},
            {"default": {"$ref": "#/nothing"}, "enum": [{"nullable": True}]},
        ),
        ({"type": "string", "required": True}, {"type": "string"}),
    ],
)
def test_what_3_0_says_in_its_own_way(given: Any, expected: Any) -> None:
    assert converted(given) == expected


def test_what_stands_beside_a_reference_counts_in_3_1_only() -> None:
    given = {**ref("Other"), "description": "mine", "minLength": 3}
    assert converted(given, "3.0.3", Other={}) == {"$ref": address("Other")}
    assert converted(given, "3.1.0", Other={}) == {"$ref": address("Other"), "description": "mine", "minLength": 3}


def test_a_nullable_reference_may_be_null() -> None:
    expected = {"anyOf": [{"$ref": address("Other")}, {"type": "null"}]}
    assert converted({**ref("Other"), "nullable": True}, Other={}) == expected
    combined = converted({"allOf": [ref("Other")], "nullable": True, "description": "d"}, Other={})
    assert combined == {"anyOf": [{"allOf": [{"$ref": address("Other")}]}, {"type": "null"}], "description": "d"}


def test_what_is_read_only_is_not_asked_for_and_what_is_write_only_not_promised() -> None:
    given = {
        "type": "object",
        "properties": {"id": {"readOnly": True}, "password": {"writeOnly": True}, "name": {}, "made": ref("Stamp")},
        "required": ["id", "password", "name", "made"],
    }
    stamp = {"type": "string", "readOnly": True}
    asked = converted(given, Stamp=stamp)
    assert list(asked["properties"]) == ["password", "name"]
    assert asked["required"] == ["password", "name"]
    promised = converted(given, direction="output", Stamp=stamp)
    assert list(promised["properties"]) == ["id", "name", "made"]
    assert promised["required"] == ["id", "name", "made"]


def test_identifiers_that_would_move_references_are_left_out() -> None:
    given = {
        "$id": "https://a.example/x",
        "$schema": "https://a.example/s",
        "$anchor": "a",
        "$dynamicRef": "#a",
        "$defs": {},
    }
    assert converted(given, "3.1.0") == {}


def test_boolean_schemas_stay() -> None:
    assert converted({"properties": {"a": True, "b": False}}, "3.1.0") == {"properties": {"a": True, "b": False}}


@pytest.mark.parametrize(
    "given", [{"properties": []}, {"allOf": {}}, {"items": "string"}, {"not": None}, {"items": [{}]}, "string", None, 7]
)
def test_what_is_no_schema_is_refused(given: Any) -> None:
    with pytest.raises(Unresolved):
        converted(given)
