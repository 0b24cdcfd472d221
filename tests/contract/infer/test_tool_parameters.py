"""What the features of parameters contain."""

from typing import Any

import pytest

from assent.contract.infer.features.parameters import read_parameters


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        ("dryRun", "dry_run"),
        ("force", "force"),
        ("sql", "sql"),
        ("command", "command"),
        ("outputPath", "file"),
        ("url", "url"),
        ("confirm", "confirm"),
    ],
)
def test_parameter_names_raise_flags(name: str, flag: str) -> None:
    assert flag in read_parameters(schema(**{name: {"type": "string"}})).flags


def test_nested_objects_are_read_one_level_deep() -> None:
    assert "sql" in read_parameters(schema(params={"type": "object", "properties": {"sql": {}}})).flags


@pytest.mark.parametrize(
    "definition",
    [
        {"enum": ["list", "delete"]},
        {"anyOf": [{"const": "list"}, {"const": "delete"}]},
        {"type": "array", "items": {"enum": ["list", "delete"]}},
        {"description": "What to do: 'list' or 'delete'."},
        {"description": "Operation to perform: list-crates, delete-crate."},
    ],
)
def test_offered_operations_are_found_in_every_notation(definition: dict[str, Any]) -> None:
    assert {choice.verb for choice in read_parameters(schema(action=definition)).choices} == {"list", "delete"}


def test_a_filter_by_action_offers_no_operation() -> None:
    assert read_parameters(schema(action={"description": "Filter by action: created, deleted"})).choices == ()


def test_a_choice_of_methods_is_a_request() -> None:
    parameters = read_parameters(schema(method={"enum": ["GET", "DELETE"]}))
    assert "http" in parameters.flags
    assert parameters.choices == ()


def test_reading_operations_are_told_from_acting_ones() -> None:
    assert read_parameters(schema(operation={"enum": ["get", "list"]})).only_reads
    assert not read_parameters(schema(operation={"enum": ["get", "set"]})).only_reads
    assert not read_parameters(schema(mode={"enum": ["get", "list"]})).only_reads


@pytest.mark.parametrize(
    "odd",
    [None, [], "text", {"properties": []}, {"properties": {"action": None}}, {"properties": {"action": {"enum": 3}}}],
)
def test_an_invalid_schema_has_no_features(odd: Any) -> None:
    assert read_parameters(odd).choices == ()


def test_endless_nesting_is_cut_off() -> None:
    nested: dict[str, Any] = {"enum": ["delete"]}
    for _ in range(5000):
        nested = {"anyOf": [nested]}
    assert read_parameters(schema(action=nested)).choices == ()


def test_operations_are_found_in_a_union_of_objects_and_through_references() -> None:
    running = {"type": "object", "properties": {"type": {"const": "execute"}, "query": {"type": "string"}}}
    looking = {"type": "object", "properties": {"type": {"const": "introspect"}, "action": {"enum": ["list", "get"]}}}
    schema = {"properties": {"action": {"anyOf": [{"$ref": "#/$defs/Run"}, looking]}}, "$defs": {"Run": running}}
    read = read_parameters(schema)
    assert "execute" in {choice.verb for choice in read.choices}
    assert not read.only_reads


def test_nested_operations_do_not_limit_a_free_operation() -> None:
    below = {"type": "object", "properties": {"action": {"enum": ["list", "get"]}}}
    assert read_parameters({"properties": {"options": below}}).only_reads
    assert not read_parameters({"properties": {"operation": {"type": "string"}, "options": below}}).only_reads
