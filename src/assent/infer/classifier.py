"""What does this tool probably do?"""

import re
from collections.abc import Mapping
from typing import Any, Final

from assent.infer.annotations import Declared, read_annotations
from assent.infer.features.tool import ToolFeatures, gather
from assent.infer.inference import Inference
from assent.infer.lexicon import DEEDS, MIXED, READING
from assent.infer.model import Weights, is_disguised, is_foreign, tell_readers, weigh
from assent.infer.open_world import label, reaches_out
from assent.infer.rules.damage import Damage, judge_harm
from assent.infer.rules.read_only import judge_reading
from assent.infer.tier import choose_risk, choose_tier
from assent.infer.verdict import FINAL, LOOKS, READS, SURE, UNCLEAR, WEAK, ReadOnlyVerdict

_HARMLESS: Final = Damage(None, None, None)
_SILENT: Final = Declared()
# Parameters that say what something is turned to.
_TURNED: Final = frozenset({"amount", "enabled", "level", "off", "on", "percent", "position", "speed", "value"})
_DEEDS: Final = MIXED | {"session"}
# `Report a card as lost`: somebody is told.
_HANDED_IN = re.compile(r"\s*Reports? an? ")
# What a rule has spared, and what tells somebody of a loss: their words are those of losses.
_UNHARMED: Final = frozenset({"destroy", "send"})
# So are those of what brings something back, unless it says that something else goes.
_REGAINING: Final = frozenset({"reactivate", "reenable", "reinstate", "unarchive", "undelete", "unsuspend", "untrash"})
_REGAINED = re.compile(
    r"\s*(?:recover|restore)s? (?:an? |the |previously )*(?:\w+ or )?"
    r"(?:soft[- ])?(?:archived|deleted|disabled|suspended|trashed)\b"
)
_LOST_INSTEAD = re.compile(
    r"\b(?:delet|discard|overwrit|remov|replac|truncat|wip)(?:es|ing|s)\b|\b(?:are|gets?|is) (?:deleted|removed|shut)\b"
)
# Verbs of a look that nothing else is meant by.
_PLAIN: Final = DEEDS["fetching"] | {"describe", "enumerate", "peek", "read"}
_WORDED: Final = "its words are those of tools that lose something"
# How likely a loss the words must make it to count as one.
_LOST: Final = 0.5
# How likely a loss keeps a tool from being taken for a read, and how unlikely a read puts any look in doubt.
_HARMED: Final = 0.1
_UNREAD: Final = 0.1
# How many words a description must have for them to say that a tool only reads, or that it loses something; where no
# verb tells a deed fewer will do, if they are sure.
_HEAD: Final = 300
_ENOUGH: Final = 10


def classify(definition: Mapping[str, Any], *, trust_annotations: bool = False) -> Inference:
    """Infer the effect of a tool from its definition; declared annotations count only when trusted."""
    return classify_with(definition, None, trust_annotations=trust_annotations)


def classify_with(
    definition: Mapping[str, Any], weights: Weights | None, *, trust_annotations: bool = False
) -> Inference:
    """The same with other weights of words than those that are shipped."""
    evidence = gather(definition)
    verdict, harm = _weigh_in(evidence, judge_reading(evidence), weights)
    declared = read_annotations(definition) if trust_annotations else _SILENT
    return _conclude(str(definition.get("name") or ""), evidence, verdict, harm, declared)


def _weigh_in(
    evidence: ToolFeatures, verdict: ReadOnlyVerdict, weights: Weights | None
) -> tuple[ReadOnlyVerdict, Damage]:
    """Where a verdict rests on the meaning of one word, all words together may overrule it; and they find losses."""
    looks = verdict.level in {READS, LOOKS}
    harm = _HARMLESS if looks else judge_harm(evidence)
    settled = harm.destructive or _is_plain(evidence, verdict)
    said = 0 if settled else len(evidence.text[:_HEAD].split())
    if said < (1 if not looks and verdict.unless == WEAK and not _deed_is_told(evidence) else _ENOUGH):
        return verdict, harm
    leaning = weigh(evidence, weights)
    loses = leaning.losing >= _LOST > leaning.reading and said >= _ENOUGH
    loses = loses and evidence.kind not in _UNHARMED and not _regains(evidence)
    if looks:
        if not loses and _is_left(evidence, verdict, leaning.reading):
            return verdict, harm
        verdict = ReadOnlyVerdict(UNCLEAR, f"{verdict.because}; yet its words are not those of tools that only read")
        harm = judge_harm(evidence)
    if loses:
        return verdict, harm if harm.destructive else harm._replace(destroys=_WORDED)
    reads = leaning.reading >= (verdict.unless if said >= _ENOUGH else SURE) and leaning.losing < _HARMED
    if reads and not _soothes(evidence):
        readers = tell_readers(evidence, weights)
        return ReadOnlyVerdict(LOOKS, f"its words are those of tools that only read: {readers}"), _HARMLESS
    return verdict, harm


def _is_plain(evidence: ToolFeatures, verdict: ReadOnlyVerdict) -> bool:
    """`get_boat` that gets a boat."""
    return verdict.level == READS and evidence.confirmed and evidence.name.verb in _PLAIN


def _regains(evidence: ToolFeatures) -> bool:
    """`restore_user`: a deleted user comes back, and nothing else goes for it."""
    text = evidence.text[:_HEAD].lower()
    brings = evidence.name.verb in _REGAINING or _REGAINED.match(text) is not None
    return brings and _LOST_INSTEAD.search(text) is None


def _is_left(evidence: ToolFeatures, verdict: ReadOnlyVerdict, reading: float) -> bool:
    """Whether the words make a look likely enough a read; those of another language say little."""
    if reading >= (_UNREAD if verdict.unless == FINAL else verdict.unless):
        return True
    return reading >= _UNREAD and is_foreign(evidence.text)


def _deed_is_told(evidence: ToolFeatures) -> bool:
    """Whether a verb is one of acting, or what is named is given: a few words beside that do not count."""
    told = not _DEEDS.isdisjoint({evidence.kind, *evidence.prose.kinds})
    said = evidence.words | evidence.prose.opening | _TURNED
    return told or not said.isdisjoint(evidence.inputs.names)


def _soothes(evidence: ToolFeatures) -> bool:
    """Whether a deed is told in passing, to somebody, or in another language: then the other words are no answer."""
    said = evidence.prose.statements
    if _HANDED_IN.match(evidence.text):
        return True
    return "in_passing" in said or "traces" in said or is_foreign(evidence.text) or is_disguised(evidence.text)


def _agrees(evidence: ToolFeatures) -> bool:
    """Whether name and description say the same."""
    return evidence.confirmed or (evidence.kind in READING and evidence.prose.kind in READING)


def _conclude(
    name: str, evidence: ToolFeatures, verdict: ReadOnlyVerdict, harm: Damage, declared: Declared
) -> Inference:
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
        confidence=0.99 if declared.settles else _confidence(evidence, verdict, harm),
        reasons=tuple(dict.fromkeys(reason for reason in reasons if reason)),
    )


def _confidence(evidence: ToolFeatures, verdict: ReadOnlyVerdict, harm: Damage) -> float:
    """How often a verdict reached this way was right on servers that nobody had seen, both flags together."""
    if verdict.level == UNCLEAR:
        return 0.3
    if harm.destroys == _WORDED:
        return 0.6
    if verdict.level == LOOKS:
        return 0.93
    return 0.96 if _agrees(evidence) else 0.8
