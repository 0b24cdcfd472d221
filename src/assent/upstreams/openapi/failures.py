"""Interprets unsuccessful responses of an HTTP API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from assent.contract.parts import FailureMode
from assent.contract.tiers import Tier
from assent.core.outcome import error_result
from assent.ports import OutcomeUnknown, ToolFailed
from assent.upstreams.openapi.contracts import class_of, status_code, tidy_code
from assent.upstreams.openapi.http import Answered
from assent.upstreams.openapi.media import PROBLEM, is_json

Modes = Mapping[str, FailureMode]

_FACTS = ("errors", "retry_after_ms")
_MOST_TEXT = 2_000
_MOST_ERRORS = 20
_DONE_ELSEWHERE = frozenset({300, 302, 303})


def failed_result(answered: Answered, modes: Modes, *, is_read: bool) -> dict[str, Any]:
    """The result of a failed call; raises ToolFailed for a declared failure, OutcomeUnknown if the effect is
    unknown.
    """
    problem = _problem(answered)
    code = _declared_code(answered, modes)
    if code is not None:
        raise ToolFailed(code, problem["detail"], **{key: problem[key] for key in _FACTS if key in problem})
    if not is_read and _is_unknown(answered.status):
        raise OutcomeUnknown(f"the service answered {answered.status}, and it is not known whether it did anything")
    return error_result(problem)


def unreadable_result(answered: Answered, reason: str) -> dict[str, Any]:
    """The result of a read whose response cannot be read."""
    return error_result(
        {
            "type": "about:blank",
            "title": "The response cannot be read.",
            "status": 502,
            "detail": f"{reason[:1].upper()}{reason[1:]} (status {answered.status}).",
            "code": "unreadable_answer",
        }
    )


def _is_unknown(status: int) -> bool:
    if status < 400:
        return status in _DONE_ELSEWHERE
    return class_of(status, Tier.WRITE) == "unknown"


def _declared_code(answered: Answered, modes: Modes) -> str | None:
    """The declared failure mode of a response: by its code, its type, its status's name, or the only mode of that
    status.
    """
    body = _object(answered)
    candidates = [body.get("code"), str(body.get("type", "")).rstrip("/").rsplit("/", 1)[-1].rsplit("#", 1)[-1]]
    for text in candidates:
        if isinstance(text, str):
            for code in (text, tidy_code(text)):
                if code in modes:
                    return code
    named = status_code(answered.status)
    if named in modes and modes[named].status == answered.status:
        return named
    same = [code for code, mode in modes.items() if mode.status == answered.status]
    return same[0] if len(same) == 1 else None


def _problem(answered: Answered) -> dict[str, Any]:
    """The response as problem details. A body may contain anything, so only the members for people and models pass."""
    body = _object(answered)
    given = body.get("code")
    code = tidy_code(given) if isinstance(given, str) else ""
    problem: dict[str, Any] = {
        "type": _text(body.get("type")) or "about:blank",
        "title": _text(body.get("title")) or status_code(answered.status).replace("_", " ").capitalize() + ".",
        "status": answered.status,
        "detail": _detail(answered, body) or f"The service answered {answered.status}.",
        "code": code or status_code(answered.status),
    }
    errors = body.get("errors") if isinstance(body.get("errors"), list) else body.get("detail")
    if (
        isinstance(errors, list)
        and answered.status < 500
        and len(orjson.dumps(errors[:_MOST_ERRORS])) <= 8 * _MOST_TEXT
    ):
        problem["errors"] = errors[:_MOST_ERRORS]
    if answered.retry_after.isdecimal() and len(answered.retry_after) < 8:
        problem["retry_after_ms"] = int(answered.retry_after) * 1000
    return problem


def _detail(answered: Answered, body: Mapping[str, Any]) -> str:
    if answered.media == PROBLEM:
        return _text(body.get("detail")) or _text(body.get("title"))
    if answered.status >= 500:
        return ""
    if 300 <= answered.status < 400:
        return f"The service answered {answered.status} with a redirect, and redirects are not followed."
    error = body.get("error")
    inner = error.get("message") if isinstance(error, dict) else error
    for text in (body.get("detail"), body.get("message"), inner, body.get("title")):
        if isinstance(text, str):
            return _text(text)
    if isinstance(body.get("detail"), list):
        return _validation_text(body["detail"])
    first = answered.body.decode("utf-8", "replace").strip().splitlines()[:1] if answered.media == "text/plain" else []
    return _text(first[0])[:300] if first else ""


def _validation_text(errors: list[Any]) -> str:
    """Validation errors in the form of a widely used framework: where, and what."""
    found = []
    for one in errors[:_MOST_ERRORS]:
        if isinstance(one, dict) and isinstance(one.get("msg"), str):
            where = one.get("loc")
            place = ".".join(str(part) for part in where) if isinstance(where, list) else ""
            found.append(f"{place}: {one['msg']}" if place else one["msg"])
    return _text("; ".join(found))


def _object(answered: Answered) -> Mapping[str, Any]:
    if not is_json(answered.media) or not answered.whole:
        return {}
    try:
        body = orjson.loads(answered.body)
    except orjson.JSONDecodeError:
        return {}
    return body if isinstance(body, dict) else {}


def _text(value: Any) -> str:
    return value.strip()[:_MOST_TEXT] if isinstance(value, str) else ""
