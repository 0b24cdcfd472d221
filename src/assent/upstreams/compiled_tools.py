"""Compiles the tools of upstreams for the catalogue, with a written contract or an inferred one.

An upstream's annotations are claims. They never make a tool less guarded than a confident inference does, unless
the upstream is trusted or a contract says so. An inference never lowers a host's guard either: the hints of an
inferred tool are no laxer than the upstream's own. If the operator trusts its annotations or chose a profile, or if
Assent ships the contract, only the hints that the upstream really sends are compared.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from assent.contract.contradictions import incomplete
from assent.contract.infer import Inference, classify
from assent.contract.model import Contract
from assent.contract.profiles import HistoricNames, Profile
from assent.contract.reader import read_contract
from assent.contract.tiers import DEFAULT_RISK, Risk, Tier
from assent.contract.tool_listing import Claims, read_claims
from assent.core.shown_definition import shown_tool
from assent.core.tool import Tool, compile_tool
from assent.errors import ContractError
from assent.mcp.jsonrpc import ONLY_AS_A_TASK, plain_definition

logger = logging.getLogger(__name__)
CONFIDENT = 0.8
_BLANKET = 3
_CATEGORIES = {
    Tier.READ: ("read", "Reads data"),
    Tier.COMPUTE: ("compute", "Runs work"),
    Tier.WRITE: ("write", "Adds or changes data"),
    Tier.SHARE_EXPORT: ("share", "Shares or exports data"),
    Tier.EXTERNAL_SPEND: ("spend", "Spends money"),
    Tier.DESTRUCTIVE: ("delete", "Deletes data or takes something back"),
}
"""The category of a tool without a contract, for programs and for people."""
BULK = 100
"""How many ids an inferred write may name without a question."""
_LIST_OF_IDS = re.compile(r"(?:^|_)ids$|[a-z]I[dD]s$")
NO_CONTRACT = "it has no contract"
"""The reason for withholding a tool when contracts are not inferred."""


@dataclass(frozen=True, slots=True)
class UpstreamPolicy:
    """The policy for the tools of one upstream."""

    upstream: str
    profile: Profile
    prefix: str = ""
    trust: Literal["inference", "annotations"] = "inference"
    without_contract: Literal["infer", "error", "withhold"] = "infer"
    safe_names: bool = False
    has_test: bool = False
    historic_names: HistoricNames = False
    visibility: str | None = None
    """The visibility of tools whose contract does not set one; default: from the profile."""
    chosen: bool = False
    """Whether the operator chose the profile explicitly."""

    @property
    def vouched(self) -> bool:
        """Whether the operator vouches for hints that are derived from inference."""
        return self.chosen or self.trust == "annotations"

    def canonical(self, name: str) -> str:
        """The tool's name as clients see it."""
        full = self.prefix + name
        return full.replace(".", "_") if self.safe_names else full


@dataclass(frozen=True, slots=True)
class CompiledTools:
    """The tools of one upstream with their contracts, and the withheld ones with the reason."""

    tools: tuple[Tool, ...]
    withheld: Mapping[str, str]
    hidden: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The hidden characters that served tools are listed without, by the tool's name as clients see it."""


def compile_tools(
    definitions: Sequence[Mapping[str, Any]],
    contracts: Mapping[str, Contract],
    policy: UpstreamPolicy,
    unaccepted: Mapping[str, str] | None = None,
    *,
    blanket: bool | None = None,
    shipped: Mapping[str, Contract] | None = None,
) -> CompiledTools:
    """Compile every definition with its written, shipped or inferred contract; a tool that has none is withheld.

    `unaccepted` maps the upstream's names of definitions that no person accepted to the reason. `blanket` says
    whether the upstream marks all its tools destructive; by default it is read from the definitions.
    """
    tools: list[Tool] = []
    withheld: dict[str, str] = {}
    hidden: dict[str, tuple[str, ...]] = {}
    if blanket is None:
        blanket = marks_all_destructive(definitions)
    for definition in definitions:
        name = definition.get("name")
        if not isinstance(name, str):
            continue
        canonical = policy.canonical(name)
        if unaccepted and name in unaccepted:
            withheld[canonical] = unaccepted[name]
            continue
        definition, plain = plain_definition(definition)
        if not plain:
            withheld[canonical] = ONLY_AS_A_TASK
            continue
        written, known = contracts.get(canonical), (shipped or {}).get(canonical)
        shown = shown_tool(definition, replaced_by(written))
        if shown.unusable:
            withheld[canonical] = shown.unusable
            continue
        definition = shown.definition
        try:
            contract = written or known or _infer_contract(canonical, definition, policy, blanket=blanket)
            if contract is None:
                withheld[canonical] = NO_CONTRACT
                continue
            if written is not None and (reason := _incomplete(written, definition, policy.profile)) is not None:
                withheld[canonical] = reason
                continue
            tools.append(
                compile_tool(
                    contract,
                    profile=policy.profile,
                    upstream=policy.upstream,
                    wire_name=name,
                    definition=definition,
                    has_test=policy.has_test,
                    historic_names=policy.historic_names,
                    open_world=contract.open_world is None and classify(definition).open_world,
                    visibility=policy.visibility,
                    written=(written or known) is not None,
                    shipped=written is None and known is not None,
                    labels_trusted=policy.trust == "annotations",
                    claims=None if written else _claims(definition, as_said=policy.vouched or known is not None),
                )
            )
            if shown.removed:
                hidden[canonical] = tuple(shown.removed)
        except ContractError as error:
            withheld[canonical] = f"its definition cannot be used: {error.faults[0]}"
    return CompiledTools(tuple(tools), withheld, hidden)


