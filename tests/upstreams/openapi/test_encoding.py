"""Styles of values."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest

from support.openapi.documents import parameter
from upstreams.openapi.test_request import BASE, tool, written


@pytest.mark.parametrize(
    ("style", "explode", "value", "expected"),
    [
        ("simple", False, "a b", "a%20b"),
        ("simple", False, [3, 4], "3,4"),
        ("simple", False, {"r": 1, "g": 2}, "r,1,g,2"),
        ("simple", True, {"r": 1, "g": 2}, "r=1,g=2"),
        ("label", False, "v", ".v"),
        ("label", True, [3, 4], ".3.4"),
        ("matrix", False, 5, ";id=5"),
        ("matrix", False, [3, 4], ";id=3,4"),
        ("matrix", True, [3, 4], ";id=3;id=4"),
        ("matrix", True, {"r": 1}, ";r=1"),
        ("simple", False, True, "true"),
        ("simple", False, 1.0, "1"),
        ("simple", False, "a,b;c=d", "a%2Cb%3Bc%3Dd"),
    ],
)
def test_path_styles(style: str, explode: bool, value: Any, expected: str) -> None:
    made = tool("/x/{id}", parameters=[parameter("id", "path", {}, style=style, explode=explode)])
    assert written(made, id=value).url == f"{BASE}/x/{expected}"


@pytest.mark.parametrize(
    ("style", "explode", "value", "expected"),
    [
        ("form", True, "a&b=c d+e", "q=a%26b%3Dc%20d%2Be"),
        ("form", True, ["a", "b,c"], "q=a&q=b%2Cc"),
        ("form", False, ["a", "b,c"], "q=a,b%2Cc"),
        ("form", True, {"r": 1, "g": None}, "r=1"),
        ("form", False, {"r": 1, "g": "x"}, "q=r,1,g,x"),
        ("spaceDelimited", False, ["a", "b"], "q=a%20b"),
        ("pipeDelimited", False, ["a", "b|c"], "q=a%7Cb%7Cc"),
        ("deepObject", True, {"a": {"b": 1}, "c": [1, 2]}, "q%5Ba%5D%5Bb%5D=1&q%5Bc%5D=1&q%5Bc%5D=2"),
        ("form", True, [], ""),
        ("form", True, None, ""),
        ("form", True, "", "q="),
        ("form", True, [{"a": 1}], "q=%7B%22a%22%3A1%7D"),
        ("form", True, 1.5, "q=1.5"),
        ("form", True, False, "q=false"),
    ],
)
def test_query_styles(style: str, explode: bool, value: Any, expected: str) -> None:
    made = tool(parameters=[parameter("q", "query", {}, style=style, explode=explode)])
    assert urlsplit(written(made, q=value).url).query == expected


def test_lists_and_objects_in_headers() -> None:
    made = tool(parameters=[parameter("A", "header", {}), parameter("B", "header", {}, explode=True)])
    assert dict(written(made, A=[1, "b"], B={"x": 1, "y": 2}).headers) == {"A": "1,b", "B": "x=1,y=2"}
