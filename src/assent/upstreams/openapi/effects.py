"""The effect of an operation, and the operations that cannot become tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from assent.contract.infer import Inference
from assent.contract.tiers import DEFAULT_RISK, Risk, Tier
from assent.contract.tool_listing import Claims
from assent.upstreams.openapi.arguments import Arguments
from assent.upstreams.openapi.encoding import is_json, is_ndjson, is_shapeable, media_text, successes
from assent.upstreams.openapi.operations import ApiOperation, bare_type

SURE = 0.95
LIKELY = 0.6
_BY_METHOD = {
    "get": Tier.READ,
    "head": Tier.READ,
    "post": Tier.WRITE,
    "put": Tier.WRITE,
    "patch": Tier.WRITE,
    "delete": Tier.DESTRUCTIVE,
}
_TIERS = frozenset(tier.value for tier in Tier)


Infer = Callable[[dict[str, Any]], Inference]


@dataclass(frozen=True, slots=True)
class OperationEffect:
    """The tier of an operation, whether it replaces existing data, its risk if that differs from the tier's, and
    whether it probably reaches external systems.
    """

    tier: Tier
    overwrites: bool = False
    risk: Risk | None = None
    declared: bool = False
    open_world: bool = False


def effect_of(operation: ApiOperation, definition: Mapping[str, Any], infer: Infer | None = None) -> OperationEffect:
    """The author's declaration; otherwise the tier of the method, which an inference may raise and rarely lowers."""
    declared = operation.extensions.get("x-side-effect")
    if isinstance(declared, str) and declared in _TIERS:
        return OperationEffect(Tier(declared), declared=True)
    tier = _BY_METHOD.get(operation.method, Tier.WRITE)
    overwrites = operation.method in ("put", "patch")
    if infer is None:
        return OperationEffect(tier, overwrites)
    estimate = infer(dict(definition))
    refined = _refine_tier(operation.method, tier, estimate)
    overwrites = overwrites and refined is Tier.WRITE
    return OperationEffect(refined, overwrites, _raise_risk(refined, estimate), open_world=estimate.open_world)


def method_claims(method: str) -> Claims:
    """What HTTP says about a method (RFC 9110): safe methods only read, and some may be repeated."""
    reads = _BY_METHOD.get(method) is Tier.READ
    return Claims(read_only=reads or None, idempotent=reads or method in ("put", "delete") or None)


def _refine_tier(method: str, tier: Tier, estimate: Inference) -> Tier:
    """A more severe tier is accepted if likely, for a GET only if sure; a less severe one only for POST, if sure."""
    inferred = Tier(estimate.tier)
    if inferred > tier:
        return inferred if estimate.confidence >= (SURE if tier is Tier.READ else LIKELY) else tier
    return inferred if method == "post" and estimate.confidence >= SURE else tier


def _raise_risk(tier: Tier, estimate: Inference) -> Risk | None:
    """The inferred risk if it is likely and above the tier's own."""
    risk = Risk(estimate.risk)
    return risk if estimate.confidence >= LIKELY and risk > DEFAULT_RISK[tier] else None


_VENDOR = ("x-side-effect", "x-raw-response")


@dataclass(frozen=True, slots=True)
class Excluded:
    """An operation without a tool, and the reason as a sentence."""

    name: str
    method: str
    path: str
    reason: str


_INTERNAL = frozenset({"admin", "cron", "_internal"})


def is_marked(operations: Iterable[ApiOperation]) -> bool:
    """Whether the author marks operations with side effects or raw responses; then the marks decide."""
    return any(word in one.extensions for one in operations for word in _VENDOR)


def exclusion_of(operation: ApiOperation, arguments: Arguments, tier: Tier, *, marked: bool) -> str | None:
    """Why an operation cannot be a tool, or None."""
    if operation.method in ("options", "trace"):
        return f"{operation.method.upper()} concerns the connection, not the service"
    if marked and (inside := _internal_mark(operation)):
        return f"it is for administration or internal use: {inside}"
    if "x-raw-response" in operation.extensions:
        return _raw_reason(operation, tier)
    return (
        (_lines_reason(operation) if marked else None)
        or _response_reason(operation)
        or _body_reason(arguments, tier)
        or (_blank_reason(operation, arguments, tier) if marked else None)
    )


def _internal_mark(operation: ApiOperation) -> str | None:
    """What marks an operation as internal: a segment of its id or of its path, or a tag."""
    if segment := internal_segment(operation.identifier):
        return f"its id has the segment {segment!r}"
    if segment := next((one for one in operation.path.split("/") if one.lower() in _INTERNAL), None):
        return f"its path has the segment {segment!r}"
    tag = next((one for one in operation.tags if one.strip().lower() in _INTERNAL), None)
    return f"it has the tag {tag!r}" if tag else None


def _lines_reason(operation: ApiOperation) -> str | None:
    """The rule for marked documents: an answer in lines is a stream, and a tool gives a single result."""
    lines = [media.type for one in successes(operation) for media in one.media if is_ndjson(media.type)]
    return _media_reason(lines[0]) if lines else None


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
    return None if is_json(media) else _media_reason(media)


def _response_reason(operation: ApiOperation) -> str | None:
    for response in successes(operation):
        if response.media and not any(is_shapeable(media.type) for media in response.media):
            return _media_reason(media_text(response.media))
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
    if is_ndjson(media):
        return f"it answers with a stream of lines ({media}), and a tool gives a single result"
    if media.startswith("image/"):
        return f"it answers with an image or a tile ({media}), not a structured result"
    if "event-stream" in media:
        return f"it answers with a stream of events ({media}), and a tool gives a single result"
    return f"it answers with {media}, which cannot be a single structured result"
