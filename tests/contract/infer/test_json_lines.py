"""Reading definitions from JSON lines and writing inferences."""

import json
from collections.abc import Iterator

import pytest

from assent.contract.infer import classify, classify_lines, read_definitions
from assent.errors import FaultsError


def names(lines: list[str]) -> list[str]:
    return [json.loads(line)["name"] for line in classify_lines(lines)]


def test_each_line_gives_one_object_in_the_same_order() -> None:
    assert names(['{"name": "get_boat"}\n', "\n", '{"name": "delete_boat"}\n']) == ["get_boat", "delete_boat"]


def test_an_object_has_the_promised_keys() -> None:
    (line,) = classify_lines(['{"name": "get_boat"}'])
    expected = "name tier risk read_only destructive overwrites open_world confidence reasons labels"
    assert " ".join(json.loads(line)) == expected
    assert json.loads(line) == classify({"name": "get_boat"}).as_json()


def test_a_line_is_answered_before_the_next_one_comes() -> None:
    def arriving() -> Iterator[str]:
        yield '{"name": "get_boat"}'
        raise AssertionError("read too far")

    assert json.loads(next(classify_lines(arriving())))["name"] == "get_boat"


@pytest.mark.parametrize(
    "document",
    [
        '{"tools": [{"name": "a"}, {"name": "b"}]}',
        '{\n  "tools": [\n    {"name": "a"},\n    {"name": "b"}\n  ]\n}\n',
        '{"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "a"}, {"name": "b"}]}}',
        '[{"name": "a"},\n {"name": "b"}]',
    ],
)
def test_a_list_of_tools_is_understood_as_well(document: str) -> None:
    assert names(document.splitlines(keepends=True)) == ["a", "b"]


def test_each_line_may_be_a_page_of_the_list() -> None:
    pages = ['{"tools": [{"name": "a"}, {"name": "b"}], "nextCursor": "2"}\n', '{"tools": [{"name": "c"}]}\n']
    assert names([*pages, '{"name": "d"}\n', '[{"name": "e"}]\n']) == ["a", "b", "c", "d", "e"]


def test_a_single_definition_over_many_lines_is_understood() -> None:
    assert names(["{\n", '"name": "a"\n', "}\n"]) == ["a"]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["nonsense"], "line 1 is not JSON"),
        (['{"name": "a"}', "", "nonsense"], "line 3 is not JSON"),
        (['{"name": "a"}', "3"], "line 2 is not a JSON object"),
        (["3"], "line 1 is not a JSON object"),
        (['{"name": "a"}', '{"title": "b"}'], "line 2 has no name"),
        (['{"name": ""}'], "line 1 has no name"),
        (['{"tools": [{"name": "a"}, 7]}'], "tool 2 is not a JSON object"),
        (['{"tools": []}', '{"tools": [{"name": "a"}, {}]}'], "line 2, tool 2 has no name"),
        (['{"tools": [', '{"title": "a"}]}'], "tool 1 has no name"),
        (["[" * 100_000], "line 1 is not JSON"),
    ],
)
def test_a_bad_line_is_named_with_the_remedy(lines: list[str], problem: str) -> None:
    with pytest.raises(FaultsError, match=problem) as caught:
        list(classify_lines(lines))
    assert "one tool definition per line" in str(caught.value)


def test_empty_input_gives_no_output() -> None:
    assert list(classify_lines(["\n", " \n"])) == []


def test_annotations_count_when_trusted() -> None:
    line = '{"name": "frobnicate", "annotations": {"readOnlyHint": true}}'
    assert [json.loads(one)["read_only"] for one in classify_lines([line], trust_annotations=True)] == [True]


def test_unprintable_characters_are_escaped() -> None:
    (line,) = classify_lines(['{"name": "get_\\ud800"}'])
    assert line.isascii()


@pytest.mark.parametrize("text", ['{"tools": []}', '{"result": {"tools": []}}', "[]"])
def test_a_server_without_tools_has_none(text: str) -> None:
    assert list(read_definitions([text])) == []
