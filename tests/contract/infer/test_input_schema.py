"""Properties and values of input schemas."""

from typing import Any

import pytest

from assent.contract.infer import classify
from assent.contract.infer.features.parameters import read_parameters
from assent.contract.infer.features.schema import list_values, read_properties

ACTION = {"enum": ["list", "delete"]}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"action": {"$ref": "#/$defs/Action"}}, "$defs": {"Action": ACTION}},
        {"properties": {"action": {"allOf": [{"$ref": "#/$defs/Action"}]}}, "$defs": {"Action": ACTION}},
        {"oneOf": [{"properties": {"action": {"const": "list"}}}, {"properties": {"action": {"const": "delete"}}}]},
        {"anyOf": [{"$ref": "#/$defs/Both"}], "$defs": {"Both": {"properties": {"action": ACTION}}}},
        {"properties": {"changes": {"type": "array", "items": {"properties": {"op": ACTION}}}}},
        {"properties": {"request": {"anyOf": [{"properties": {"action": ACTION}}, {"type": "null"}]}}},
        {"properties": {"crateAction": ACTION}},
        {"properties": {"operation_type": ACTION}},
    ],
    ids=("reference", "wrapped reference", "union", "referred union", "list", "optional object", "named", "typed"),
)
def test_operations_are_found_behind_references_unions_and_lists(schema: dict[str, Any]) -> None:
    assert {choice.verb for choice in read_parameters(schema).choices} == {"list", "delete"}
    assert classify({"name": "crates", "description": "Works on crates.", "inputSchema": schema}).destructive


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/A"}}},
        {"properties": {"a": {"$ref": "https://harbour.example/schema"}}},
        {"properties": {"a": {"$ref": "#/$defs/none"}}},
        {"properties": {"a": {"$ref": 5}}, "anyOf": {"not": "a list"}},
        {"properties": {"a": None, "b": []}},
        {"properties": []},
        None,
        "object",
    ],
)
def test_broken_references_are_ignored(schema: Any) -> None:
    own, below = read_properties(schema)
    assert {name for name, _ in own} <= {"a", "b"}
    assert below == []


def test_a_recursive_union_ends() -> None:
    schema: dict[str, Any] = {"properties": {"a": {}}}
    schema["anyOf"] = [schema]
    assert read_properties(schema)[0]
    assert list_values({"items": schema}) == []


def test_a_reading_mode_and_the_removal_of_a_label_are_not_operations() -> None:
    crop = {"name": "get_chart_image", "inputSchema": {"properties": {"mode": {"enum": ["crop", "pad"]}}}}
    label = {"name": "set_crate", "inputSchema": {"properties": {"label_operation": {"enum": ["add", "remove"]}}}}
    assert classify(crop).read_only
    assert not classify(label).destructive


def test_enable_and_disable_are_not_destructive() -> None:
    switch = {"name": "manage_foghorn", "inputSchema": {"properties": {"action": {"enum": ["enable", "disable"]}}}}
    assert not classify(switch).destructive
