"""Classifier: infers the effect of a tool from its definition."""

import re
from collections.abc import Mapping
from typing import Any, Final

from assent.infer.annotations import Declared, read_annotations
from assent.infer.features.tool import ToolFeatures, gather
from assent.infer.inference import Inference
from assent.infer.lexicon import DEEDS, MIXED, READING
from assent.infer.model import Weights, is_disguised, is_foreign, tell_readers, weigh
from assent.infer.open_world import label, reaches_out
from assent.infer.rules.damage import Damage, find_damage
from assent.infer.rules.read_only import judge_read_only
from assent.infer.tier import choose_risk, choose_tier
from assent.infer.verdict import FINAL, LOOKS, READS, SURE, UNCLEAR, WEAK, ReadOnlyVerdict

_HARMLESS: Final = Damage(None, None, None)
_SILENT: Final = Declared()
# Parameters with a value to set.
_VALUE_INPUTS: Final = frozenset({"amount", "enabled", "level", "off", "on", "percent", "position", "speed", "value"})
_DEEDS: Final = MIXED | {"session"}
# `Report a card as lost` tells someone, so it is not a read.
_REPORTS_SOMETHING = re.compile(r"\s*Reports? an? ")
# The rules already cleared these kinds. Their words resemble those of destructive tools.
_NEVER_DESTRUCTIVE_BY_WORDS: Final = frozenset({"destroy", "send"})
# A tool that restores something also uses such words. It counts as safe unless the text says that something else is
# lost.
_RESTORING: Final = frozenset({"reactivate", "reenable", "reinstate", "unarchive", "undelete", "unsuspend", "untrash"})
_RESTORES = re.compile(
    r"\s*(?:recover|restore)s? (?:an? |the |previously )*(?:\w+ or )?"
    r"(?:soft[- ])?(?:archived|deleted|disabled|suspended|trashed)\b"
)
_LOSES_SOMETHING_ELSE = re.compile(
    r"\b(?:delet|discard|overwrit|remov|replac|truncat|wip)(?:es|ing|s)\b|\b(?:are|gets?|is) (?:deleted|removed|shut)\b"
)
# Verbs that have no meaning besides reading.
_PLAIN: Final = DEEDS["fetching"] | {"describe", "enumerate", "peek", "read"}
_DESTRUCTIVE_BY_WORDS: Final = "its words are those of tools that lose something"
# Minimum probability of damage for the model to mark a tool as destructive.
_DESTRUCTIVE_MINIMUM: Final = 0.5
# A read-only verdict needs a probability of damage below the limit and of read-only at or above the minimum.
_DESTRUCTIVE_LIMIT: Final = 0.1
_READ_ONLY_MINIMUM: Final = 0.1
# Minimum number of words before the model may decide. If no verb names an action, fewer words are enough when the model
# is sure.
_HEAD: Final = 300
_ENOUGH_WORDS: Final = 10


def classify(definition: Mapping[str, Any], *, trust_annotations: bool = False) -> Inference:
    """Infer the effect of a tool from its definition; declared annotations count only when trusted."""
    return classify_with(definition, None, trust_annotations=trust_annotations)


def classify_with(
    definition: Mapping[str, Any], weights: Weights | None, *, trust_annotations: bool = False
) -> Inference:
    """Classify with the given model weights instead of the shipped ones."""
    tool = gather(definition)
    verdict, harm = _apply_model(tool, judge_read_only(tool), weights)
    declared = read_annotations(definition) if trust_annotations else _SILENT
    return _conclude(str(definition.get("name") or ""), tool, verdict, harm, declared)


