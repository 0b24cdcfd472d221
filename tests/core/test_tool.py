"""A contract and a definition are compiled together, or refused together."""

from __future__ import annotations

from typing import Any

import pytest

from assent.contract.documents import schema_validator
from assent.contract.profiles import profile
from assent.core.tool import Tool, compile_tool
from assent.errors import ContractError
from support.documents.contract_examples import contract_with

CLOSED = {
    "type": "object",
    "properties": {"to": {"type": "string"}},
    "required": ["to"],
    "additionalProperties": False,
}


def compiled(definition: dict[str, Any] | None = None, **fields: Any) -> Tool:
    return compile_tool(contract_with(**fields), definition=definition)


def faults(tool: Tool, arguments: Any) -> list[tuple[str, str]]:
    assert tool.check_input is not None
    return tool.check_input(arguments)


def test_the_contracts_schemas_come_before_the_definitions() -> None:
    definition = {"inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}}
    tool = compiled(definition, input=CLOSED, output={"type": "string"})
    assert faults(tool, {}) == [("", "'to' is required")]
    assert (tool.definition["inputSchema"], tool.definition["outputSchema"]) == (CLOSED, {"type": "string"})
    assert faults(compiled({"inputSchema": CLOSED}), {}) == [("", "'to' is required")]


def test_without_any_schema_any_object_will_do() -> None:
    tool = compiled()
    assert faults(tool, {"a": 1}) == []
    assert faults(tool, []) == [("", "it must be of type object")]
    assert tool.check_output is None


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"to": 5}, [("/to", "it must be of type string")]),
        ({"to": "x", "cc": 1}, [("", "there are unknown fields: 'cc'")]),
        ({}, [("", "'to' is required")]),
    ],
)
def test_what_does_not_fit_is_told_by_the_schemas_words_alone(arguments: Any, found: Any) -> None:
    assert faults(compiled(input=CLOSED), arguments) == found


def test_rejected_values_are_not_repeated() -> None:
    schema = {
        "properties": {
            "a": {"type": "string", "pattern": "^x"},
            "b": {"enum": ["one", "two"]},
            "c": {"maximum": 5},
            "d": {"const": 1},
            "e": {"format": "email", "minLength": 50},
        }
    }
    found = faults(compiled(input=schema), {"a": "canary", "b": "canary", "c": 4711, "d": "canary", "e": "canary"})
    assert [where for where, _ in found] == ["/a", "/b", "/c", "/d", "/e"]
    assert "canary" not in str(found)
    assert "4711" not in str(found)


def test_at_most_twenty_faults_are_told() -> None:
    found = faults(compiled(input={"additionalProperties": {"type": "string"}}), {str(n): n for n in range(100)})
    assert len(found) == 20


def test_pointers_to_faults_are_escaped() -> None:
    found = faults(compiled(input={"additionalProperties": {"type": "string"}}), {"a/b~c": 1})
    assert found[0][0] == "/a~1b~0c"


def test_our_own_arguments_are_listed_where_the_upstream_does_not_know_them() -> None:
    fields: dict[str, Any] = {"dry_run": {}, "idempotency": {"argument": "key"}, "input": CLOSED}
    tool = compiled(**fields)
    assert list(tool.definition["inputSchema"]["properties"]) == ["to", "dryRun", "key"]
    assert faults(tool, {"to": "x", "dryRun": True, "key": "k"}) == []
    assert (tool.rehearses, tool.takes_key) == (False, False)
    assert faults(tool, {"to": "x", "dryRun": "yes"}) == [("/dryRun", "it must be of type boolean")]
    assert CLOSED["properties"] == {"to": {"type": "string"}}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/A", "$defs": {"A": CLOSED}},
        {"allOf": [CLOSED]},
        {"oneOf": [CLOSED, {"required": ["other"]}]},
        {**CLOSED, "maxProperties": 1},
        {**CLOSED, "unevaluatedProperties": False},
    ],
)
def test_our_own_arguments_fit_beside_any_schema(schema: dict[str, Any]) -> None:
    tool = compiled({"inputSchema": schema}, dry_run={}, idempotency={"argument": "key"})
    assert faults(tool, {"to": "x", "dryRun": True, "key": "k"}) == []
    assert faults(tool, {"to": "x", "cc": 1, "dryRun": True}) != []
    assert faults(tool, {"to": "x", "key": ""}) == [("/key", "it does not match `minLength` of 1")]


