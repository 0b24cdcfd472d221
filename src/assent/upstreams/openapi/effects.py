"""Effects of operations: declared by the author, implied by the method, or inferred."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from assent.contract.tiers import DEFAULT_RISK, Risk, Tier
from assent.contract.wire import Claims
from assent.upstreams.openapi.operations import ApiOperation

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


class EffectEstimate(Protocol):
    """The inferred effect of a tool."""

    @property
    def tier(self) -> str: ...
    @property
    def risk(self) -> str: ...
    @property
    def confidence(self) -> float: ...
    @property
    def open_world(self) -> bool: ...


Infer = Callable[[dict[str, Any]], EffectEstimate]


@dataclass(frozen=True, slots=True)
class Effect:
    """The tier of an operation, whether it replaces existing data, its risk if that differs from the tier's, and
    whether it probably reaches external systems.
    """

    tier: Tier
    overwrites: bool = False
    risk: Risk | None = None
    declared: bool = False
    open_world: bool = False


def effect_of(operation: ApiOperation, definition: Mapping[str, Any], infer: Infer | None = None) -> Effect:
    """The author's declaration; otherwise the tier of the method, which an inference may raise and rarely lowers."""
    declared = operation.extensions.get("x-side-effect")
    if isinstance(declared, str) and declared in _TIERS:
        return Effect(Tier(declared), declared=True)
    tier = _BY_METHOD.get(operation.method, Tier.WRITE)
    overwrites = operation.method in ("put", "patch")
    if infer is None:
        return Effect(tier, overwrites)
    estimate = infer(dict(definition))
    refined = _refine_tier(operation.method, tier, estimate)
    overwrites = overwrites and refined is Tier.WRITE
    return Effect(refined, overwrites, _raise_risk(refined, estimate), open_world=estimate.open_world)


def method_claims(method: str) -> Claims:
    """What HTTP says about a method (RFC 9110): safe methods only read, and some may be repeated."""
    reads = _BY_METHOD.get(method) is Tier.READ
    return Claims(read_only=reads or None, idempotent=reads or method in ("put", "delete") or None)


def _refine_tier(method: str, tier: Tier, estimate: EffectEstimate) -> Tier:
    """A more severe tier is accepted if likely, for a GET only if sure; a less severe one only for POST, if sure."""
    inferred = Tier(estimate.tier)
    if inferred > tier:
        return inferred if estimate.confidence >= (SURE if tier is Tier.READ else LIKELY) else tier
    return inferred if method == "post" and estimate.confidence >= SURE else tier


def _raise_risk(tier: Tier, estimate: EffectEstimate) -> Risk | None:
    """The inferred risk if it is likely and above the tier's own."""
    risk = Risk(estimate.risk)
    return risk if estimate.confidence >= LIKELY and risk > DEFAULT_RISK[tier] else None
