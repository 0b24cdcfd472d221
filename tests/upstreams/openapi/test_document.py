"""Reading text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.contract.yaml_document import write_yaml
from assent.upstreams.openapi.document import DocumentError, check_root, parse_text
from support.openapi.documents import THE_SAME


def test_json_and_yaml_say_the_same() -> None:
    value = {"openapi": "3.1.0", "paths": {"/a": {"get": {"responses": {"200": {"description": "ok"}}}}}}
    assert parse_text(json.dumps(value)) == value
    assert parse_text(write_yaml(value)) == value


def test_yaml_has_only_the_types_of_json() -> None:
    text = """
    enum: [yes, no, on, off, 2024-01-01, 12:30, 07x, ~, true, 1e3, 1.5]
    responses: {200: {description: ok}}
    """
    assert parse_text(text) == {
        "enum": ["yes", "no", "on", "off", "2024-01-01", "12:30", "07x", None, True, 1000.0, 1.5],
        "responses": {"200": {"description": "ok"}},
    }


def test_yaml_aliases_and_merges_are_written_out() -> None:
    parsed = parse_text("a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}\n")
    assert parsed == {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2}}
    assert parsed["a"] is not parsed["b"]
    several = parse_text("a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b], z: 3}\n")
    assert several["c"] == {"x": 1, "y": 2, "z": 3}
    with pytest.raises(DocumentError, match="a merge key needs a mapping"):
        parse_text("a: {<<: 1}")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1, "a": 2}', "duplicate key 'a' in an object"),
        ("a: 1\na: 2\n", "api.yaml:2: a is declared twice. The first is on line 1: keep one"),
        ('200: x\n"200": y\n', "api.yaml:2: 200 is declared twice"),
        ('{"a": NaN}', "not a number"),
        ('{"a": 1e999}', "not a JSON value"),
        ('{"a": ', "not valid JSON"),
        ("a: [", "not valid YAML"),
        (
            "a: !!python/object:os.system {}",
            "api.yaml:1: the tag tag:yaml.org,2002:python/object:os",
        ),
        ("a: !!binary aGk=", "the tag tag:yaml.org,2002:binary is not supported"),
        ("&a [*a]", "a has no complete anchor before it"),
        ("[" * 5000, "not valid JSON|nested deeper"),
        ("[" * 300 + "]" * 300, "nested deeper"),
        ("? [a]\n: 1\n", "a key is not plain text"),
    ],
)
def test_what_cannot_be_used_is_named(text: str, reason: str) -> None:
    with pytest.raises(DocumentError, match=reason):
        parse_text(text, "api.yaml")


def test_a_small_text_that_unfolds_without_end_is_refused() -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(DocumentError, match="more than 2000000 values, aliases counted"):
        parse_text("\n".join(lines))


def test_limits_of_64_bit_integers_become_numbers_with_a_canonical_form() -> None:
    assert parse_text('{"maximum": 9223372036854775807}') == {"maximum": 9.223372036854775807e18}
    with pytest.raises(DocumentError):
        parse_text('{"maximum": 1' + "0" * 400 + "}")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([], "not an object"),
        ({"swagger": "2.0"}, "Swagger 2.0"),
        ({}, "no `openapi` version"),
        ({"openapi": "4.0.0"}, "'4.0.0'"),
        ({"openapi": "3.0.3", "paths": []}, "`paths` must be an object"),
    ],
)
def test_a_document_of_another_kind_is_refused_with_what_it_is(value: object, reason: str) -> None:
    with pytest.raises(DocumentError, match=reason):
        check_root(value)


def test_an_unquoted_version_is_understood() -> None:
    assert check_root(parse_text("openapi: 3.1\n"))["openapi"] == 3.1


@THE_SAME
@given(st.text(max_size=200))
def test_no_text_does_anything_but_parse_or_be_refused(text: str) -> None:
    try:
        json.dumps(parse_text(text), allow_nan=False)
    except DocumentError as error:
        assert error.faults[0].message
