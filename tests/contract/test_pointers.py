"""JSON pointers find what they name and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from assent.contract.pointers import MISSING, local_target, places, pointer_to, resolve

DOCUMENT: dict[str, Any] = {
    "a": {"b": [10, {"c": "deep"}], "": "empty"},
    "x/y": "slash",
    "m~n": "tilde",
    "~1": "escaped",
    "*": "star",
    "01": "key",
    "null": None,
    "text": "abc",
}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/a/b/0", 10),
        ("/a/b/1/c", "deep"),
        ("/a/", "empty"),
        ("/x~1y", "slash"),
        ("/m~0n", "tilde"),
        ("/~01", "escaped"),
        ("/01", "key"),
        ("/null", None),
        ("/a/b/*", 10),
        ("/a/b/*/c", MISSING),
        ("/a/b/2", MISSING),
        ("/a/b/-1", MISSING),
        ("/a/b/01", MISSING),
        ("/a/b/1.0", MISSING),
        ("/a/b/١", MISSING),
        ("/a/b/" + "9" * 5000, MISSING),
        ("/a/b/x", MISSING),
        ("/text/0", MISSING),
        ("/text/*", MISSING),
        ("/null/x", MISSING),
        ("/none", MISSING),
    ],
)
def test_a_pointer_is_resolved_as_rfc_6901_says(pointer: str, value: Any) -> None:
    assert resolve(DOCUMENT, pointer) is value


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("/items/*/token", ["t1", "t2"]),
        ("/items/*", [{"token": "t1", "tags": ["a"]}, {"token": "t2"}, "loose", None]),
        ("/items/*/tags/*", ["a"]),
        ("/by_name/*", ["one", "two"]),
        ("/by_name/*/x", []),
        ("/none/*", []),
        ("/items/0/token", ["t1"]),
    ],
)
def test_a_star_names_every_item(pointer: str, found: list[Any]) -> None:
    document = {
        "items": [{"token": "t1", "tags": ["a"]}, {"token": "t2"}, "loose", None],
        "by_name": {"*": "one", "b": "two"},
    }
    assert [container[key] for container, key in places(document, pointer)] == found


def test_a_reference_within_a_document_is_followed_by_names_and_indexes() -> None:
    root = {"$defs": {"a/b": [{"type": "string"}], "*": 1}, "of": {"~": {"x": 2}}}
    assert local_target("#/$defs/a~1b/0", root) == {"type": "string"}
    assert local_target("#/$defs/a%7e1b/0/type", root) == "string"
    assert local_target("#/$defs/*", root) == 1  # a name here, not a pattern
    assert local_target("#", root) is root
    for lost in ("#/$defs/a", "#/$defs/a~1b/1", "#/$defs/a~1b/-1", "#name", "other.json#/of", "", None, 7):
        assert local_target(lost, root) is MISSING
    assert local_target("#" + pointer_to(["of", "~", "x"]), root) == 2