def test_arguments_the_upstream_knows_are_left_to_it() -> None:
    own = {"type": "object", "properties": {"dryRun": {"type": "boolean"}, "key": {"type": "string"}}}
    tool = compiled(input=own, dry_run={}, idempotency={"argument": "key"})
    assert tool.definition["inputSchema"] == own
    assert (tool.rehearses, tool.takes_key) == (True, True)


def test_a_preview_is_an_answer_too_where_a_call_can_be_rehearsed() -> None:
    output = {"type": "object", "required": ["id"], "$defs": {"a": {}}, "properties": {"id": {"$ref": "#/$defs/a"}}}
    tool = compiled(output=output, dry_run={})
    listed = tool.definition["outputSchema"]
    assert schema_validator(listed).is_valid({"id": 1})
    assert [sorted(branch["required"]) for branch in listed["anyOf"]] == [["id"], ["dryRun"]]
    assert tool.check_output is not None
    assert tool.check_output({"dryRun": True}) == [("", "'id' is required")]


def test_the_definitions_of_an_older_schema_are_still_found_beside_a_preview() -> None:
    output = {"definitions": {"a": {"type": "string"}}, "properties": {"id": {"$ref": "#/definitions/a"}}}
    listed = compiled(output=output, dry_run={}).definition["outputSchema"]
    assert schema_validator(listed).is_valid({"id": "x"})
    assert not schema_validator(listed).is_valid({"id": 1})


@pytest.mark.parametrize(
    ("definition", "field"),
    [
        ({"inputSchema": {"type": "strin"}}, "tool.input"),
        ({"inputSchema": {"properties": []}}, "tool.input"),
        ({"inputSchema": {"properties": 5}}, "tool.input"),
        ({"inputSchema": {"$ref": "https://example.com/x"}}, "tool.input"),
        ({"outputSchema": {"$ref": "file:///etc/passwd"}}, "tool.output"),
        ({"outputSchema": 5}, "tool.output"),
    ],
)
def test_a_definition_whose_schema_is_none_is_refused(definition: dict[str, Any], field: str) -> None:
    with pytest.raises(ContractError) as caught:
        compiled(definition, dry_run={}, idempotency={"argument": "key"})
    assert [fault.field for fault in caught.value.faults] == [field]


def test_visibility_comes_from_the_contract_and_otherwise_from_the_profile() -> None:
    plain, hidden = contract_with(), contract_with(visibility="hidden")
    assert compile_tool(plain).visibility == "scoped"
    assert compile_tool(plain, profile=profile("geopera")).visibility == "locked"
    assert compile_tool(hidden, profile=profile("geopera")).visibility == "hidden"


def test_a_condition_on_step_up_is_compiled_once() -> None:
    assert compiled(step_up={"max_age": "5m"}).step_up_when is None
    condition = compiled(step_up={"max_age": "5m", "when": "amount > 5"}).step_up_when
    assert condition is not None
    assert condition.holds({"amount": 6})
    assert not condition.holds({"amount": 5})


def test_what_else_the_upstream_says_is_kept_but_its_title_and_annotations_are_ours() -> None:
    definition = {
        "name": "upstream_name",
        "title": "Theirs",
        "annotations": {"readOnlyHint": True},
        "icons": [{"src": "x"}],
        "inputSchema": {"type": "object"},
    }
    said = compiled(definition, title="Ours").definition
    assert (said["name"], said["title"], said["icons"]) == ("tool", "Ours", [{"src": "x"}])
    assert said["annotations"]["readOnlyHint"] is False


@pytest.mark.parametrize("kind", ["array", "string", "object"])
def test_a_step_up_that_would_hold_for_every_call_is_refused_with_what_was_meant(kind: str) -> None:
    fields = {"side_effect": "destructive", "step_up": {"max_age": "5m", "when": "to > 10"}}
    schema = {"inputSchema": {"type": "object", "properties": {"to": {"type": kind}}}}
    with pytest.raises(ContractError, match=r"it would always hold. Write len\(to\)"):
        compiled(schema, **fields)
    assert compiled({"inputSchema": {"properties": {"to": {"type": "number"}}}}, **fields).step_up_when is not None
