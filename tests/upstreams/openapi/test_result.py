"""Good answers as results."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.upstreams.openapi.result import TRUNCATED, Answered, ResultLimits, Unreadable, shape
from support.openapi.documents import THE_SAME

SMALL = ResultLimits(body=1000, items=3, characters=200)


def answered(body: Any, media: str = "application/json", *, whole: bool = True, status: int = 200) -> Answered:
    return Answered(status, media, body if isinstance(body, bytes) else json.dumps(body).encode(), whole)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"a": 1}, {"a": 1}),
        ([1, 2], {"items": [1, 2], "count": 2}),
        ([], {"items": [], "count": 0}),
        ("text", {"value": "text"}),
        (None, {"value": None}),
        (7, {"value": 7}),
    ],
)
def test_any_json_is_a_structured_result(body: Any, expected: Any) -> None:
    result = shape(answered(body), SMALL)
    assert result["structuredContent"] == expected
    assert json.loads(result["content"][0]["text"]) == expected
    assert "_meta" not in result


def test_an_answer_without_content_says_so() -> None:
    result = shape(answered(b"", "", status=204), SMALL)
    assert result == {"content": [{"type": "text", "text": "Done: the service answered 204 without content."}]}


def test_text_is_a_value() -> None:
    assert shape(answered(b"a,b\n1,2\n", "text/csv"), SMALL)["structuredContent"] == {"value": "a,b\n1,2\n"}


@pytest.mark.parametrize("media", ["application/problem+json", "application/geo+json", "text/json", ""])
def test_json_under_other_names_is_json(media: str) -> None:
    assert shape(answered({"a": 1}, media), SMALL)["structuredContent"] == {"a": 1}


def test_lines_of_json_are_collected_and_counted() -> None:
    two = shape(answered(b'{"n":1}\n\n{"n":2}\n', "application/x-ndjson"), SMALL)
    assert two["structuredContent"] == {"items": [{"n": 1}, {"n": 2}], "count": 2}
    five = shape(answered(b"1\n2\n3\n4\n5", "application/x-ndjson"), SMALL)
    assert five["structuredContent"] == {"items": [1, 2, 3], "count": 5, "truncated": True}
    assert TRUNCATED in five["_meta"]


def test_a_stream_cut_short_gives_the_lines_that_were_whole() -> None:
    result = shape(answered(b'{"n":1}\n{"n":2', "application/x-ndjson", whole=False), SMALL)
    assert result["structuredContent"] == {"items": [{"n": 1}], "count": 1, "truncated": True}


def test_lines_are_found_in_a_raw_answer_that_calls_itself_json() -> None:
    body = answered(b'{"n":1}\n{"n":2}\n')
    assert shape(body, SMALL, raw=True)["structuredContent"]["count"] == 2
    with pytest.raises(Unreadable, match="broken JSON"):
        shape(body, SMALL)


@pytest.mark.parametrize(
    ("body", "media", "reason"),
    [
        (b"<html>", "text/html", "text/html, where JSON"),
        (b"{", "application/json", "broken JSON"),
        (b'{"a": NaN}', "application/json", "broken JSON"),
        (b"\xff", "application/json", "broken JSON"),
        (b"{}\n{", "application/x-ndjson", "a line of the response is broken JSON"),
        (b"PNG", "image/png", "image/png"),
        (b"hello", "", "broken JSON"),
        (b"[" * 300 + b"]" * 300, "application/json", "nested too deeply"),
        (b"{}\n" + b"[" * 300 + b"]" * 300, "application/x-ndjson", "nested too deeply"),
    ],
)
def test_what_cannot_be_read_is_named(body: bytes, media: str, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        shape(answered(body, media), SMALL)


def test_json_longer_than_was_read_is_named() -> None:
    with pytest.raises(Unreadable, match="longer than 1000 bytes"):
        shape(answered(b'{"a":', whole=False), SMALL)


def test_the_longest_part_is_cut_and_the_cut_is_marked() -> None:
    result = shape(answered({"total": 99, "rows": list(range(100)), "next": "abc"}), SMALL)
    structured = result["structuredContent"]
    assert structured["total"] == 99
    assert structured["next"] == "abc"
    assert structured["truncated"] is True
    assert 10 < len(structured["rows"]) < 100
    assert structured["rows"] == list(range(len(structured["rows"])))
    assert result["_meta"][TRUNCATED]["length"] > 200


def test_the_mark_stays_out_of_a_result_whose_schema_has_no_room_for_it() -> None:
    result = shape(answered({"rows": list(range(100))}), SMALL, fits=lambda value: set(value) == {"rows"})
    assert set(result["structuredContent"]) == {"rows"}
    assert TRUNCATED in result["_meta"]


def test_the_count_of_a_list_is_that_of_the_whole() -> None:
    structured = shape(answered(["x" * 20] * 50), SMALL)["structuredContent"]
    assert structured["count"] == 50
    assert len(structured["items"]) < 10


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=20), inner, max_size=30),
    max_leaves=60,
)


@THE_SAME
@given(_json)
def test_every_result_is_bounded_and_whole_where_it_is_not_marked(value: Any) -> None:
    result = shape(answered(value), SMALL)
    if "structuredContent" not in result:
        return
    assert len(json.dumps(result["structuredContent"], ensure_ascii=False, separators=(",", ":"))) <= 200 + 30
    if TRUNCATED not in result.get("_meta", {}):
        kept = result["structuredContent"]
        assert kept == value or kept.get("items") == value or kept.get("value") == value
