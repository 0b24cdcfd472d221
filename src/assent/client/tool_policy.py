"""The policy of a listed tool: what it may do, what it costs, and whether a person confirms it."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import mcp_types as types

from assent.contract.infer import Inference, classify
from assent.contract.profiles import HINTS, profile
from assent.contract.tiers import DEFAULT_RISK, Risk, Tier
from assent.contract.tool_listing import CONTRACT_KEY, Claims, read_claims
from assent.core.estimates import estimate_names
from assent.upstreams.compiled_tools import CONFIDENT, judge

TIER_KEY = "x-side-effect"
ASKED = frozenset(tier for tier in Tier if tier >= Tier.SHARE_EXPORT)
Source = Literal["contract", "tier", "hints", "inference", "caller"]
_TIERS, _RISKS = frozenset(map(str, Tier)), frozenset(map(str, Risk))


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """Tier and risk of a tool, whether it asks, and the source of that."""

    tier: Tier
    risk: Risk
    asks: bool
    source: Source
    open_world: bool
    idempotent: bool = False
    contract: Mapping[str, Any] = field(default_factory=dict)
    """The published contract of a trusted server; empty if there is none or it is invalid."""

    @property
    def forbidden(self) -> bool:
        return self.risk is Risk.FORBIDDEN


def needs_confirmation(
    tool: types.Tool | Mapping[str, Any], *, trusted: bool = True, profile: str | None = None
) -> bool:
    """Whether a person must be asked before this tool is called.

    The tier comes from `_meta`, else from the hints, else from inference. With `trusted=False` the definition can only
    make the policy stricter. `profile` names the table by which a trusted server writes its hints.
    """
    return policy_of(tool, trusted=trusted, profile=profile).asks


def policy_of(tool: types.Tool | Mapping[str, Any], *, trusted: bool, profile: str | None = None) -> ToolPolicy:
    """Return the policy of a tool from its own definition."""
    definition = as_definition(tool)
    inference, claims, meta = classify(definition), read_claims(definition), _meta(definition)
    if not trusted:
        return _policy_if_untrusted(inference, claims, meta)
    return _policy_if_trusted(inference, claims, meta, profile)


def as_definition(tool: types.Tool | Mapping[str, Any]) -> dict[str, Any]:
    """Return the definition in wire form."""
    if isinstance(tool, types.Tool):
        return tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(tool, Mapping):
        return dict(tool)
    raise TypeError(f"a tool is an mcp Tool or a mapping in wire form, not {type(tool).__name__}")


def declared_as(tier: Tier | str, tool: types.Tool | Mapping[str, Any]) -> ToolPolicy:
    """Return the policy of a tool whose tier the caller configured."""
    tier = Tier(tier)
    claims = read_claims(as_definition(tool))
    return ToolPolicy(tier, DEFAULT_RISK[tier], tier in ASKED, "caller", claims.effective("open_world"))


def _policy_if_trusted(
    inference: Inference, claims: Claims, meta: Mapping[str, Any], written_by: str | None
) -> ToolPolicy:
    contract = _contract(meta)
    open_world = inference.open_world if claims.open_world is None else claims.open_world
    if contract is not None:
        tier = Tier(contract["tier"])
        risk = _risk(contract.get("risk")) or DEFAULT_RISK[tier]
        natural = _part(contract, "idempotency").get("recovery") == "natural"
        return ToolPolicy(tier, risk, _contract_asks(contract, risk), "contract", open_world, natural, contract)
    named = _tier(meta.get(TIER_KEY))
    if named is not None:
        return ToolPolicy(named, DEFAULT_RISK[named], named in ASKED, "tier", open_world, bool(claims.idempotent))
    hinted = _tier_by_profile(claims, written_by) if written_by else None
    hinted = hinted or _tier_from_hints(claims, inference)
    if hinted is not None:
        return ToolPolicy(hinted, DEFAULT_RISK[hinted], hinted in ASKED, "hints", open_world, bool(claims.idempotent))
    return _policy_from_inference(inference, open_world, bool(claims.idempotent))


def _policy_if_untrusted(inference: Inference, claims: Claims, meta: Mapping[str, Any]) -> ToolPolicy:
    """Return the inferred policy, made stricter by what the definition admits."""
    base = _policy_from_inference(inference, inference.open_world or claims.open_world is True, False)
    contract = _contract(meta)
    admitted = [
        base.tier,
        _tier_from_hints(claims, inference),
        _tier(meta.get(TIER_KEY)),
        _tier((contract or {}).get("tier")),
    ]
    tier = max(one for one in admitted if one is not None)
    value = _risk((contract or {}).get("risk")) or Risk.LOW
    risk = max(base.risk, value, DEFAULT_RISK[tier])
    asks = base.asks or tier in ASKED or (contract is not None and _contract_asks(contract, risk))
    return ToolPolicy(tier, risk, asks, "inference" if tier is base.tier else "hints", base.open_world)


def _policy_from_inference(inference: Inference, open_world: bool, idempotent: bool) -> ToolPolicy:
    tier, risk = judge(inference, Claims(), trusted=False)
    asks = tier in ASKED or risk >= Risk.HIGH
    return ToolPolicy(tier, risk, asks, "inference", open_world, idempotent)


def _tier_by_profile(claims: Claims, name: str) -> Tier | None:
    """Return the tier whose row in the profile's table has these hints; None if no row has them.

    If several rows do, the hints do not tell these tiers apart. The mildest of them counts, and a write before a
    computation.
    """
    fitting = [
        Tier(tier)
        for tier, row in profile(name).rows.items()
        if tier != "overwrites"
        and all(cell.declared or getattr(claims, hint) is cell.value for hint, cell in zip(HINTS, row, strict=True))
    ]
    return Tier.WRITE if Tier.WRITE in fitting else min(fitting, default=None)


def _tier_from_hints(claims: Claims, inference: Inference) -> Tier | None:
    """Return the tier that the hints describe, or None if they say nothing about effects.

    A mutation that is not destructive but reaches outside is a spend if it is idempotent, else a share. If
    openWorldHint is absent, a confident inference decides, else it is a write.
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
    """Whether the contract requires a question before every call, as in `Contract.asked_by`."""
    by = contract.get("confirmation")
    if by not in ("none", "host", "user", "approver"):
        return risk >= Risk.HIGH or _tier(contract.get("tier")) in ASKED
    autonomous = contract.get("autonomous")
    if not isinstance(autonomous, bool):
        autonomous = risk < Risk.HIGH
    return by == "host" or (by != "none" and not autonomous)


