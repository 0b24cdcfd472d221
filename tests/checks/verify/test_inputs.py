"""Arguments that fit a schema, the same ones every time."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from assent.checks.verify.inputs import NoExampleError, examples_of

SCHEMAS: dict[str, dict[str, Any]] = {
    "plain": {"type": "object"},
    "kinds": {
        "type": "object",
        "properties": {
            "text": {"type": "string", "minLength": 2, "maxLength": 5},
            "count": {"type": "integer", "minimum": 3, "maximum": 9},
            "even": {"type": "integer", "multipleOf": 2, "minimum": 1},
            "share": {"type": "number", "exclusiveMinimum": 0, "maximum": 10},
            "yes": {"type": "boolean"},
            "none": {"type": ["string", "null"]},
            "list": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "uniqueItems": True},
            "pick": {"enum": ["a", 1, None]},
            "fixed": {"const": "x"},
        },
        "required": ["text", "count", "even", "share", "yes", "none", "list", "pick", "fixed"],
        "additionalProperties": False,
    },
    "formats": {
        "type": "object",
        "properties": {
            name: {"type": "string", "format": name}
            for name in ("date", "date-time", "time", "uuid", "email", "uri", "hostname", "ipv4")
        },
        "required": ["date", "date-time", "uuid", "email", "uri"],
    },
    "pattern": {
        "type": "object",
        "properties": {"code": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{2}$"}},
        "required": ["code"],
    },
    "references": {
        "type": "object",
        "$defs": {
            "Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "n": {"type": "integer"}}}
        },
        "properties": {"root": {"$ref": "#/$defs/Node"}},
        "required": ["root"],
    },
    "unions": {
        "type": "object",
        "properties": {
            "either": {"anyOf": [{"type": "integer", "minimum": 5}, {"type": "string", "minLength": 1}]},
            "both": {"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"required": ["a"]}]},
        },
        "required": ["either", "both"],
    },
    "far": {
        "type": "object",
        "properties": {
            "below": {"type": "number", "maximum": 10**400},
            "above": {"type": "number", "minimum": 9007199254740993},
            "whole": {"type": "integer", "maximum": float("1e308")},
        },
        "required": ["below", "above", "whole"],
    },
    "negative": {"type": "object", "properties": {"n": {"type": "integer", "maximum": -5}}, "required": ["n"]},
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_arguments_fit_and_are_the_same_every_time(name: str) -> None:
    schema = SCHEMAS[name]
    found = examples_of(schema, 6)
    assert found and all(jsonschema_rs.is_valid(schema, one) for one in found)
    assert examples_of(schema, 6) == found


def test_several_different_arguments_are_found() -> None:
    assert len(examples_of(SCHEMAS["kinds"], 6)) == 6


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"n": {"enum": [1], "minimum": 2}}, "required": ["n"]},
        {"type": "strnig"},
    ],
)
def test_a_schema_that_nothing_fits_says_so(schema: dict[str, Any]) -> None:
    with pytest.raises(NoExampleError):
        examples_of(schema, 3)


def test_a_pattern_in_the_dialect_of_another_language_does_not_stop_the_others() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"word": {"type": "string", "pattern": r"^(?<first>[a-z])*$"}, "n": {"type": "integer"}},
        "required": ["n"],
    }
    assert examples_of(schema, 3)
    schema["properties"]["word"]["pattern"], schema["required"] = r"^(?<first>[A-Z]){30}$", ["word"]
    with pytest.raises(NoExampleError, match="no generated arguments fit"):
        examples_of(schema, 1)


def test_of_a_very_large_schema_little_more_than_what_is_needed_is_made_up() -> None:
    part = {"type": "object", "properties": {f"q{n}": {"type": "string"} for n in range(20)}}
    wanted = [f"p{n}" for n in range(100)]
    schema = {"type": "object", "properties": dict.fromkeys([*wanted, "spare"], part), "required": wanted}
    for found in examples_of(schema, 2):
        assert set(wanted) <= set(found) and not any(found.values())


def test_examples_go_from_the_smallest_to_the_largest() -> None:
    schema = {
        "type": "object",
        "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
        "required": ["query"],
    }
    queries = [len(one["query"]) for one in examples_of(schema, 5)]
    assert len(queries) == 5 and min(queries) == 0 and max(queries) > 16
