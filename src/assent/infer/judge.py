"""What does this tool probably do?"""

from collections.abc import Mapping
from typing import Any, Final

from assent.infer.declared import Declared, read_annotations
from assent.infer.evidence import Evidence, gather
from assent.infer.harm import Harm, judge_harm
from assent.infer.inference import Inference
from assent.infer.lexicon import READING
from assent.infer.ranking import choose_risk, choose_tier
from assent.infer.reach import label, reaches_out
from assent.infer.reading import judge_reading
from assent.infer.verdict import LOOKS, READS, UNCLEAR, Verdict

_HARMLESS: Final = Harm(None, None, None)
_SILENT: Final = Declared()


def classify(definition: Mapping[str, Any], *, trust_annotations: bool = False) -> Inference:
    """Infer the effect of a tool from its definition; declared annotations count only when trusted."""
    evidence = gather(definition)
    verdict = judge_reading(evidence)
    harm = _HARMLESS if verdict.level in {READS, LOOKS} else judge_harm(evidence)
    declared = read_annotations(definition) if trust_annotations else _SILENT
    return _conclude(str(definition.get("name") or ""), evidence, verdict, harm, declared)


def _conclude(name: str, evidence: Evidence, verdict: Verdict, harm: Harm, declared: Declared) -> Inference:
    """Destructive evidence beats everything; a trusted declaration takes the place of our own conclusion."""
    destructive = harm.destructive if declared.destructive is None else declared.destructive
    looks = verdict.level in {READS, LOOKS} if declared.read_only is None else declared.read_only
    read_only = looks and not destructive
    executes = bool(harm.executes) and not read_only
    tier = choose_tier(evidence, read_only=read_only, destructive=destructive)
    risk, moved = choose_risk(evidence, tier)
    open_world = reaches_out(evidence, executes=executes) if declared.open_world is None else declared.open_world
    replaces = None if destructive or read_only else harm.replaces
    reasons = (verdict.because, harm.destroys, harm.executes, replaces, moved, declared.reason)
    return Inference(
        name=name,
        tier=tier,
        risk=risk,
        read_only=read_only,
        destructive=destructive,
        overwrites=bool(harm.replaces) and not read_only,
        open_world=open_world,
        labels=label(evidence, read_only=read_only, open_world=open_world, executes=executes),
        confidence=0.99 if declared.settles else _confidence(evidence, verdict),
        reasons=tuple(dict.fromkeys(reason for reason in reasons if reason)),
    )


def _confidence(evidence: Evidence, verdict: Verdict) -> float:
    """How often a verdict reached this way was right on servers that nobody had seen, both flags together."""
    if verdict.level == UNCLEAR:
        return 0.3
    if verdict.level == LOOKS:
        return 0.93
    agrees = evidence.confirmed or (evidence.kind in READING and evidence.prose.kind in READING)
    return 0.96 if agrees else 0.8
