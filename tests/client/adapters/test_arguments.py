"""What models write as arguments."""

from __future__ import annotations

from typing import Any

import pytest

from assent.client.adapters.toolbox import Checks, read_arguments
from assent.core.outcome import Refusal


@pytest.mark.parametrize(
    ("said", "read"), [('{"a": 1}', {"a": 1}), ("", {}), (" ", {}), (None, {}), ({"a": 1}, {"a": 1})]
)
def test_text_and_objects_are_read(said: Any, read: Any) -> None:
    assert read_arguments(said) == read


WRONG = ["{", "[1]", '"x"', "1", [1], 7, "[" * 100_000, b"\xff"]


@pytest.mark.parametrize("said", WRONG, ids=range(len(WRONG)))
def test_what_is_no_object_is_refused(said: Any) -> None:
    with pytest.raises(Refusal) as refused:
        read_arguments(said)
    assert refused.value.code == "validate.malformed"


def test_what_does_not_fit_is_named_field_by_field() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "to": {"type": "array", "items": {"type": "string"}}},
    }
    with pytest.raises(Refusal) as refused:
        Checks().check("t", schema, {"n": "x", "to": ["a", 2]})
    assert [error["field"] for error in refused.value.facts["errors"]] == ["/n", "/to/1"]
    assert refused.value.detail.startswith('/n: "x" is not of type "integer"')


@pytest.mark.parametrize("schema", [{"type": 5}, {"$ref": "http://127.0.0.1:9/x"}, {"pattern": "("}])
def test_a_schema_that_is_none_is_left_to_the_server(schema: Any) -> None:
    Checks().check("t", schema, {"a": 1})


def test_a_schema_that_changed_is_the_one_that_counts() -> None:
    checks = Checks()
    checks.check("t", {"required": []}, {})
    with pytest.raises(Refusal):
        checks.check("t", {"required": ["a"]}, {})