def _contract(meta: Mapping[str, Any]) -> Mapping[str, Any] | None:
    value = meta.get(CONTRACT_KEY)
    return value if isinstance(value, Mapping) and _tier(value.get("tier")) is not None else None


def _part(contract: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = contract.get(name)
    return value if isinstance(value, Mapping) else {}


def _meta(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    value = definition.get("_meta", definition.get("meta"))
    return value if isinstance(value, Mapping) else {}


def _tier(value: Any) -> Tier | None:
    return Tier(value) if isinstance(value, str) and value in _TIERS else None


def _risk(value: Any) -> Risk | None:
    return Risk(value) if isinstance(value, str) and value in _RISKS else None


@dataclass(slots=True)
class Budget:
    """A number of calls per number of seconds; calls beyond it need a confirmation."""

    calls: int = 100
    per: float = 3_600.0
    _taken: deque[float] = field(default_factory=deque, repr=False)

    def __post_init__(self) -> None:
        if self.calls < 0 or self.per <= 0:
            raise ValueError("a budget is a number of calls, 0 or more, per a number of seconds above 0")

    def take(self, now: float) -> bool:
        """Count one more call if it is within the budget, and return whether it is."""
        while self._taken and self._taken[0] <= now - self.per:
            self._taken.popleft()
        if len(self._taken) >= self.calls:
            return False
        self._taken.append(now)
        return True


_NUMBER = re.compile(r"-?\d[\d_,]*(?:\.\d+)?")


def estimate_of(name: str, standing: ToolPolicy, listed: Container[str]) -> str | None:
    """Return the tool that estimates a call of `name`: the one in the contract, or a sibling by name."""
    said = standing.contract.get("estimate")
    if isinstance(said, str):
        return said if said in listed else None
    return next((sibling for sibling in estimate_names(name) if sibling in listed and sibling != name), None)


def same_price(one: str | None, other: str) -> bool:
    """Whether two prices have the same number and no different currency."""
    first, second = (_NUMBER.search(text or "") for text in (one, other))
    if first is None or second is None or first.group() != second.group():
        return False
    money, other_money = ("".join(_parts(text or "")[1].split()) for text in (one, other))
    return not money or not other_money or money == other_money


def at_most(price: str | None, agreed: str | None) -> bool:
    """Whether a price is at most the agreed one, in the same currency; incomparable prices must be equal."""
    if price == agreed:
        return True
    if price is None or agreed is None:
        return False
    (one, money), (other, agreed_money) = _parts(price), _parts(agreed)
    return one is not None and other is not None and money == agreed_money and 0 <= one <= other


def _parts(price: str) -> tuple[float | None, str]:
    """Return the number and the text around it."""
    found = _NUMBER.search(price)
    if found is None or "," in found.group():
        return None, price  # a comma is a decimal point in some countries
    return float(found.group()), price[: found.start()] + price[found.end() :]
