"""Only plain JSON and real JSON Schemas are taken, and nothing is fetched."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from assent.contract.documents import plain_copy, schema_validator


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def test_a_reference_outside_is_refused_without_a_connection(listener: socket.socket) -> None:
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/schema.json"
    inner = {"properties": {"a": {"$ref": f"{url}#/x"}}}
    for schema in ({"$ref": url}, inner, {"$schema": url}, {"$dynamicRef": url}):
        with pytest.raises(ValueError, match="which is outside the document; references are not fetched"):
            schema_validator(schema)
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_references_within_the_document_and_to_the_metaschema_are_followed() -> None:
    assert schema_validator({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}).is_valid("x")
    own = {
        "$id": "https://example.com/own",
        "$ref": "https://example.com/own#/$defs/a",
        "$defs": {"a": {"type": "null"}},
    }
    assert not schema_validator(own).is_valid("x")
    assert schema_validator({"$ref": "https://json-schema.org/draft/2020-12/schema"}).is_valid({"type": "string"})


def test_older_drafts_are_read_as_what_they_say_they_are() -> None:
    draft = {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]}
    assert not schema_validator(draft).is_valid([1])


def test_the_place_of_a_fault_in_a_schema_is_named() -> None:
    with pytest.raises(ValueError, match="at /properties/a/type"):
        schema_validator({"properties": {"a": {"type": "strin"}}})


@pytest.mark.parametrize("value", [5, None, "x", [], True])
def test_only_an_object_is_copied(value: Any) -> None:
    with pytest.raises(ValueError, match="an object is expected"):
        plain_copy(value)


def test_a_copy_shares_nothing_with_the_original() -> None:
    original: dict[str, Any] = {"a": [{"b": (1, 2)}]}
    copied = plain_copy(original)
    assert copied == {"a": [{"b": [1, 2]}]}
    original["a"][0]["b"] = 5
    assert copied == {"a": [{"b": [1, 2]}]}


def test_keys_keep_their_order() -> None:
    assert list(plain_copy({"z": 1, "a": 2})) == ["z", "a"]


def test_a_short_value_is_accepted_unmeasured_only_within_the_bounds_of_its_schema() -> None:
    nested: Any = "x"
    for _ in range(300):
        nested = [nested]
    assert schema_validator({"type": "array"}).accepts_short([["x"]])
    assert not schema_validator({"type": "array"}).accepts_short(nested)  # as deep as no measured value may be
    assert not schema_validator({"type": "array"}).accepts_short(["x" * 2_000])
    assert not schema_validator({"type": "array"}).accepts_short([2**70])
    assert not schema_validator({"type": "array"}).is_valid(nested)
    assert schema_validator({"type": "array"}).is_valid(["x" * 2_000])
