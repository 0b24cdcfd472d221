"""Effects of operations: what the author says, what the method means, and what can be inferred."""

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
_WEIGHT = {tier: weight for weight, tier in enumerate(Tier)}


class EffectEstimate(Protocol):
    """What a tool probably does."""

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
    """The tier of an operation, whether it replaces what was there, its risk where that is not the tier's, and whether
    it probably reaches systems outside."""

    tier: Tier
    overwrites: bool = False
    risk: Risk | None = None
    declared: bool = False
    open_world: bool = False


def effect_of(operation: ApiOperation, definition: Mapping[str, Any], infer: Infer | None = None) -> Effect:
    """The author's own word; otherwise the method's meaning, which an inference may raise and seldom lowers."""
    said = operation.extensions.get("x-side-effect")
    if isinstance(said, str) and said in _TIERS:
        return Effect(Tier(said), declared=True)
    tier = _BY_METHOD.get(operation.method, Tier.WRITE)
    overwrites = operation.method in ("put", "patch")
    if infer is None:
        return Effect(tier, overwrites)
    guess = infer(dict(definition))
    refined = _refined(operation.method, tier, guess)
    overwrites = overwrites and refined is Tier.WRITE
    return Effect(refined, overwrites, _raised(refined, guess), open_world=guess.open_world)


def method_claims(method: str) -> Claims:
    """What HTTP itself says of a method (RFC 9110): a safe one only reads, and some may be repeated."""
    reads = _BY_METHOD.get(method) is Tier.READ
    return Claims(read_only=reads or None, idempotent=reads or method in ("put", "delete") or None)


def _refined(method: str, tier: Tier, guess: EffectEstimate) -> Tier:
    """A heavier tier is believed if it is likely, of a GET if it is sure; a lighter one only of POST, if it is sure."""
    inferred = Tier(guess.tier)
    if _WEIGHT[inferred] > _WEIGHT[tier]:
        return inferred if guess.confidence >= (SURE if tier is Tier.READ else LIKELY) else tier
    return inferred if method == "post" and guess.confidence >= SURE else tier


def _raised(tier: Tier, guess: EffectEstimate) -> Risk | None:
    """The inferred risk where it is likely and above the tier's own."""
    risk = Risk(guess.risk)
    return risk if guess.confidence >= LIKELY and risk.number > DEFAULT_RISK[tier].number else None
