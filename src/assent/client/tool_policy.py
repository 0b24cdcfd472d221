"""What does a client hold a listed tool to, and must a person be asked before it is called?

A trusted server is taken at its word: its contract in `_meta`, then its tier there, then its hints. What an untrusted
server says can only raise the guard that inference puts up without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import mcp_types as types

from assent.contract.tiers import DEFAULT_RISK, Risk, Tier
from assent.contract.wire import CONTRACT_KEY, Claims, read_claims
from assent.infer import Inference, classify
from assent.upstreams.compiled_tools import CONFIDENT, judge

TIER_KEY = "x-side-effect"
ASKED = frozenset({Tier.SHARE_EXPORT, Tier.EXTERNAL_SPEND, Tier.DESTRUCTIVE})
Source = Literal["contract", "tier", "hints", "inference", "caller"]
_GRAVITY = (Tier.READ, Tier.COMPUTE, Tier.WRITE, Tier.SHARE_EXPORT, Tier.EXTERNAL_SPEND, Tier.DESTRUCTIVE)
_TIERS, _RISKS = frozenset(map(str, Tier)), frozenset(map(str, Risk))


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """The tier and risk a tool is held to, whether it asks, and where that was read."""

    tier: Tier
    risk: Risk
    asks: bool
    source: Source
    open_world: bool
    idempotent: bool = False
    contract: Mapping[str, Any] = field(default_factory=dict)
    """The published contract of a trusted server; empty where there is none or it is not believed."""

    @property
    def forbidden(self) -> bool:
        return self.risk is Risk.FORBIDDEN


def needs_confirmation(tool: types.Tool | Mapping[str, Any], *, trusted: bool = True) -> bool:
    """Whether a person must be asked before this tool is called.

    The tier is read from `_meta`, from the hints where there is none, and inferred where there is nothing. With
    `trusted=False` what the definition says of itself can only raise the guard.
    """
    return policy_of(tool, trusted=trusted).asks


def policy_of(tool: types.Tool | Mapping[str, Any], *, trusted: bool) -> ToolPolicy:
    """What a tool is held to, by its own definition."""
    definition = as_definition(tool)
    inference, claims, meta = classify(definition), read_claims(definition), _meta(definition)
    return _believed(inference, claims, meta) if trusted else _guarded(inference, claims, meta)


def as_definition(tool: types.Tool | Mapping[str, Any]) -> dict[str, Any]:
    """The definition in wire form."""
    if isinstance(tool, types.Tool):
        return tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(tool, Mapping):
        return dict(tool)
    raise TypeError(f"a tool is an mcp Tool or a mapping in wire form, not {type(tool).__name__}")


def declared_as(tier: Tier | str, tool: types.Tool | Mapping[str, Any]) -> ToolPolicy:
    """What a tool is held to where the caller's own configuration says its tier."""
    tier = Tier(tier)
    claims = read_claims(as_definition(tool))
    return ToolPolicy(tier, DEFAULT_RISK[tier], tier in ASKED, "caller", claims.effective("open_world"))


def _believed(inference: Inference, claims: Claims, meta: Mapping[str, Any]) -> ToolPolicy:
    contract, open_world = _contract(meta), _reach(claims, inference)
    if contract is not None:
        tier = Tier(contract["tier"])
        risk = _risk(contract.get("risk")) or DEFAULT_RISK[tier]
        natural = _part(contract, "idempotency").get("recovery") == "natural"
        return ToolPolicy(tier, risk, _contract_asks(contract, risk), "contract", open_world, natural, contract)
    named = _tier(meta.get(TIER_KEY))
    if named is not None:
        return ToolPolicy(named, DEFAULT_RISK[named], named in ASKED, "tier", open_world, bool(claims.idempotent))
    hinted = _hinted(claims, inference)
    if hinted is not None:
        return ToolPolicy(hinted, DEFAULT_RISK[hinted], hinted in ASKED, "hints", open_world, bool(claims.idempotent))
    return _inferred(inference, open_world, bool(claims.idempotent))


def _guarded(inference: Inference, claims: Claims, meta: Mapping[str, Any]) -> ToolPolicy:
    """Inference, raised by whatever the definition admits."""
    base = _inferred(inference, inference.open_world or claims.open_world is True, False)
    contract = _contract(meta)
    admitted = [base.tier, _hinted(claims, inference), _tier(meta.get(TIER_KEY)), _tier((contract or {}).get("tier"))]
    tier = max((one for one in admitted if one is not None), key=_GRAVITY.index)
    said = _risk((contract or {}).get("risk")) or Risk.LOW
    risk = max(base.risk, said, DEFAULT_RISK[tier], key=lambda one: one.number)
    asks = base.asks or tier in ASKED or (contract is not None and _contract_asks(contract, risk))
    return ToolPolicy(tier, risk, asks, "inference" if tier is base.tier else "hints", base.open_world)


def _inferred(inference: Inference, open_world: bool, idempotent: bool) -> ToolPolicy:
    tier, risk = judge(inference, Claims(), trusted=False)
    asks = tier in ASKED or risk.number >= Risk.HIGH.number
    return ToolPolicy(tier, risk, asks, "inference", open_world, idempotent)


def _hinted(claims: Claims, inference: Inference) -> Tier | None:
    """The tier that hints amount to: seed 000's table read backwards; None where they say nothing of effects.

    A mutation that says it is not destructive but reaches outside spends where repeating is said to be safe, and
    shares otherwise. One that does not say whether it reaches outside is what a confident inference says, or a write.
    """
    if claims.destructive:
        return Tier.DESTRUCTIVE
    if claims.read_only:
        return Tier.READ
    if claims.destructive is None:
        return None if claims.read_only is None else Tier.DESTRUCTIVE
    if claims.open_world:
        return Tier.EXTERNAL_SPEND if claims.idempotent else Tier.SHARE_EXPORT
    inferred = Tier(inference.tier)
    reaches = claims.open_world is None and inference.confidence >= CONFIDENT
    return inferred if reaches and inferred in (Tier.SHARE_EXPORT, Tier.EXTERNAL_SPEND) else Tier.WRITE


def _contract_asks(contract: Mapping[str, Any], risk: Risk) -> bool:
    """Whether the contract has a person asked before every call, as `Contract.asked_by` has it."""
    by = contract.get("confirmation")
    if by not in ("none", "host", "user", "approver"):
        return risk.number >= Risk.HIGH.number or _tier(contract.get("tier")) in ASKED
    autonomous = contract.get("autonomous")
    if not isinstance(autonomous, bool):
        autonomous = risk.number < Risk.HIGH.number
    return by == "host" or (by != "none" and not autonomous)


def _contract(meta: Mapping[str, Any]) -> Mapping[str, Any] | None:
    said = meta.get(CONTRACT_KEY)
    return said if isinstance(said, Mapping) and _tier(said.get("tier")) is not None else None


def _part(contract: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    said = contract.get(name)
    return said if isinstance(said, Mapping) else {}


def _meta(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    said = definition.get("_meta", definition.get("meta"))
    return said if isinstance(said, Mapping) else {}


def _tier(said: Any) -> Tier | None:
    return Tier(said) if isinstance(said, str) and said in _TIERS else None


def _risk(said: Any) -> Risk | None:
    return Risk(said) if isinstance(said, str) and said in _RISKS else None


def _reach(claims: Claims, inference: Inference) -> bool:
    return inference.open_world if claims.open_world is None else claims.open_world
