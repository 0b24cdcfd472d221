"""Decides which operations get no tool, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from assent.contract.tiers import Tier
from assent.upstreams.openapi.arguments import Arguments
from assent.upstreams.openapi.media import is_json, is_ndjson, is_shapeable, named, successes
from assent.upstreams.openapi.operations import ApiOperation, bare_type

_VENDOR = ("x-side-effect", "x-raw-response")


@dataclass(frozen=True, slots=True)
class Excluded:
    """An operation without a tool, and the reason as a sentence."""

    name: str
    method: str
    path: str
    reason: str


def is_marked(operations: Iterable[ApiOperation]) -> bool:
    """Whether the author marks operations with side effects or raw responses; then the marks decide."""
    return any(word in one.extensions for one in operations for word in _VENDOR)


def exclusion_of(operation: ApiOperation, arguments: Arguments, tier: Tier, *, marked: bool) -> str | None:
    """Why an operation cannot be a tool, or None."""
    if operation.method in ("options", "trace"):
        return f"{operation.method.upper()} concerns the connection, not the service"
    if marked and (segment := internal_segment(operation.identifier)):
        return f"it is for administration or internal use: its id has the segment {segment!r}"
    if "x-raw-response" in operation.extensions:
        return _raw_reason(operation, tier)
    return (
        _response_reason(operation)
        or _body_reason(arguments, tier)
        or (_blank_reason(operation, arguments, tier) if marked else None)
    )


def internal_segment(identifier: str) -> str | None:
    """The segment of an id that marks administration or internal use, or None."""
    for segment in identifier.split("."):
        words = segment.split("_")
        if words[0] == "admin" or "cron" in (words[0], words[-1]) or "_internal" in segment:
            return segment
    return None


def _raw_reason(operation: ApiOperation, tier: Tier) -> str | None:
    """The rule for documents that mark raw responses: only a read that answers with JSON stays."""
    if not operation.extensions["x-raw-response"]:
        return None
    if tier is not Tier.READ:
        return f"it is an untyped mutation: x-raw-response on an operation of tier {tier}"
    declared = operation.extensions.get("x-output-media-type")
    if declared is None:
        return None
    media = bare_type(str(declared))
    return None if is_json(media) or is_ndjson(media) else _media_reason(media)


def _response_reason(operation: ApiOperation) -> str | None:
    for response in successes(operation):
        if response.media and not any(is_shapeable(media.type) for media in response.media):
            return _media_reason(named(response.media))
    return None


def _body_reason(arguments: Arguments, tier: Tier) -> str | None:
    if arguments.unwritable:
        return f"its body must be {arguments.unwritable}, which cannot be written from arguments"
    if arguments.untyped and tier is not Tier.READ:
        return "it is an untyped mutation: its body has no schema, so a person could not see what they approve"
    return None


def _blank_reason(operation: ApiOperation, arguments: Arguments, tier: Tier) -> str | None:
    """The rule for marked documents: what spends or destroys says what it takes or what it returns."""
    described = arguments.slots or any(media.schema is not None for one in successes(operation) for media in one.media)
    if described or tier not in (Tier.DESTRUCTIVE, Tier.EXTERNAL_SPEND):
        return None
    return f"it is an untyped mutation: an operation of tier {tier} that describes neither arguments nor a result"


def _media_reason(media: str) -> str:
    if media.startswith("image/"):
        return f"it answers with an image or a tile ({media}), not a structured result"
    if "event-stream" in media:
        return f"it answers with a stream of events ({media}), and a tool gives a single result"
    return f"it answers with {media}, which cannot be a single structured result"
