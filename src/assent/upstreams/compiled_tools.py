"""Tools of upstreams taken into the catalogue, under a written contract or an inferred one.

An upstream's annotations are claims. They never make a tool less guarded than a confident inference does, unless the
upstream is trusted or a contract says so. A guess in turn never lowers a host's guard: the hints of an inferred tool
are no laxer than the upstream's own, unless the operator trusts its annotations or chose a profile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from assent.contract.model import Contract
from assent.contract.profiles import Profile
from assent.contract.reader import read_contract
from assent.contract.tiers import DEFAULT_RISK, Risk, Tier
from assent.contract.wire import Claims, read_claims
from assent.core.tool import Tool, compile_tool
from assent.errors import ContractError
from assent.infer import Inference, classify
from assent.infer.page_views import is_view
from assent.upstreams.tasks import ONLY_AS_A_TASK, plain_definition

CONFIDENT = 0.8
_BLANKET = 3
NO_CONTRACT = "it has no contract"
"""Why a tool is withheld where contracts are not inferred."""


@dataclass(frozen=True, slots=True)
class UpstreamPolicy:
    """On which terms the tools of one upstream are taken in."""

    upstream: str
    profile: Profile
    prefix: str = ""
    trust: Literal["inference", "annotations"] = "inference"
    without_contract: Literal["infer", "error", "withhold"] = "infer"
    safe_names: bool = False
    has_test: bool = False
    historic_names: bool = False
    visibility: str | None = None
    """The visibility of tools whose contract says nothing of it; default: as the profile has it."""
    chosen: bool = False
    """Whether the operator chose the profile, rather than leaving it at the default."""

    @property
    def vouched(self) -> bool:
        """Whether the operator vouches for the hints that are derived from guesses."""
        return self.chosen or self.trust == "annotations"

    def canonical(self, name: str) -> str:
        """The name on our wire."""
        full = self.prefix + name
        return full.replace(".", "_") if self.safe_names else full


@dataclass(frozen=True, slots=True)
class CompiledTools:
    """The tools of one upstream under contract, and the withheld ones with the reason."""

    tools: tuple[Tool, ...]
    withheld: Mapping[str, str]


def compile_tools(
    definitions: Sequence[Mapping[str, Any]],
    contracts: Mapping[str, Contract],
    terms: UpstreamPolicy,
    unaccepted: Mapping[str, str] | None = None,
    *,
    blanket: bool | None = None,
) -> CompiledTools:
    """Put every definition under the contract written for it, or one inferred; what cannot be is withheld.

    `unaccepted` holds the upstream's names of definitions that nobody has accepted as they are, with the reason.
    `blanket` says whether the upstream marks all its tools destructive; by default it is read from the definitions.
    """
    tools: list[Tool] = []
    withheld: dict[str, str] = {}
    if blanket is None:
        blanket = marks_all_destructive(definitions)
    for definition in definitions:
        name = definition.get("name")
        if not isinstance(name, str):
            continue
        canonical = terms.canonical(name)
        if unaccepted and name in unaccepted:
            withheld[canonical] = unaccepted[name]
            continue
        definition, plain = plain_definition(definition)
        if not plain:
            withheld[canonical] = ONLY_AS_A_TASK
            continue
        try:
            written = contracts.get(canonical)
            contract = written or _inferred(canonical, definition, terms, blanket=blanket)
            if contract is None:
                withheld[canonical] = NO_CONTRACT
                continue
            tools.append(
                compile_tool(
                    contract,
                    profile=terms.profile,
                    upstream=terms.upstream,
                    wire_name=name,
                    definition=definition,
                    has_test=terms.has_test,
                    historic_names=terms.historic_names,
                    open_world=contract.open_world is None and classify(definition).open_world,
                    visibility=terms.visibility,
                    claims=None if written or terms.vouched else read_claims(definition),
                )
            )
        except ContractError as error:
            withheld[canonical] = f"its definition cannot be used: {error.faults[0]}"
    return CompiledTools(tuple(tools), withheld)


def _inferred(name: str, definition: Mapping[str, Any], terms: UpstreamPolicy, *, blanket: bool) -> Contract | None:
    if terms.without_contract != "infer":
        return None
    inference, claims = classify(definition), read_claims(definition)
    if blanket and claims.destructive and inference.confidence >= CONFIDENT and is_view(definition):
        claims = replace(claims, destructive=None)
    tier, risk = judge(inference, claims, trusted=terms.trust == "annotations")
    fields: dict[str, Any] = {
        "side_effect": tier,
        "risk": risk,
        "overwrites": tier is Tier.WRITE and inference.overwrites,
        "open_world": _reaches_out(inference, claims, trusted=terms.trust == "annotations"),
        "labels": inference.labels.as_json(),
    }
    title = definition.get("title") or _annotated_title(definition)
    if isinstance(title, str) and title.strip():
        fields["title"] = title[:2000]
    if tier is Tier.READ:
        fields["overwrites"] = False
    return read_contract(name, fields)


def marks_all_destructive(definitions: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a server marks every tool destructive that it does not mark read-only: then the mark says nothing."""
    claims = [read_claims(definition) for definition in definitions]
    marks = [one.destructive for one in claims if one.destructive is not None and not one.read_only]
    return len(marks) >= _BLANKET and all(marks)


def judge(inference: Inference, claims: Claims, *, trusted: bool) -> tuple[Tier, Risk]:
    """Tier and risk of a tool without a contract."""
    inferred, risk = Tier(inference.tier), Risk(inference.risk)
    claimed = _claimed(claims)
    if trusted and claimed is not None:
        tier = claimed
        return tier, max(DEFAULT_RISK[tier], risk if tier == inferred else Risk.LOW, key=lambda one: one.number)
    if inference.confidence >= CONFIDENT:
        tier = inferred if claimed is None else _graver(inferred, claimed)
        return tier, max(DEFAULT_RISK[tier], risk, key=lambda one: one.number)
    if claimed is not None and risk is not Risk.FORBIDDEN:
        tier = claimed if claimed is Tier.READ else _graver(inferred, claimed)
        return tier, DEFAULT_RISK[tier] if tier is Tier.READ else max(DEFAULT_RISK[tier], risk, key=_number)
    tier = inferred if inferred is not Tier.READ else Tier.WRITE
    return tier, max(Risk.HIGH, risk, key=_number)


def _reaches_out(inference: Inference, claims: Claims, *, trusted: bool) -> bool:
    """Whether calls reach systems outside. Nobody need believe a server that says they do not."""
    if trusted and claims.open_world is not None:
        return claims.open_world
    return inference.open_world or claims.open_world is True


def _number(risk: Risk) -> int:
    return risk.number


def _claimed(claims: Claims) -> Tier | None:
    """The tier that the claims amount to; None where nothing is claimed."""
    if claims.read_only is None and claims.destructive is None:
        return None
    if claims.read_only:
        return Tier.READ
    return Tier.DESTRUCTIVE if claims.destructive else Tier.WRITE


_GRAVITY = [Tier.READ, Tier.COMPUTE, Tier.WRITE, Tier.SHARE_EXPORT, Tier.EXTERNAL_SPEND, Tier.DESTRUCTIVE]


def _graver(one: Tier, other: Tier) -> Tier:
    return max(one, other, key=_GRAVITY.index)


def _annotated_title(definition: Mapping[str, Any]) -> Any:
    annotations = definition.get("annotations")
    return annotations.get("title") if isinstance(annotations, Mapping) else None