def _incomplete(contract: Contract, definition: Mapping[str, Any], profile: Profile) -> str | None:
    """Why a contract is refused that leaves fields open; where that is only noted, it is logged."""
    fault = incomplete(contract, definition, profile)
    if fault is None:
        return None
    if profile.completeness == "required":
        return f"{fault.message}. {fault.remedy}"
    logger.warning("%s", fault)
    return None


def replaced_by(contract: Contract | None) -> frozenset[str]:
    """The members of a definition that agents get from the contract, not from the server."""
    if contract is None:
        return frozenset()
    ours = {"description": contract.description, "inputSchema": contract.input, "outputSchema": contract.output}
    return frozenset(key for key, value in ours.items() if value is not None)


def _infer_contract(
    name: str, definition: Mapping[str, Any], policy: UpstreamPolicy, *, blanket: bool
) -> Contract | None:
    if policy.without_contract != "infer":
        return None
    inference = classify(definition)
    judged = judge_definition(name, definition, policy, inference, blanket=blanket)
    fields: dict[str, Any] = {
        "side_effect": judged.tier,
        "risk": judged.risk,
        "overwrites": judged.overwrites,
        "open_world": judged.open_world,
        "category": _CATEGORIES[judged.tier][0],
        "category_label": _CATEGORIES[judged.tier][1],
        "labels": inference.labels._asdict(),
    }
    if judged.tier is Tier.WRITE and (selectors := _selectors(definition)):
        fields |= {"selects": selectors, "bulk": BULK}
    if policy.trust == "annotations" and read_claims(definition).idempotent and not policy.profile.mechanical:
        fields["hints"] = {"idempotent": True, "because": "Its server says so, and its annotations are trusted."}
    return read_contract(name, fields)


def _selectors(definition: Mapping[str, Any]) -> list[str]:
    """The required lists of ids: an empty one, a `*` in it or a long one makes a call ambiguous."""
    given = definition.get("inputSchema")
    schema: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    named, needed = schema.get("properties"), schema.get("required")
    if not isinstance(named, Mapping) or not isinstance(needed, list):
        return []
    lists = [name for name, one in named.items() if isinstance(one, Mapping) and one.get("type") == "array"]
    return [name for name in lists if name in needed and _LIST_OF_IDS.search(name)]


class Judged(NamedTuple):
    """What a tool without a contract is taken for."""

    tier: Tier
    risk: Risk
    overwrites: bool
    open_world: bool


def judge_definition(
    name: str, definition: Mapping[str, Any], policy: UpstreamPolicy, inference: Inference, *, blanket: bool
) -> Judged:
    """Judge a tool by its definition and what was inferred from it.

    The gateway and `contract init` use this, so that both decide alike.
    """
    from assent.contract.infer.classifier import is_view

    claims, trusted = read_claims(definition), policy.trust == "annotations"
    if blanket and claims.destructive and inference.confidence >= CONFIDENT and is_view(definition):
        claims = replace(claims, destructive=None)
    tier, risk = judge(inference, claims, trusted=trusted)
    by_verb = policy.profile.tier_by_verb(name) if not trusted else None
    if by_verb is not None and by_verb > tier:
        tier, risk = by_verb, max(DEFAULT_RISK[by_verb], risk)
    overwrites = tier is Tier.WRITE and inference.overwrites
    return Judged(tier, risk, overwrites, _reaches_out(inference, claims, trusted=trusted))


def marks_all_destructive(definitions: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a server marks every tool destructive that is not read-only; then the mark means nothing."""
    claims = [read_claims(definition) for definition in definitions]
    marks = [one.destructive for one in claims if one.destructive is not None and not one.read_only]
    return len(marks) >= _BLANKET and all(marks)


def judge(inference: Inference, claims: Claims, *, trusted: bool) -> tuple[Tier, Risk]:
    """Tier and risk of a tool without a contract."""
    inferred, risk = Tier(inference.tier), Risk(inference.risk)
    claimed = _claimed_tier(claims)
    if trusted and claimed is not None:
        tier = claimed
        return tier, max(DEFAULT_RISK[tier], risk if tier == inferred else Risk.LOW)
    if inference.confidence >= CONFIDENT:
        tier = inferred if claimed is None else max(inferred, claimed)
        return tier, max(DEFAULT_RISK[tier], risk)
    if claimed is not None and risk is not Risk.FORBIDDEN:
        tier = claimed if claimed is Tier.READ else max(inferred, claimed)
        return tier, DEFAULT_RISK[tier] if tier is Tier.READ else max(DEFAULT_RISK[tier], risk)
    tier = inferred if inferred is not Tier.READ else Tier.WRITE
    return tier, max(Risk.HIGH, risk)


def _reaches_out(inference: Inference, claims: Claims, *, trusted: bool) -> bool:
    """Whether calls reach external systems. A server's claim that they do not is not enough."""
    if trusted and claims.open_world is not None:
        return claims.open_world
    return inference.open_world or claims.open_world is True


def _claimed_tier(claims: Claims) -> Tier | None:
    """The tier that the annotations claim; None if they claim nothing."""
    if claims.read_only is None and claims.destructive is None:
        return None
    if claims.read_only:
        return Tier.READ
    return Tier.DESTRUCTIVE if claims.destructive else Tier.WRITE


def _claims(definition: Mapping[str, Any], *, as_said: bool) -> Claims:
    claims = read_claims(definition)
    return claims.as_said() if as_said else claims
