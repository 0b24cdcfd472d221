"""Answers that are not good ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assent.contract.fields import FailureMode
from assent.ports import OutcomeUnknown, ToolFailed
from assent.upstreams.openapi.result import Answered, failed_result

MODES = {
    "card_declined": FailureMode(outcome="no_effect", status=402),
    "card_expired": FailureMode(outcome="no_effect", status=402),
    "sold_out": FailureMode(outcome="no_effect", status=409),
    "not_found": FailureMode(outcome="no_effect", status=404),
}
PROBLEM = "application/problem+json"


def failed(
    status: int, body: Any = b"", media: str = PROBLEM, *, is_read: bool = True, modes: Any = None, retry: str = ""
) -> Any:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return failed_result(Answered(status, media, raw, True, retry), modes or {}, is_read=is_read)


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (402, {"code": "CARD_DECLINED"}, "card_declined"),
        (402, {"type": "https://shop.example/problems/card-expired#card_expired"}, "card_expired"),
        (402, {"type": "https://shop.example/card_declined/"}, "card_declined"),
        (404, {}, "not_found"),
        (409, {"title": "Sold out"}, "sold_out"),
    ],
)
def test_a_declared_failure_is_raised_under_its_code(status: int, body: Any, code: str) -> None:
    with pytest.raises(ToolFailed) as caught:
        failed(status, {**body, "detail": "Why."}, modes=MODES)
    assert (caught.value.code, caught.value.detail) == (code, "Why.")


def test_a_declared_failure_keeps_the_services_own_code_type_and_members() -> None:
    body = {
        "type": "https://shop.example/p/credits",
        "code": "LOW",
        "balance": 12,
        "unit": "credits",
        "remedy": "obey me",
    }
    modes = {"payment_required": FailureMode(outcome="no_effect", status=402)}
    with pytest.raises(ToolFailed) as caught:
        failed(402, {**body, "deep": {"x": 1}, "detail": "Not enough."}, modes=modes)
    assert caught.value.code == "payment_required"
    assert caught.value.facts == {
        "service_code": "low",
        "service_type": "https://shop.example/p/credits",
        "balance": 12,
        "unit": "credits",
    }


def test_further_members_of_a_problem_are_few_and_short_and_none_of_a_crash() -> None:
    many = {f"m{number}": "x" * 1000 for number in range(50)}
    shown = failed(409, many)["structuredContent"]
    own = [value for key, value in shown.items() if key.startswith("m")]
    assert (len(own), {len(value) for value in own}) == (10, {200})
    assert not any(key.startswith("m") for key in failed(500, many)["structuredContent"])


def test_a_failure_that_two_modes_could_be_is_not_guessed() -> None:
    assert failed(402, {"detail": "?"}, modes=MODES)["isError"] is True


def test_an_undeclared_failure_is_an_error_result_with_the_problem() -> None:
    result = failed(
        422, {"type": "urn:x", "title": "Wrong", "detail": "No such colour.", "errors": [{"field": "/colour"}]}
    )
    assert result["isError"] is True
    assert result["content"][0]["text"] == "No such colour."
    assert result["structuredContent"] == {
        "type": "urn:x",
        "title": "Wrong",
        "status": 422,
        "detail": "No such colour.",
        "code": "unprocessable_content",
        "errors": [{"field": "/colour"}],
    }


def test_validation_errors_are_told_field_by_field() -> None:
    body = {"detail": [{"loc": ["body", "amount"], "msg": "must be positive", "type": "x"}]}
    result = failed(422, body, "application/json")
    assert result["structuredContent"]["detail"] == "body.amount: must be positive"
    assert result["structuredContent"]["errors"] == body["detail"]


@pytest.mark.parametrize(
    ("body", "media", "detail"),
    [
        ({"message": "No."}, "application/json", "No."),
        ({"error": "No."}, "application/json", "No."),
        ({"error": {"message": "No."}}, "application/json", "No."),
        (b"No.\nTraceback", "text/plain", "No."),
        (b"<html><h1>Secret host 10.0.0.1</h1>", "text/html", "The service answered 400."),
        (b"{broken", "application/json", "The service answered 400."),
        ([1], "application/json", "The service answered 400."),
        (b"", "", "The service answered 400."),
    ],
)
def test_only_what_is_meant_to_be_read_is_passed_on(body: Any, media: str, detail: str) -> None:
    assert failed(400, body, media)["structuredContent"]["detail"] == detail


def test_what_a_broken_service_says_is_not_passed_on_unless_it_is_a_problem() -> None:
    assert "Traceback" not in json.dumps(failed(500, {"message": "Traceback: secrets.py"}, "application/json"))
    assert "Traceback" not in json.dumps(failed(500, b"Traceback: secrets.py", "text/plain"))
    assert failed(500, {"detail": "Try later."})["structuredContent"]["detail"] == "Try later."


def test_when_to_try_again_is_passed_on() -> None:
    assert failed(429, retry="7")["structuredContent"]["retry_after_ms"] == 7000
    assert "retry_after_ms" not in failed(429, retry="Wed, 21 Oct 2026 07:28:00 GMT")["structuredContent"]


@pytest.mark.parametrize(
    ("status", "lost"),
    [
        (500, True),
        (502, True),
        (503, True),
        (504, True),
        (408, True),
        (303, True),
        (501, False),
        (400, False),
        (409, False),
        (307, False),
    ],
)
def test_whether_anything_happened_is_not_known_after_some_answers(status: int, lost: bool) -> None:
    if lost:
        with pytest.raises(OutcomeUnknown):
            failed(status, is_read=False)
    else:
        assert failed(status, is_read=False)["isError"] is True
    assert failed(status)["isError"] is True


def test_a_declared_server_error_is_a_declared_failure_even_of_a_mutation() -> None:
    with pytest.raises(ToolFailed):
        failed(503, modes={"service_unavailable": FailureMode(outcome="no_effect", status=503)}, is_read=False)


def test_a_failure_whose_body_is_nested_too_deeply_is_judged_by_its_status() -> None:
    body = b'{"detail":"Gone.","errors":[' + b"[" * 300 + b"]" * 300 + b"]}"
    with pytest.raises(ToolFailed):
        failed(404, body, modes=MODES)
    with pytest.raises(OutcomeUnknown):
        failed(500, body, is_read=False)
    assert failed(400, body)["structuredContent"]["detail"] == "The service answered 400."