def _apply_model(
    tool: ToolFeatures, verdict: ReadOnlyVerdict, weights: Weights | None
) -> tuple[ReadOnlyVerdict, Damage]:
    """Let the word model overrule a rule that rests on one word, and let it find damage."""
    looks = verdict.level in {READS, LOOKS}
    harm = _HARMLESS if looks else find_damage(tool)
    settled = harm.destructive or _is_plain_read(tool, verdict)
    word_count = 0 if settled else len(tool.text[:_HEAD].split())
    if word_count < (1 if not looks and verdict.unless == WEAK and not _has_acting_verb(tool) else _ENOUGH_WORDS):
        return verdict, harm
    score = weigh(tool, weights)
    loses = score.losing >= _DESTRUCTIVE_MINIMUM > score.reading and word_count >= _ENOUGH_WORDS
    loses = loses and tool.kind not in _NEVER_DESTRUCTIVE_BY_WORDS and not _only_restores(tool)
    if looks:
        if not loses and _stays_read_only(tool, verdict, score.reading):
            return verdict, harm
        verdict = ReadOnlyVerdict(UNCLEAR, f"{verdict.because}; yet its words are not those of tools that only read")
        harm = find_damage(tool)
    if loses:
        return verdict, harm if harm.destructive else harm._replace(destroys=_DESTRUCTIVE_BY_WORDS)
    reads = (
        score.reading >= (verdict.unless if word_count >= _ENOUGH_WORDS else SURE) and score.losing < _DESTRUCTIVE_LIMIT
    )
    if reads and not _words_mislead(tool):
        readers = tell_readers(tool, weights)
        return ReadOnlyVerdict(LOOKS, f"its words are those of tools that only read: {readers}"), _HARMLESS
    return verdict, harm


def _is_plain_read(tool: ToolFeatures, verdict: ReadOnlyVerdict) -> bool:
    """Whether name and description use the same plain reading verb, such as `get_boat` with "Get a boat"."""
    return verdict.level == READS and tool.confirmed and tool.name.verb in _PLAIN


def _only_restores(tool: ToolFeatures) -> bool:
    """Whether the tool brings something back, such as `restore_user`, and nothing else is lost."""
    text = tool.text[:_HEAD].lower()
    brings = tool.name.verb in _RESTORING or _RESTORES.match(text) is not None
    return brings and _LOSES_SOMETHING_ELSE.search(text) is None


def _stays_read_only(tool: ToolFeatures, verdict: ReadOnlyVerdict, reading: float) -> bool:
    """Whether the model agrees enough with a read-only verdict; for text in another language it has little weight."""
    if reading >= (_READ_ONLY_MINIMUM if verdict.unless == FINAL else verdict.unless):
        return True
    return reading >= _READ_ONLY_MINIMUM and is_foreign(tool.text)


def _has_acting_verb(tool: ToolFeatures) -> bool:
    """Whether a verb names an action, or a parameter carries what the name says, so that few words do not count."""
    acts = not _DEEDS.isdisjoint({tool.kind, *tool.prose.kinds})
    named = tool.words | tool.prose.opening | _VALUE_INPUTS
    return acts or not named.isdisjoint(tool.inputs.names)


def _words_mislead(tool: ToolFeatures) -> bool:
    """Whether the text mentions a side effect, tells someone, is in another language, or is disguised."""
    statements = tool.prose.statements
    if _REPORTS_SOMETHING.match(tool.text):
        return True
    return "in_passing" in statements or "traces" in statements or is_foreign(tool.text) or is_disguised(tool.text)


def _name_agrees_with_text(tool: ToolFeatures) -> bool:
    """Whether name and description agree."""
    return tool.confirmed or (tool.kind in READING and tool.prose.kind in READING)


def _conclude(name: str, tool: ToolFeatures, verdict: ReadOnlyVerdict, harm: Damage, declared: Declared) -> Inference:
    """Combine the results: damage overrules read-only, and trusted annotations replace inferred values."""
    destructive = harm.destructive if declared.destructive is None else declared.destructive
    looks = verdict.level in {READS, LOOKS} if declared.read_only is None else declared.read_only
    read_only = looks and not destructive
    executes = bool(harm.executes) and not read_only
    tier = choose_tier(tool, read_only=read_only, destructive=destructive)
    risk, moved = choose_risk(tool, tier)
    open_world = reaches_out(tool, executes=executes) if declared.open_world is None else declared.open_world
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
        labels=label(tool, read_only=read_only, open_world=open_world, executes=executes),
        confidence=0.99 if declared.settles else _confidence(tool, verdict, harm),
        reasons=tuple(dict.fromkeys(reason for reason in reasons if reason)),
    )


def _confidence(tool: ToolFeatures, verdict: ReadOnlyVerdict, harm: Damage) -> float:
    """Measured share of correct verdicts of this kind on servers that were not used for tuning."""
    if verdict.level == UNCLEAR:
        return 0.3
    if harm.destroys == _DESTRUCTIVE_BY_WORDS:
        return 0.6
    if verdict.level == LOOKS:
        return 0.93
    return 0.96 if _name_agrees_with_text(tool) else 0.8
