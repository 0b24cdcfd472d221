"""Makes tool results of HTTP responses, successful and failed ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from assent.contract.fields import FailureMode
from assent.contract.tiers import Tier
from assent.core.problems import error_result
from assent.mcp.jsonrpc import is_too_deep
from assent.ports import OutcomeUnknown, ToolFailed
from assent.upstreams.openapi.contracts import class_of, status_code, tidy_code
from assent.upstreams.openapi.encoding import PROBLEM, is_json, is_ndjson, is_text

TRUNCATED = "dev.assent/truncated"
_LEAST = 16


@dataclass(frozen=True, slots=True)
class Answered:
    """A whole response, or the part of it that was read."""

    status: int
    media: str
    body: bytes
    whole: bool = True
    retry_after: str = ""


@dataclass(frozen=True, slots=True)
class ResultLimits:
    """How much of a response is read, how many lines become items, and how long a result may be."""

    body: int = 8 * 1024 * 1024
    items: int = 500
    characters: int = 60_000


class Unreadable(Exception):
    """A successful response that cannot be read; the message says what is wrong with it."""


def shape(
    answered: Answered, bounds: ResultLimits, *, raw: bool = False, fits: Callable[[Any], bool] = lambda _: True
) -> dict[str, Any]:
    """The result of a successful call; raises Unreadable. With `raw`, any JSON response may be lines of JSON."""
    if not answered.body.strip():
        return {"content": [{"type": "text", "text": f"Done: the service answered {answered.status} without content."}]}
    structured, cut = _parse(answered, bounds, raw)
    length = len(orjson.dumps(structured))
    if length > bounds.characters:
        structured, cut = _shorten(structured, bounds.characters)[0], True
    if not cut:
        return result_of(structured)
    marked = {**structured, "truncated": True}
    return {**result_of(marked if fits(marked) else structured), "_meta": {TRUNCATED: {"length": length}}}


def result_of(structured: dict[str, Any]) -> dict[str, Any]:
    """Structured content with its text form."""
    text = orjson.dumps(structured).decode()
    return {"content": [{"type": "text", "text": text}], "structuredContent": structured}


def _parse(answered: Answered, bounds: ResultLimits, raw: bool) -> tuple[dict[str, Any], bool]:
    media = answered.media
    if is_ndjson(media):
        return _items(answered, bounds)
    if is_text(media):
        return {"value": answered.body.decode("utf-8", "replace")}, not answered.whole
    if media and not is_json(media):
        raise Unreadable(f"the service answered with {media[:80]}, where JSON was expected")
    if not answered.whole:
        raise Unreadable(f"the response is longer than {bounds.body} bytes; ask for less")
    try:
        return _wrap(_json(answered.body)), False
    except orjson.JSONDecodeError:
        if raw and b"\n" in answered.body.strip():
            return _items(answered, bounds)
        raise Unreadable("the service answered with broken JSON") from None


def _json(text: bytes) -> Any:
    value = orjson.loads(text)
    if is_too_deep(text, value):
        raise Unreadable("the service answered with JSON that is nested too deeply")
    return value


def _wrap(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    return {"items": value, "count": len(value)} if isinstance(value, list) else {"value": value}


def _items(answered: Answered, bounds: ResultLimits) -> tuple[dict[str, Any], bool]:
    """Lines of JSON, counted as far as they were read; every line must be JSON, except a last one that was cut."""
    lines = [line for line in answered.body.split(b"\n") if line.strip()]
    if not answered.whole:
        lines = lines[:-1]
    try:
        items = [_json(line) for line in lines]
    except orjson.JSONDecodeError:
        raise Unreadable("a line of the response is broken JSON") from None
    cut = not answered.whole or len(items) > bounds.items
    return {"items": items[: bounds.items], "count": len(items)}, cut


def _shorten(value: Any, room: int) -> tuple[Any, int]:
    """Shorten a value to about the given length: lists and texts lose their ends, small parts stay. Returns its
    length too.
    """
    length = len(orjson.dumps(value))
    if length <= room:
        return value, length
    if isinstance(value, str):
        clipped = value[: max(room - 3, 0)] + "…"
        while len(orjson.dumps(clipped)) > max(room, _LEAST):
            clipped = clipped[: len(clipped) // 2] + "…"
        return clipped, len(orjson.dumps(clipped))
    if isinstance(value, list):
        return _shorten_list(value, room)
    if isinstance(value, dict):
        return _shorten_object(value, room)
    return value, length


def _shorten_list(value: list[Any], room: int) -> tuple[list[Any], int]:
    kept: list[Any] = []
    used = 2
    for item in value:
        length = len(orjson.dumps(item)) + 1
        if used + length > room:
            break
        kept.append(item)
        used += length
    if not kept and value and room > _LEAST:
        first, length = _shorten(value[0], room - 3)
        return [first], length + 2
    return kept, used


def _shorten_object(value: dict[str, Any], room: int) -> tuple[dict[str, Any], int]:
    """Give each part the room that smaller ones leave; a part without room is dropped."""
    lengths = {key: len(orjson.dumps(item)) for key, item in value.items()}
    left, waiting, kept = room - 2, len(value), {}
    for key in sorted(value, key=lengths.__getitem__):
        share = left // waiting - len(orjson.dumps(key)) - 2
        waiting -= 1
        if share <= 0:
            continue
        kept[key], length = _shorten(value[key], share)
        left -= length + len(orjson.dumps(key)) + 2
    return {key: kept[key] for key in value if key in kept}, room - left


Modes = Mapping[str, FailureMode]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_OURS = frozenset({"remedy", "retryable", "failure", "approval", "approval_url", "missing_permissions", "instance"})
"""Members that only Assent writes, and the address of one occurrence."""
_MOST_MEMBERS = 10
_MOST_VALUE = 200
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
        raise ToolFailed(code, problem["detail"], **_facts(problem, code))
    if not is_read and _is_unknown(answered.status):
        raise OutcomeUnknown(f"the service answered {answered.status}, and it is not known whether it did anything")
    return error_result(problem)


def _facts(problem: Mapping[str, Any], code: str) -> dict[str, Any]:
    """The members of the service's problem that a declared failure keeps beside its declared code."""
    kept = {key: value for key, value in problem.items() if key not in ("type", "title", "status", "detail", "code")}
    if problem["type"] != "about:blank":
        kept["service_type"] = problem["type"]
    return kept | ({"service_code": problem["code"]} if problem["code"] != code else {})


def _own_members(body: Mapping[str, Any], taken: Mapping[str, Any]) -> dict[str, Any]:
    """The further members of a problem, such as `balance`: numbers, truth values and short texts."""
    own = {key: value for key, value in body.items() if key not in taken and key not in _OURS and _NAME.fullmatch(key)}
    plain = {key: value for key, value in own.items() if isinstance(value, int | float | str)}
    short = {key: value[:_MOST_VALUE] if isinstance(value, str) else value for key, value in plain.items()}
    return dict(list(short.items())[:_MOST_MEMBERS])


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
    if answered.media == PROBLEM and answered.status < 500:
        problem |= _own_members(body, problem)
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
        body = _json(answered.body)
    except (orjson.JSONDecodeError, Unreadable):
        return {}
    return body if isinstance(body, dict) else {}


def _text(value: Any) -> str:
    return value.strip()[:_MOST_TEXT] if isinstance(value, str) else ""
