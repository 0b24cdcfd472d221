"""Classifier: combines the rules and the word model into the inferred effect of a tool."""

from collections.abc import Mapping
from typing import Any, Final

from assent.contract.infer.features.tool import ToolFeatures, gather
from assent.contract.infer.inference import Declared, FlowLabels, Inference, read_annotations
from assent.contract.infer.lexicon import READING
from assent.contract.infer.model import Weights
from assent.contract.infer.overrule import DESTRUCTIVE_BY_WORDS, ask_model
from assent.contract.infer.rules.losses import NO_DAMAGE, Damage, find_damage
from assent.contract.infer.rules.reads import judge_read_only
from assent.contract.infer.rules.risk import (
    ACTS_OUTSIDE,
    BROWSES,
    LOOKS_OUTSIDE,
    OUTLET,
    POSTED,
    PRIVATE,
    PUBLIC,
    RUNS_OUTSIDE,
    SHARES,
    SPENDS,
    WEB,
    choose_risk,
)
from assent.contract.infer.rules.tables import LOOKS, UNCLEAR, ReadOnlyVerdict, any_of, when

_NOT_DECLARED: Final = Declared()


def classify(definition: Mapping[str, Any], *, trust_annotations: bool = False) -> Inference:
    """Infer the effect of a tool from its definition; declared annotations count only when trusted."""
    return classify_with(definition, None, trust_annotations=trust_annotations)


def classify_with(
    definition: Mapping[str, Any], weights: Weights | None, *, trust_annotations: bool = False
) -> Inference:
    """Classify with the given model weights instead of the shipped ones."""
    tool = gather(definition)
    verdict = judge_read_only(tool)
    damage = NO_DAMAGE if verdict.reads else find_damage(tool)
    verdict, damage = ask_model(tool, verdict, damage, weights)
    declared = read_annotations(definition) if trust_annotations else _NOT_DECLARED
    return _combine(str(definition.get("name") or ""), tool, verdict, damage, declared)


def _combine(name: str, tool: ToolFeatures, verdict: ReadOnlyVerdict, damage: Damage, declared: Declared) -> Inference:
    """Combine the results: damage overrules read-only, and trusted annotations replace inferred values."""
    destructive = damage.destructive if declared.destructive is None else declared.destructive
    reads = verdict.reads if declared.read_only is None else declared.read_only
    read_only = reads and not destructive
    executes = bool(damage.executes) and not read_only
    tier = _choose_tier(tool, read_only=read_only, destructive=destructive)
    risk, risk_reason = choose_risk(tool, tier)
    open_world = _reaches_out(tool, executes=executes) if declared.open_world is None else declared.open_world
    replaces = None if destructive or read_only else damage.replaces
    return Inference(
        name=name,
        tier=tier,
        risk=risk,
        read_only=read_only,
        destructive=destructive,
        overwrites=bool(damage.replaces) and not read_only,
        open_world=open_world,
        labels=_label(tool, read_only=read_only, open_world=open_world, executes=executes),
        confidence=0.99 if declared.settles else _measure_confidence(tool, verdict, damage),
        reasons=_list_reasons(verdict.reason, damage.destroys, damage.executes, replaces, risk_reason, declared.reason),
    )


def _list_reasons(*reasons: str | None) -> tuple[str, ...]:
    """Return the reasons, each once; one that begins another reason is left out."""
    found = dict.fromkeys(filter(None, reasons))
    return tuple(one for one in found if not any(other.startswith(f"{one},") for other in found))


def _choose_tier(tool: ToolFeatures, *, read_only: bool, destructive: bool) -> str:
    """Return the tier: destructive first, then read, spend, share, and the rest."""
    if destructive:
        return "destructive"
    if read_only:
        return "read"
    if SPENDS.first(tool):
        return "external_spend"
    if SHARES.first(tool):
        return "share_export"
    works = tool.kind in {"make", "run", "look"} and tool.said_kinds.isdisjoint({"add", "change"})
    return "compute" if works else "write"


def _reaches_out(tool: ToolFeatures, *, executes: bool) -> bool:
    """Whether the call reaches systems or people outside the account."""
    if BROWSES(tool):
        return True
    if executes:
        return bool(RUNS_OUTSIDE(tool))
    looks = tool.kind in READING | {"make", "none", "noun"}
    return bool(LOOKS_OUTSIDE(tool) if looks else ACTS_OUTSIDE(tool))


def _label(tool: ToolFeatures, *, read_only: bool, open_world: bool, executes: bool) -> FlowLabels:
    """Return the three data-flow labels."""
    returns = read_only or executes or tool.kind in {"drive", "session"}
    private = executes or (returns and PRIVATE(tool))
    untrusted = returns and (POSTED(tool) or (open_world and PUBLIC(tool)))
    sends = open_world and (executes or "url" in tool.flags)
    return FlowLabels(
        reads_private=bool(private and not WEB(tool)),
        sees_untrusted=bool(untrusted),
        public_sink=bool(sends or (not read_only and OUTLET(tool))),
    )


def _measure_confidence(tool: ToolFeatures, verdict: ReadOnlyVerdict, damage: Damage) -> float:
    """Return the measured share of correct verdicts of this kind on servers that were not used for tuning."""
    if verdict.level == UNCLEAR:
        return 0.3
    if damage.destroys == DESTRUCTIVE_BY_WORDS:
        return 0.6
    if verdict.level == LOOKS:
        return 0.93
    agrees = "confirmed" in tool.traits or (tool.kind in READING and tool.said_kind in READING)
    return 0.96 if agrees else 0.8


_IS_VIEW: Final = any_of(
    when(traits="view"), when(verb="browse go goto navigate scroll visit", around="@web back forward page pages tab")
)


def is_view(definition: Mapping[str, Any]) -> bool:
    """Whether a definition is a search or a page view."""
    return bool(_IS_VIEW(gather(definition)))
