"""YAML is read as plain JSON, under bounds, with the line of everything."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.contract.yaml_document import MOST_DEPTH, MOST_VALUES, YamlDocument
from assent.errors import FaultsError
from support.suite.hypothesis_profile import json_values, steady


def refused(text: str) -> str:
    with pytest.raises(FaultsError) as caught:
        YamlDocument(text, "f.yaml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1", {"a": 1}),
        ("a: -7", {"a": -7}),
        ("a: 1.5", {"a": 1.5}),
        ("a: 1e3", {"a": 1000.0}),
        ("a: 0x1F", {"a": 31}),
        ("a: 0o17", {"a": 15}),
        ("a: 010", {"a": 10}),
        ("a: true", {"a": True}),
        ("a: False", {"a": False}),
        ("a: ~", {"a": None}),
        ("a:", {"a": None}),
        ("a: null", {"a": None}),
        ("a: 'null'", {"a": "null"}),
        ('a: "1"', {"a": "1"}),
        ("a: no", {"a": "no"}),
        ("a: NO", {"a": "NO"}),
        ("a: on", {"a": "on"}),
        ("a: none", {"a": "none"}),
        ("a: 1:30", {"a": "1:30"}),
        ("a: 2025-12-31", {"a": "2025-12-31"}),
        ("a: 2025-12-31T23:59:00Z", {"a": "2025-12-31T23:59:00Z"}),
        ("a: 1_000", {"a": "1_000"}),
        ("a: =", {"a": "="}),
        ("a: !!str 5", {"a": "5"}),
        ("a: |\n  two\n  lines\n", {"a": "two\nlines\n"}),
        ("1: x", {"1": "x"}),
        ("true: x", {"true": "x"}),
        ("2025-01-01: x", {"2025-01-01": "x"}),
        ("a: &x [1, 2]\nb: *x", {"a": [1, 2], "b": [1, 2]}),
        ("[]", []),
        ("", None),
    ],
)
def test_every_value_is_plain_json_as_yaml_1_2_reads_it(text: str, value: Any) -> None:
    assert YamlDocument(text).value == value


PRINTABLE = st.text(st.sampled_from([*map(chr, range(0x20, 0x7F)), "é", "漢", "😀", "\n", "\t"]), max_size=12)


@steady
@given(st.dictionaries(PRINTABLE, json_values(PRINTABLE, text=PRINTABLE), max_size=5), st.booleans())
def test_json_is_read_as_json_says_it(value: dict[str, Any], ascii_only: bool) -> None:
    assert YamlDocument(json.dumps(value, ensure_ascii=ascii_only)).value == value


@pytest.mark.parametrize(
    ("path", "line"),
    [((), 1), (("a",), 2), (("a", 1), 4), (("a", 1, "b"), 4), (("c",), 5), (("c", "d", "none"), 6), (("none",), 1)],
)
def test_a_path_is_found_on_its_line_or_on_that_of_what_encloses_it(path: tuple[Any, ...], line: int) -> None:
    document = YamlDocument("# top\na:\n  - 1\n  - b: 2\nc:\n  d: 3\n", "f.yaml")
    expected = 2 if path in ((), ("none",)) else line
    assert document.locate(path) == ("f.yaml", expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &x\n  b: *x\n", "f.yaml:2: *x has no complete anchor before it"),
        ("a: &x [*x]", "f.yaml:1: *x has no complete anchor before it"),
        ("a: &x 1\nb: &x [*x]", "f.yaml:2: *x has no complete anchor before it"),
        ("a: *none", "f.yaml:1: *none has no complete anchor before it"),
        ("a: 1\nb: {<<: {c: 1}}", "f.yaml:2: merge keys are not supported. Repeat the fields"),
        ("? [a]\n: b", "f.yaml:1: a key is not plain text"),
        ("? {a: 1}\n: b", "f.yaml:1: a key is not plain text"),
        (
            "a: !!python/object/apply:os.system [ls]",
            "f.yaml:1: the tag tag:yaml.org,2002:python/object/apply:os.system",
        ),
        ("a: !!binary aGk=", "f.yaml:1: the tag tag:yaml.org,2002:binary is not supported. Remove it"),
        ("a: !!set {x}", "f.yaml:1: the tag tag:yaml.org,2002:set is not supported"),
        ("a: !own x", "f.yaml:1: the tag !own is not supported"),
        ("a: .nan", "f.yaml:1: .nan cannot be written in JSON"),
        ("a: -.inf", "f.yaml:1: -.inf cannot be written in JSON"),
        ("a: 1e999", "f.yaml:1: 1e999 cannot be written in JSON"),
        ("a: 1\n---\nb: 2\n", "f.yaml:2: a second document begins here. Put each into a file of its own"),
        ("a: 1\na: 2\n", "f.yaml:2: a is declared twice. The first is on line 1: keep one"),
        ("a: {b: 1,\n b: 2}", "f.yaml:2: a: b is declared twice. The first is on line 1: keep one"),
        ("a: 'open", "f.yaml:1: not valid YAML: found unexpected end of stream"),
        ("a:\n\tb: 1", "f.yaml:2: not valid YAML: it is indented with a tab. Use spaces"),
        ("a: \x07", "f.yaml: not valid YAML: "),
        ("a: \ud800", "f.yaml: not valid YAML: "),
    ],
)
def test_what_has_no_meaning_in_json_is_refused_with_its_line(text: str, message: str) -> None:
    assert refused(text).startswith(message)


def test_depth_is_bounded_however_it_is_reached() -> None:
    YamlDocument("[" * MOST_DEPTH + "]" * MOST_DEPTH)
    deep = "f.yaml:1: nested deeper than 64 levels"
    assert refused("[" * (MOST_DEPTH + 2) + "]" * (MOST_DEPTH + 2)).startswith(deep)
    assert refused("[" * 100_000).startswith(deep)
    assert refused("{a: " * 100_000).startswith(deep)
    chain = "\n".join(f"a{n}: &a{n} [[[[[[[[*a{n - 1}]]]]]]]]" for n in range(1, 12))
    assert "nested deeper than 64 levels" in refused(f"a0: &a0 1\n{chain}\n")


def test_aliases_are_counted_as_if_they_were_written_out() -> None:
    bomb = "a0: &a0 x\n" + "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 40))
    assert f"more than {MOST_VALUES} values, aliases counted" in refused(bomb)


def test_the_number_of_values_is_bounded() -> None:
    assert len(YamlDocument("[" + "1," * 5000 + "]").value) == 5000
    assert f"more than {MOST_VALUES} values" in refused("[" + "1," * MOST_VALUES + "]")


def test_a_number_of_many_digits_is_only_text() -> None:
    assert YamlDocument("a: " + "9" * 10_000).value == {"a": "9" * 10_000}


def test_duplicates_can_be_gathered_for_whoever_reports_more() -> None:
    document = YamlDocument("a: 1\na: 2\n", "f.yaml", gather=True)
    assert document.value == {"a": 1}
    assert [fault.line for fault in document.faults] == [2]


def test_a_json_file_is_called_one() -> None:
    with pytest.raises(FaultsError, match=r"tools\.json:2: not valid JSON"):
        YamlDocument('{"a": [', "tools.json")


@pytest.mark.parametrize(
    ("file", "text", "named"),
    [
        ("a.json", "{", "not valid JSON:"),
        ("a.yaml", "{", "not valid YAML:"),
        ("standard input", "{", "not valid JSON or YAML:"),
        ("standard input", " [", "not valid JSON or YAML:"),
        ("standard input", "a: [", "not valid YAML:"),
    ],
)
def test_what_cannot_be_read_is_called_what_its_writer_calls_it(file: str, text: str, named: str) -> None:
    with pytest.raises(FaultsError, match=named):
        YamlDocument(text, file)
