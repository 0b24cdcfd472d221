"""One upstream's schema cannot freeze the gateway: the tool is withheld with the reason, the others are served."""

from __future__ import annotations

import time
from typing import Any

import pytest

from assent.contract.documents import schema_validator
from assent.contract.profiles import profile
from assent.core.tool import Tool
from assent.upstreams.compiled_tools import UpstreamPolicy, compile_tools

PLAIN = {"type": "object", "properties": {"a": {"type": "string"}}}


def doubling(levels: int, keyword: str = "allOf", **more: Any) -> dict[str, Any]:
    defs: dict[str, Any] = {"n0": {"type": "string"}}
    for level in range(1, levels + 1):
        below = {"$ref": f"#/$defs/n{level - 1}"}
        defs[f"n{level}"] = {keyword: [below, dict(below)], **more}
    return {"type": "object", "properties": {"x": {"$ref": f"#/$defs/n{levels}"}}, "$defs": defs}


def hidden_doubling(base: str) -> dict[str, Any]:
    """The same in a part with an address of its own, beside harmless parts of the same names."""
    inner = doubling(30)
    decoys = {f"n{level}": {} for level in range(31)}
    return {"type": "object", "properties": {"y": {"$id": base, **inner}}, "$defs": decoys}


HOSTILE: dict[str, dict[str, Any]] = {
    "allOf": doubling(30),
    "anyOf": doubling(30, "anyOf"),
    "oneOf": doubling(30, "oneOf"),
    "unevaluated": doubling(18, "anyOf", unevaluatedProperties=False),
    "endless": {"type": "object", "allOf": [{"$ref": "#"}]},
    "hidden by url": hidden_doubling("https://example.com/inner"),
    "hidden by urn": hidden_doubling("urn:example:inner"),
    "names": {"type": "object", "patternProperties": {"(?<=a+)b": {}}},
    "huge const": {"type": "object", "properties": {"x": {"const": [[0] * 100] * 100}}},
}


def taken(*definitions: dict[str, Any]) -> tuple[tuple[Tool, ...], Any]:
    terms = UpstreamPolicy(upstream="shop", profile=profile("spec"))
    found = compile_tools(list(definitions), {}, terms, {})
    return found.tools, found.withheld


@pytest.mark.parametrize("which", ["inputSchema", "outputSchema"])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_schema_without_a_bound_withholds_its_tool_alone(name: str, which: str) -> None:
    hostile = {"name": "hostile", "inputSchema": PLAIN, which: HOSTILE[name]}
    started = time.process_time()
    tools, withheld = taken(hostile, {"name": "list_notes", "inputSchema": PLAIN})
    assert time.process_time() - started < 2.0
    assert [tool.name for tool in tools] == ["list_notes"]
    assert withheld["hostile"].startswith("its definition cannot be used: ")


PATTERNS = [
    "(?<=a+)b",
    r"(a+)+\1$",
    "(?:a|b)*a(?:a|b){1000}c",
    r"(\w{0,30}a){0,30}c",
    "(?=(a+)+$)b",
    "^(?:a?){50}a{50}$",
]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("length", [40, 1_000, 200_000])
def test_no_pattern_and_text_take_long(pattern: str, length: int) -> None:
    validator = schema_validator({"items": {"pattern": pattern}})
    texts = ["ab" * (length // 2), "a" * length + "!"]
    started = time.process_time()
    for text in texts:
        validator.is_valid([text] * 20)
    assert time.process_time() - started < 4.0


@pytest.mark.parametrize(
    ("pattern", "fitting", "other"),
    [
        (r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$",
         "ann@example.com", "ann@@example.com"),
        (r"^[a-z][a-z0-9-]{0,61}(?<!-)$", "a-b", "a-"),
        (r"^[^\s]{1,255}$", "x" * 255, "x" * 256),
        (r"^[a-zA-Z0-9_-]{1,1000}$", "x" * 1000, "x" * 1001),
        (r"^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$", "QUJD" * 150_000, "QUJD="),
        (r"^\d{4}-\d{2}-\d{2}$", "2026-01-31", "2026-1-31"),
    ],
)  # fmt: skip
def test_ordinary_patterns_work(pattern: str, fitting: str, other: str) -> None:
    validator = schema_validator({"type": "object", "additionalProperties": {"pattern": pattern}})
    assert validator.is_valid({"a": fitting})
    assert not validator.is_valid({"a": other})


def test_a_thousand_rows_with_a_look_ahead_are_checked() -> None:
    validator = schema_validator({"items": {"pattern": r"^(?!\.)[a-z.]+@[a-z.]+$"}})
    assert validator.is_valid(["ann.b@example.com"] * 1_000)


FILTER = {
    "type": "object",
    "properties": {"filter": {"$ref": "#/$defs/filter"}},
    "$defs": {
        "filter": {"anyOf": [{"$ref": "#/$defs/and"}, {"$ref": "#/$defs/or"}, {"type": "string"}]},
        "and": {"type": "object", "properties": {"and": {"type": "array", "items": {"$ref": "#/$defs/filter"}}}},
        "or": {"type": "object", "properties": {"and": {"type": "array", "items": {"$ref": "#/$defs/filter"}}}},
    },
}


def nested(depth: int) -> Any:
    return {"and": [nested(depth - 1)]} if depth else "x"


def test_a_schema_that_grows_with_every_level_is_used_to_the_depth_it_can_be_checked_at() -> None:
    validator = schema_validator(FILTER)
    assert validator.is_valid({"filter": nested(5)})
    _, why = validator.measure({"filter": nested(40)})
    assert why is not None and "deep" in why


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}},
        {"$id": "https://example.com/tree", "$dynamicAnchor": "node",
         "properties": {"children": {"items": {"$dynamicRef": "#node"}}}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"$id": "#a", "type": "string"}},
         "properties": {"x": {"$ref": "#a"}, "y": {"$ref": "#/definitions/a"}}},
        {"$ref": "https://json-schema.org/draft/2020-12/schema"},
        {"properties": {"country": {"enum": [f"c{number}" for number in range(5_000)]}}},
    ],
)  # fmt: skip
def test_ordinary_recursion_and_references_are_used(schema: dict[str, Any]) -> None:
    assert schema_validator(schema).is_valid({})
