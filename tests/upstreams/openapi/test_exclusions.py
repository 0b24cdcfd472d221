"""Operations without a tool."""

from __future__ import annotations

from typing import Any

import pytest

from support.openapi.documents import api, ok, sending


def reason(method: str = "get", identifier: str = "it", **operation: Any) -> str | None:
    found = api({"/x": {method: {"operationId": identifier, "responses": ok(), **operation}}})
    return found.excluded[0].reason if found.excluded else None


@pytest.mark.parametrize(
    ("media", "words"),
    [
        ("image/png", "image or a tile"),
        ("text/event-stream", "stream of events"),
        ("application/octet-stream", "single structured result"),
        ("application/pdf", "single structured result"),
        ("application/xml", "single structured result"),
        ("text/html", "single structured result"),
    ],
)
def test_what_is_no_single_structured_result_gives_no_tool(media: str, words: str) -> None:
    assert words in (reason(responses=ok({}, media)) or "")


@pytest.mark.parametrize(
    "media",
    [
        "application/json",
        "application/geo+json",
        "application/x-ndjson",
        "text/plain",
        "text/csv",
        "*/*",
        "Application/JSON; charset=utf-8",
    ],
)
def test_what_can_be_shaped_gives_one(media: str) -> None:
    assert reason(responses=ok({}, media)) is None


def test_an_answer_that_may_be_json_gives_one() -> None:
    both = {"200": {"description": "ok", "content": {"image/png": {}, "application/json": {}}}}
    assert reason(responses=both) is None
    assert reason(responses={"204": {"description": "done"}}) is None
    assert reason(responses={}) is None
    assert reason(responses={"default": ok({}, "image/png")["200"]}) is not None


def test_an_untyped_mutation_gives_no_tool() -> None:
    assert "untyped mutation" in (reason("post", requestBody=sending({})) or "")
    assert "untyped mutation" in (reason("post", requestBody={"content": {"application/json": {}}}) or "")
    assert reason("post", requestBody=sending({"type": "object"})) is None
    assert reason("post", requestBody=sending({}), **{"x-side-effect": "read"}) is None
    assert reason("post") is None


def test_a_marked_spend_that_describes_nothing_gives_no_tool() -> None:
    done = {"200": {"description": "done"}}
    for tier in ("destructive", "external_spend"):
        blank = reason("post", responses=done, **{"x-side-effect": tier})
        assert "neither arguments nor a result" in (blank or "")
        assert reason("post", responses=ok({"type": "object"}), **{"x-side-effect": tier}) is None
        assert reason("post", requestBody=sending({"type": "object"}), **{"x-side-effect": tier}) is None
    assert reason("post", responses=done, **{"x-side-effect": "compute"}) is None


def test_a_body_that_cannot_be_written_gives_no_tool() -> None:
    assert "application/zip" in (reason("put", requestBody=sending({}, "application/zip")) or "")
    assert reason("get", requestBody=sending({}, "application/zip", required=False)) is None


@pytest.mark.parametrize("method", ["options", "trace"])
def test_methods_about_the_connection_give_no_tool(method: str) -> None:
    assert method.upper() in (reason(method) or "")


@pytest.mark.parametrize(
    ("side_effect", "raw", "media", "has_tool"),
    [
        ("read", False, None, True),
        ("read", True, None, True),
        ("read", True, "application/json", True),
        ("read", True, "application/geo+json", True),
        ("read", True, "application/x-ndjson", False),
        ("read", True, "application/json; charset=utf-8", True),
        ("read", True, "image/webp", False),
        ("read", True, "text/event-stream", False),
        ("read", True, "application/xml", False),
        ("compute", True, None, False),
        ("compute", True, "application/json", False),
        ("external_spend", True, None, False),
        ("destructive", False, None, True),
        ("share_export", False, "image/png", True),
    ],
)
def test_marks_of_raw_responses_decide_exactly(side_effect: str, raw: bool, media: str | None, has_tool: bool) -> None:
    marks: dict[str, Any] = {"x-side-effect": side_effect, "x-raw-response": raw}
    if media is not None:
        marks["x-output-media-type"] = media
    assert (reason("post", requestBody=sending({}), **marks) is None) is has_tool


@pytest.mark.parametrize(
    ("identifier", "has_tool"),
    [
        ("billing.admin.refund", False),
        ("admin.users", False),
        ("billing.approvals.admin_approve", False),
        ("orders._internal.sync", False),
        ("orders_internal.sync", False),
        ("administrators.list", True),
        ("orders.badmin", True),
        ("internal.list", True),
    ],
)
def test_ids_for_administration_give_no_tool_where_the_author_marks_operations(identifier: str, has_tool: bool) -> None:
    assert (reason(identifier=identifier, **{"x-side-effect": "read"}) is None) is has_tool
    assert reason(identifier=identifier) is None


def test_paths_and_tags_for_administration_give_no_tool_where_the_author_marks_operations() -> None:
    marked = {"operationId": "it", "x-side-effect": "read", "responses": ok()}

    def excluded(path: str, **more: Any) -> str:
        return "; ".join(one.reason for one in api({path: {"get": {**marked, **more}}}).excluded)

    assert "its path has the segment 'admin'" in excluded("/admin/users")
    assert "its path has the segment 'cron'" in excluded("/v1/cron/nightly")
    assert "it has the tag 'Admin'" in excluded("/users", tags=["Admin"])
    assert excluded("/administrators", tags=["badminton"]) == ""
    assert api({"/admin/users": {"get": {"operationId": "it", "responses": ok()}}}).excluded == ()


def test_streams_of_lines_give_no_tool_where_the_author_marks_operations() -> None:
    lines = ok({"type": "object"}, "application/x-ndjson")
    assert "a stream of lines" in (reason("post", responses=lines, **{"x-side-effect": "read"}) or "")
    assert reason("get", responses=lines) is None


def test_every_operation_is_a_tool_or_has_a_reason() -> None:
    found = api(
        {
            "/a": {
                "get": {"operationId": "a", "responses": ok()},
                "post": {"operationId": "b", "requestBody": sending({})},
            },
            "/b": {"$ref": "#/nowhere"},
            "/c": {"get": 7, "parameters": [], "summary": "x"},
            "/d": [],
            "x-more": {"get": {}},
        }
    )
    assert list(found.tools) == ["a"]
    assert [(one.method, one.path) for one in found.excluded] == [
        ("post", "/a"),
        ("any", "/b"),
        ("get", "/c"),
        ("any", "/d"),
    ]
    assert all(one.reason for one in found.excluded)
