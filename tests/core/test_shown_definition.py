"""What agents are shown of a definition, and when it cannot be shown."""

from __future__ import annotations

from typing import Any

import pytest

from assent.core.shown_definition import UNUSABLE, is_clean, shown_answer, shown_tool

HIDDEN = "\u200b"


def with_schema(**schema: Any) -> dict[str, Any]:
    return {"name": "find", "inputSchema": {"type": "object", **schema}}


def test_a_definition_without_hidden_characters_is_the_same_object() -> None:
    definition = with_schema(properties={"a": {"type": "string", "default": "\n", "description": "Grün \u2764\ufe0f"}})
    assert shown_tool(definition).definition is definition


def test_every_text_loses_its_hidden_characters_and_says_where() -> None:
    definition = {
        "name": "find",
        "title": f"Find{HIDDEN}",
        "annotations": {"title": f"Find{HIDDEN}", "readOnlyHint": True},
        "_meta": {"x": [f"y{HIDDEN}"], f"z{HIDDEN}": 1},
        **with_schema(
            description=f"All{HIDDEN}",
            properties={"description": {"title": f"D{HIDDEN}"}, "enum": {"items": {"x-note": f"N{HIDDEN}"}}},
            **{"$defs": {"default": {"$comment": f"C{HIDDEN}"}}},
        ),
    }
    shown = shown_tool(definition)
    assert is_clean(shown.definition) and not shown.unusable
    assert [one.partition(":")[0] for one in shown.removed] == [
        "/title",
        "/annotations/title",
        "/_meta/x/0",
        "/_meta/z\\u{200b} is left out",
        "/inputSchema/description",
        "/inputSchema/properties/description/title",
        "/inputSchema/properties/enum/items/x-note",
        "/inputSchema/$defs/default/$comment",
    ]
    assert shown.definition["inputSchema"]["properties"]["enum"] == {"items": {"x-note": "N"}}


def test_a_default_or_example_is_left_out_because_a_call_works_without_it() -> None:
    schema = {"properties": {"by": {"type": "string", "default": f",{HIDDEN}", "examples": [";", f"|{HIDDEN}"]}}}
    shown = shown_tool(with_schema(**schema))
    assert shown.definition["inputSchema"]["properties"] == {"by": {"type": "string"}}
    assert len(shown.removed) == 2 and not shown.unusable


@pytest.mark.parametrize(
    "definition",
    [
        {"name": f"find{HIDDEN}"},
        with_schema(properties={f"a{HIDDEN}": {}}),
        with_schema(properties={"a": {"enum": ["up", f"up{HIDDEN}"]}}),
        with_schema(properties={"a": {"const": {"x": f"up{HIDDEN}"}}}),
        with_schema(properties={"a": {"pattern": f"^{HIDDEN}$"}}),
        with_schema(required=[f"a{HIDDEN}"]),
        with_schema(properties={"a": {"$ref": f"#/$defs/A{HIDDEN}"}}),
        {"name": "find", "outputSchema": {"properties": {f"a{HIDDEN}": {}}}},
    ],
)
def test_a_name_or_value_that_calls_repeat_makes_a_tool_unusable(definition: dict[str, Any]) -> None:
    reason = shown_tool(definition).unusable
    assert reason.startswith(UNUSABLE) and "\\u{200b}" in reason


def test_what_a_contract_replaces_is_not_looked_at() -> None:
    definition = with_schema(properties={f"a{HIDDEN}": {}})
    assert not shown_tool(definition, frozenset({"inputSchema"})).unusable


def test_lists_leave_out_entries_whose_names_have_hidden_characters() -> None:
    prompts = [
        {"name": "a", "description": f"A{HIDDEN}", "arguments": [{"name": "x", "description": f"X{HIDDEN}"}]},
        {"name": f"b{HIDDEN}"},
        {"name": "c", "arguments": [{"name": f"x{HIDDEN}"}]},
    ]
    answer = {"prompts": prompts, "nextCursor": f"page{HIDDEN}"}
    shown = shown_answer(answer)
    clean = {"name": "a", "description": "A", "arguments": [{"name": "x", "description": "X"}]}
    assert shown.definition == {"prompts": [clean], "nextCursor": f"page{HIDDEN}"}
    assert len([one for one in shown.removed if "left out of the list" in one]) == 2
    resources = {"resources": [{"uri": f"a:{HIDDEN}", "name": "a"}, {"uri": "b:", "name": "b"}]}
    assert [one["uri"] for one in shown_answer(resources).definition["resources"]] == ["b:"]


def test_instructions_and_server_information_are_texts() -> None:
    answer = {"instructions": f"Do.{HIDDEN}", "serverInfo": {"name": f"notes{HIDDEN}", "version": "1"}}
    assert shown_answer(answer).definition == {"instructions": "Do.", "serverInfo": {"name": "notes", "version": "1"}}


def test_a_long_name_is_not_repeated_for_each_of_many_places() -> None:
    texts = {str(number): "\u200b" for number in range(2_000)}
    found = shown_answer({"_meta": {"a" * 100_000: {"b": texts}}}).removed
    assert len(found) == 2_000 and sum(map(len, found)) < 1_000_000
