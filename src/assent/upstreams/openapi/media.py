"""Media types that a tool can accept and return."""

from __future__ import annotations

from collections.abc import Iterable

from assent.upstreams.openapi.operations import ApiOperation, ApiResponse, Body, Media

FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
PROBLEM = "application/problem+json"
_NDJSON = frozenset({"application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"})
_TEXT = frozenset({"text/plain", "text/csv", "text/markdown"})
_ANY = frozenset({"*/*", "application/*"})


def is_json(media: str) -> bool:
    """Whether a body of that type is one JSON document."""
    return media in ("application/json", "text/json") or (media.startswith("application/") and media.endswith("+json"))


def is_ndjson(media: str) -> bool:
    """Whether a body of that type is one JSON document per line."""
    return media in _NDJSON


def is_text(media: str) -> bool:
    """Whether a body of that type is text that is passed on unchanged."""
    return media in _TEXT


def is_shapeable(media: str) -> bool:
    """Whether a body of that type can be a single structured result."""
    return is_json(media) or is_ndjson(media) or is_text(media) or media in _ANY


def successes(operation: ApiOperation) -> tuple[ApiResponse, ...]:
    """The declared responses of a successful call."""
    found = tuple(one for one in operation.responses if one.status.startswith("2"))
    return found or tuple(one for one in operation.responses if one.status == "DEFAULT")


def request_media(body: Body) -> Media | None:
    """The media type for a request: the first that keeps types best, or None if none can be written."""
    for fits in (is_json, FORM.__eq__, MULTIPART.__eq__, _ANY.__contains__, "text/plain".__eq__):
        for media in body.media:
            if fits(media.type):
                return media
    return None


def accepted(operation: ApiOperation) -> str:
    """The `Accept` header: declared types that can be read, JSON first, and problems."""
    offered = [media.type for response in successes(operation) for media in response.media if is_shapeable(media.type)]
    declared = operation.extensions.get("x-output-media-type")
    if isinstance(declared, str) and is_shapeable(declared.partition(";")[0].strip().lower()):
        offered.insert(0, declared.partition(";")[0].strip().lower())
    named = [one for one in dict.fromkeys(offered) if one not in _ANY]
    ordered = sorted(named, key=lambda one: not is_json(one)) or ["application/json"]
    return ", ".join([*ordered, f"{PROBLEM};q=0.9"])


def named(media: Iterable[Media]) -> str:
    """Media types as text for people."""
    return ", ".join(dict.fromkeys(one.type for one in media))
