"""What is masked in a result leaves it in no form: structured, text, JSON inside text, resources, links."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from assent.rules.guards import build_guard
from assent.rules.guards.masking import mask_result

MAIL, NUMBER = "ann@example.com", 4111111111111111
BY_DETECTOR = {"rule": "personal_data", "kinds": ["email"], "action": "mask"}
BY_FIELD = {"rule": "forbid_fields", "fields": ["mail"], "action": "mask"}
RESULTS: dict[str, dict[str, Any]] = {
    "structured": {"content": [], "structuredContent": {"user": {"mail": MAIL}}},
    "structured and the same text": {
        "content": [{"type": "text", "text": json.dumps({"user": {"mail": MAIL}}, indent=2)}],
        "structuredContent": {"user": {"mail": MAIL}},
    },
    "structured and a sentence": {
        "content": [{"type": "text", "text": f"Write to {MAIL} today."}],
        "structuredContent": {"mail": MAIL},
    },
    "JSON in a text": {"content": [{"type": "text", "text": json.dumps([{"mail": MAIL}])}]},
    "JSON with an escape": {"content": [{"type": "text", "text": '{"mail": "ann\\u0040example.com"}'}]},
    "a name that JSON repeats": {"content": [{"type": "text", "text": f'{{"mail": "{MAIL}", "mail": ""}}'}]},
    "a name that inner JSON repeats thrice": {
        "content": [{"type": "text", "text": f'See {{"u": {{"mail": "{MAIL}", "mail": 1, "mail": []}}, "u": 2}}.'}]
    },
    "JSON behind a sentence": {
        "content": [{"type": "text", "text": f"Found: {json.dumps({'mail': MAIL})} and no more"}]
    },
    "JSON in a text in JSON": {"content": [], "structuredContent": {"raw": json.dumps({"mail": MAIL})}},
    "a named line": {"content": [{"type": "text", "text": f"name: Ann\nmail: {MAIL}\n"}]},
    "an embedded resource": {
        "content": [{"type": "resource", "resource": {"uri": "a://b", "text": json.dumps({"mail": MAIL})}}]
    },
    "an embedded file": {
        "content": [
            {
                "type": "resource",
                "resource": {"uri": "a://b", "blob": base64.b64encode(json.dumps({"mail": MAIL}).encode()).decode()},
            }
        ]
    },
    "a link": {
        "content": [{"type": "resource_link", "uri": "a://b", "name": "x", "description": f"mail: {MAIL}"}],
    },
    "an error": {"content": [{"type": "text", "text": f"mail: {MAIL}"}], "isError": True},
    "metadata": {"content": [], "_meta": {"x": {"mail": MAIL}}},
}


def all_text(result: Any) -> str:
    """The result as text, with base64 decoded."""
    text = json.dumps(result, ensure_ascii=False)
    for part in result.get("content", ()):
        if (blob := part.get("resource", {}).get("blob")) is not None:
            text += base64.b64decode(blob).decode()
    return text.replace("\\u0040", "@")


@pytest.mark.parametrize("options", [BY_DETECTOR, BY_FIELD], ids=["by detector", "by field"])
@pytest.mark.parametrize("name", RESULTS)
def test_nothing_of_it_is_left(name: str, options: dict[str, Any]) -> None:
    masked, count = mask_result(build_guard(options), RESULTS[name])
    assert count >= 1
    assert MAIL not in all_text(masked)


@pytest.mark.parametrize("options", [BY_DETECTOR, BY_FIELD], ids=["by detector", "by field"])
def test_what_holds_nothing_of_it_stays_as_it_is(options: dict[str, Any]) -> None:
    result = {
        "content": [{"type": "text", "text": '{"a":  1}'}, {"type": "image", "data": "aGk=", "mimeType": "image/png"}],
        "structuredContent": {"a": 1, "list": [None, True]},
    }
    assert mask_result(build_guard(options), result) == (result, 0)


def test_a_masked_value_keeps_its_type_and_shape() -> None:
    rule = build_guard({"rule": "forbid_fields", "fields": ["/user", "/list/*/n"], "action": "mask"})
    result = {
        "structuredContent": {"user": {"a": "x", "b": 1.5, "c": True, "d": [None, "y"]}, "list": [{"n": 7, "m": 8}]}
    }
    masked, count = mask_result(rule, result)
    assert masked["structuredContent"] == {
        "user": {"a": "[masked]", "b": 0, "c": False, "d": [None, "[masked]"]},
        "list": [{"n": 0, "m": 8}],
    }
    assert count == 5


def test_a_card_number_as_a_number_and_as_a_name_is_masked() -> None:
    rule = build_guard({"rule": "payment_data", "action": "mask"})
    masked, count = mask_result(
        rule, {"structuredContent": {"card": NUMBER, str(NUMBER): 1, "text": f'{{"c": {NUMBER}}}'}}
    )
    assert count == 3
    assert masked["structuredContent"] == {"card": 0, "[masked: payment card]": 1, "text": '{"c":0}'}


def test_other_content_is_replaced_by_its_kind() -> None:
    rule = build_guard({"rule": "content_types", "types": ["text"], "action": "mask"})
    result = {
        "content": [{"type": "text", "text": "a"}, {"type": "image", "data": "aGk="}],
        "structuredContent": {"b": 1},
    }
    masked, count = mask_result(rule, result)
    assert masked == {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "[masked: image]"}]}
    assert count == 2


@pytest.mark.parametrize("resource", ["x", [1], 7, True, None, {}, {"text": 1}, {"text": "a", "blob": "YQ=="}])
def test_a_resource_that_is_no_text_counts_as_binary(resource: Any) -> None:
    rule = build_guard({"rule": "content_types", "types": ["text", "resource"], "action": "mask"})
    masked, count = mask_result(rule, {"content": [{"type": "resource", "resource": resource}]})
    assert masked == {"content": [{"type": "text", "text": "[masked: binary]"}]} and count == 1


def test_masking_is_repeatable() -> None:
    for options in (BY_DETECTOR, BY_FIELD):
        rule = build_guard(options)
        masked, _ = mask_result(rule, RESULTS["structured and the same text"])
        assert mask_result(rule, masked) == (masked, 0)
