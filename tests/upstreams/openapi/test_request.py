"""Requests as they are written, read back by a server's own decoding."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from starlette.requests import cookie_parser
from starlette.routing import compile_path

from assent.errors import SettingsError
from assent.upstreams.openapi.document import Unresolved
from assent.upstreams.openapi.encoding import Unsendable
from assent.upstreams.openapi.request import OpenApiRequest, check_base, read_template, write_request
from assent.upstreams.openapi.tools import ApiTool
from support.openapi.documents import THE_SAME, api, ok, parameter, sending

BASE = "http://127.0.0.1:9000/api"
_paths = ["/x/{id}", "/x/{id}/y", "/{id}", "/x/{id}.json", "/a{id}b/c", "/{id}{other}"]
_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    [
        "..",
        ".",
        "%2e%2e",
        "%2F",
        "..%2f",
        "a/../b",
        "\\..",
        "?x=1",
        "#f",
        "//evil.example",
        "@evil.example",
        "\r\nX: 1",
        ";",
        "\0",
    ]
)


def tool(path: str = "/x", method: str = "get", **operation: Any) -> ApiTool:
    found = api({path: {method: {"operationId": "it", "responses": ok(), **operation}}})
    assert not found.excluded, found.excluded
    return found.tools["it"]


def written(made: ApiTool, **arguments: Any) -> OpenApiRequest:
    return write_request(BASE, made.operation.method, made.template, made.arguments, arguments, ())


def query(made: ApiTool, **arguments: Any) -> list[tuple[str, str]]:
    return parse_qsl(urlsplit(written(made, **arguments).url).query, keep_blank_values=True, strict_parsing=True)


def is_risky(value: str) -> bool:
    """Whether there is any reason not to send a path value."""
    decoded = unquote(unquote(value))
    dots = not set(decoded.partition(";")[0]) - {"."}
    return not value or dots or any(c in "/\\\x7f" or c < " " for c in decoded)


@THE_SAME
@given(st.sampled_from(_paths), _text, _text)
def test_a_path_value_arrives_as_it_was_or_nothing_is_sent(path: str, value: str, other: str) -> None:
    made = tool(path)
    arguments = {"id": value, "other": other} if "{other}" in path else {"id": value}
    try:
        url = written(made, **arguments).url
    except Unsendable:
        assert is_risky(value) or is_risky(other)
        return
    parts = urlsplit(url)
    assert (parts.scheme, parts.netloc, parts.query, parts.fragment) == ("http", "127.0.0.1:9000", "", "")
    decoded = unquote(parts.path)
    assert decoded == "/api" + path.replace("{id}", value).replace("{other}", other)
    pattern, _, converters = compile_path("/api" + path)
    match = pattern.fullmatch(decoded)
    assert match
    assert "".join(converters[name].convert(text) for name, text in match.groupdict().items()) == "".join(
        arguments.values()
    )


@THE_SAME
@given(st.sampled_from(_paths[:-1]), _text)
def test_no_value_reaches_another_path(path: str, value: str) -> None:
    try:
        url = written(tool(path), id=value).url
    except Unsendable:
        return
    segments = urlsplit(url).path.split("/")
    assert len(segments) == len(("/api" + path).split("/"))
    for segment in segments[1:]:
        for text in (segment, unquote(segment), unquote(unquote(segment))):
            assert set(text) != {"."}
        assert segment
        assert "/" not in unquote(segment)


@pytest.mark.parametrize(
    "value",
    [
        "",
        ".",
        "..",
        "...",
        "a/b",
        "a\\b",
        "%2e%2e",
        "..;",
        "..;a=1",
        "%2e.%3Bx",
        "a%2Fb",
        "..%252fb",
        "a%5cb",
        "a%00",
        "a\x00",
        "a\nb",
        None,
        [],
        {},
        [".."],
        ["a", ""],
    ],
)
def test_what_could_leave_its_segment_is_refused(value: Any) -> None:
    with pytest.raises(Unsendable):
        written(tool("/x/{id}", "delete"), id=value)


def test_two_values_may_not_climb_together() -> None:
    with pytest.raises(Unsendable):
        written(tool("/x/{a}{b}"), a=".", b=".")


@THE_SAME
@given(st.dictionaries(_text, _text, max_size=4), st.lists(_text, max_size=4), _text)
def test_query_values_arrive_as_they_were(fields: dict[str, str], items: list[str], text: str) -> None:
    made = tool(
        parameters=[
            parameter("deep", "query", {"type": "object"}, style="deepObject"),
            parameter("many", "query", {"type": "array"}),
            parameter("one [&=?]", "query"),
        ]
    )
    expected = [(f"deep[{key}]", value) for key, value in fields.items()]
    expected += [("many", item) for item in items] + [("one [&=?]", text)]
    assert query(made, deep=fields, many=items, one=text) == expected


def test_an_object_that_is_spread_out_cannot_set_other_parameters() -> None:
    parameters = [
        parameter("filter", "query", {"type": "object"}),
        parameter("limit", "query"),
        parameter("api_key", "query"),
    ]
    schemes = {"k": {"type": "apiKey", "in": "query", "name": "API_KEY"}}
    found = api(
        {"/x": {"get": {"operationId": "it", "parameters": parameters, "responses": ok()}}},
        components={"securitySchemes": schemes},
    )
    made = found.tools["it"]
    assert query(made, filter={"a": "1"}, limit="2") == [("a", "1"), ("limit", "2")]
    for name in ("limit", "api_key", "API_KEY", "filter"):
        with pytest.raises(Unsendable, match="name of another parameter"):
            written(made, filter={name: "9"})


def test_a_value_declared_as_a_document_is_sent_as_one() -> None:
    content = {"name": "q", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}}
    assert query(tool(parameters=[content]), q={"b": [1, "x"], "a": None}) == [("q", '{"a":null,"b":[1,"x"]}')]


@THE_SAME
@given(_text)
def test_a_header_value_is_one_line_or_nothing_is_sent(value: str) -> None:
    made = tool(parameters=[parameter("X-Trace", "header")])
    try:
        sent = dict(written(made, **{"X-Trace": value}).headers)
    except Unsendable:
        assert not value.isascii() or not value.isprintable() or value != value.strip()
        return
    assert sent == {"X-Trace": value}
    assert all(" " <= c <= "~" or c == "\t" for c in value)


@THE_SAME
@given(_text)
def test_a_cookie_stays_one_cookie(value: str) -> None:
    sent = dict(written(tool(parameters=[parameter("theme", "cookie")]), theme=value).headers)
    assert {name: unquote(text) for name, text in cookie_parser(sent["Cookie"]).items()} == {"theme": value}


def test_the_same_arguments_are_the_same_bytes() -> None:
    made = tool("/x", "put", requestBody=sending({"type": "object", "properties": {"a": {}, "b": {}}}))
    one = written(made, a=1.0, b={"y": 1, "x": [2]})
    assert one == written(made, b={"x": [2], "y": 1}, a=1)
    assert one.body == b'{"a":1,"b":{"x":[2],"y":1}}'
    assert one.headers == (("Content-Type", "application/json"),)


def test_an_argument_nobody_declared_is_not_sent_anywhere() -> None:
    with pytest.raises(Unsendable, match="no argument 'admin'"):
        written(tool(), admin=True)
    with pytest.raises(Unsendable, match="id is required"):
        written(tool("/x/{id}"))


def test_a_checked_field_cannot_be_given_under_its_unchecked_name() -> None:
    body = {"type": "object", "properties": {"is admin": {"const": False}}, "additionalProperties": True}
    made = tool("/x", "post", requestBody=sending(body))
    assert written(made, is_admin=False, colour="red").body == b'{"colour":"red","is admin":false}'
    with pytest.raises(Unsendable):
        written(made, **{"is admin": True})


def test_a_body_is_sent_only_where_there_is_one() -> None:
    loose = sending({"type": "object", "properties": {"a": {}}}, required=False)
    assert written(tool("/x", "post", requestBody=loose)) == OpenApiRequest("POST", f"{BASE}/x", ())
    needed = sending({"type": "object", "properties": {"a": {}}})
    assert written(tool("/x", "post", requestBody=needed)).body == b"{}"
    whole = sending({"type": "array"}, required=False)
    assert written(tool("/x", "post", requestBody=whole)).body == b""
    assert written(tool("/x", "post", requestBody=whole), body=[]).body == b"[]"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("x", "does not begin with a slash"),
        ("@evil.example/x", "does not begin with a slash"),
        ("http://evil.example/x", "does not begin with a slash"),
        ("/x?a=1", "query"),
        ("/x#a", "fragment"),
        ("/x/../y", "or a backslash"),
        ("/x/%2e%2e/y", "or a backslash"),
        ("/x\\y", "or a backslash"),
        ("/x/{id", "not closed"),
        ("/x/{a{b}}", "not closed"),
    ],
)
def test_a_path_that_could_lead_elsewhere_gives_no_tool(path: str, reason: str) -> None:
    with pytest.raises(Unresolved, match=reason):
        read_template(path)
    assert [one.path for one in api({path: {"get": {"responses": ok()}}}).excluded] == [path]


@THE_SAME
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_no_path_of_a_document_decides_the_host(path: str) -> None:
    assume("{" not in path)
    try:
        template = read_template(path)
    except Unresolved:
        return
    parts = urlsplit(check_base("http://127.0.0.1:9000") + template.fill({}))
    assert (parts.scheme, parts.netloc, parts.query, parts.fragment) == ("http", "127.0.0.1:9000", "", "")
    assert parts.path.isascii()
    assert parts.path.isprintable()


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a",
        "//a",
        "a.example",
        "http://",
        "http://u:p@a",
        "http://a?x=1",
        "http://a#f",
        "http://a b",
        "http://a\\b",
    ],
)
def test_an_address_must_be_one(url: str) -> None:
    with pytest.raises(SettingsError):
        check_base(url)


def test_bodies_of_any_json_come_back() -> None:
    made = tool("/x", "post", requestBody=sending({"type": "array"}))
    value = [1, "é", None, {"a": [True]}]
    assert json.loads(written(made, body=value).body) == value
