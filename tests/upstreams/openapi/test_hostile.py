"""Documents that mean no good, and large ones."""

from __future__ import annotations

import copy
import json
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from assent.contract.digest import digest_of
from assent.contract.profiles import profile
from assent.upstreams.openapi.document import DocumentError, library_of
from assent.upstreams.openapi.tools import read_api
from support.openapi.documents import ORDERS, THE_SAME, document, ok, parameter, ref, sending
from support.openapi.worlds import compile_tools

_odd = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        1.5,
        "",
        "x",
        "$ref",
        "object",
        [],
        {},
        [[]],
        [None],
        {"$ref": "#/paths"},
        {"$ref": 1},
        {"$ref": "#"},
        {"type": "string"},
        {"type": 7},
        {"properties": []},
        {"allOf": [7]},
        {"in": "path"},
        "../..",
        "\x00",
        2**80,
        {"": {"": {}}},
        {"$ref": "#/components/schemas/Order"},
        {"pattern": "["},
        {"enum": {}},
        {"required": "x"},
        {"type": ["string", 7]},
    ]
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        found.extend(places(inner, (*path, key)))
    return found


_PLACES = places(ORDERS)


@settings(THE_SAME, max_examples=300)
@given(st.lists(st.tuples(st.sampled_from(_PLACES), _odd), min_size=1, max_size=4))
def test_a_document_with_anything_anywhere_is_read_or_refused_with_reasons(
    changes: list[tuple[tuple[Any, ...], Any]],
) -> None:
    changed = copy.deepcopy(ORDERS)
    for path, value in changes:
        here: Any = changed
        try:
            for key in path[:-1]:
                here = here[key]
            here[path[-1]] = copy.deepcopy(value)
        except (KeyError, IndexError, TypeError):
            continue
    try:
        found = read_api(library_of(json.dumps(changed)))
    except DocumentError as error:
        assert error.faults
        return
    for tool in compile_tools(found, profile=profile("geopera")):
        orjson.dumps(tool.definition)
        digest_of(tool.definition)
    assert all(one.reason for one in found.excluded)


def test_one_operation_that_cannot_be_used_costs_the_others_nothing() -> None:
    bad = {"type": "object", "properties": {"a": {"type": "string", "pattern": "["}}}
    found = read_api(
        library_of(
            json.dumps(
                document(
                    {
                        "/good": {"get": {"operationId": "good", "responses": ok()}},
                        "/input": {"post": {"operationId": "input", "requestBody": sending(bad), "responses": ok()}},
                        "/output": {"get": {"operationId": "output", "responses": ok(bad)}},
                        "/style": {"get": {"parameters": [parameter("a", "query", style="odd")], "responses": ok()}},
                        "/header": {"get": {"parameters": [parameter("a b", "header")], "responses": ok()}},
                        "/{}": {"get": {"responses": ok()}},
                    }
                )
            )
        )
    )
    assert list(found.tools) == ["good", "output"]
    assert "outputSchema" not in found.tools["output"].definition
    assert {one.path: one.reason.split(":")[0] for one in found.excluded} == {
        "/input": "its input schema is not a JSON Schema",
        "/style": "the query parameter 'a' has the style 'odd'",
        "/header": "'a b' cannot be the name of a header",
        "/{}": "a parameter in its path has no name",
    }


def test_five_thousand_operations_that_share_recursive_schemas_are_read() -> None:
    node = {
        "type": "object",
        "properties": {"label": {"type": "string"}, "parts": {"type": "array", "items": ref("Node")}},
    }
    operation = {
        "parameters": [parameter("id", "path")],
        "requestBody": sending(ref("Node")),
        "responses": ok(ref("Node")),
    }
    paths = {f"/n{number}/{{id}}": {"post": {"operationId": f"op{number}", **operation}} for number in range(5_000)}
    found = read_api(library_of(json.dumps(document(paths, components={"schemas": {"Node": node}}))))
    assert len(found.tools) == 5_000
    assert found.tools["op4999"].definition["outputSchema"]["$defs"].keys() == {"Node"}


def test_the_same_document_gives_the_same_tools() -> None:
    text = json.dumps(ORDERS)
    one, two = read_api(library_of(text)), read_api(library_of(text))
    assert [digest_of(dict(tool.definition)) for tool in one.tools.values()] == [
        digest_of(dict(tool.definition)) for tool in two.tools.values()
    ]
