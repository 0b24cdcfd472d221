"""What does this tool probably do?"""

from collections.abc import Mapping
from typing import Any

from assent.infer.declared import Declared, read_annotations
from assent.infer.evidence import READING, Evidence, gather
from assent.infer.harm import Harm, judge_harm
from assent.infer.inference import Inference
from assent.infer.ranking import choose_risk, choose_tier
from assent.infer.reach import label, reaches_out
from assent.infer.reading import ACTS, LOOKS, READS, UNCLEAR, Verdict, judge_reading

_HARMLESS = Harm(None, None, None)


def classify(definition: Mapping[str, Any], *, trust_annotations: bool = False) -> Inference:
    """Infer the effect of a tool from its definition; declared annotations count only when trusted."""
    evidence = gather(definition)
    verdict = judge_reading(evidence)
    read_only = verdict.level in {READS, LOOKS}
    harm = _HARMLESS if read_only else judge_harm(evidence)
    declared = read_annotations(definition) if trust_annotations else Declared()
    return _conclude(str(definition.get("name") or ""), evidence, verdict, harm, declared)


def _conclude(name: str, evidence: Evidence, verdict: Verdict, harm: Harm, declared: Declared) -> Inference:
    inferred = verdict.level in {READS, LOOKS}
    read_only = declared.read_only if declared.read_only is not None else inferred
    destructive = declared.destructive if declared.destructive is not None else harm.destructive
    read_only = read_only and not destructive
    executes = bool(harm.executes) and not read_only
    tier = _tier(evidence, read_only, destructive, harm)
    risk, because = choose_risk(evidence, tier, read_only)
    open_world = declared.open_world if declared.open_world is not None else reaches_out(evidence, executes)
    reasons = (verdict.because, harm.destroys, harm.executes, harm.replaces, because, declared.reason)
    return Inference(
        name=name,
        tier=tier,
        risk=risk,
        read_only=read_only,
        destructive=destructive,
        overwrites=bool(harm.replaces) and not read_only,
        open_world=open_world,
        labels=label(evidence, read_only, open_world, executes),
        confidence=0.99 if declared.settles else _confidence(evidence, verdict, harm),
        reasons=tuple(dict.fromkeys(reason for reason in reasons if reason)),
    )


def _tier(evidence: Evidence, read_only: bool, destructive: bool, harm: Harm) -> str:
    if destructive:
        return "destructive"
    spared = Harm(None, None, harm.replaces)
    return choose_tier(evidence, read_only, spared)


def _confidence(evidence: Evidence, verdict: Verdict, harm: Harm) -> float:
    """How often a verdict reached this way was right, in round numbers."""
    prose = evidence.prose
    agrees = evidence.confirmed or (evidence.kind in READING and prose.kind in READING)
    if verdict.level == READS:
        return 0.98 if agrees else 0.9
    if verdict.level == LOOKS:
        return 0.85
    if verdict.level == UNCLEAR:
        return 0.4
    assert verdict.level == ACTS
    if harm.executes or harm.destroys:
        return 0.95 if agrees else 0.85
    return 0.97 if agrees else 0.85
