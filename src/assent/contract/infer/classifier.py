"""Classifier: combines the rules and the word model into the inferred effect of a tool."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from assent.contract.infer import FlowLabels, Inference
from assent.contract.infer.features.tool import ToolFeatures, gather
from assent.contract.infer.features.words import read_data, word_set
from assent.contract.infer.lexicon import OTHER_CLASS, READING
from assent.contract.infer.rules import conditions
from assent.contract.infer.rules.tables import (
    FINAL,
    LOOKS,
    READS,
    SURE,
    UNCLEAR,
    WEAK,
    ReadOnlyVerdict,
    RuleBook,
    Table,
    table,
)
from assent.contract.infer.word_model import Weights, WordScore, is_disguised, is_foreign, tell_readers, weigh
from assent.contract.tool_listing import Claims, read_claims

_FILES: Final = ("execution", "side_effects", "losses", "risk", "reads", "model")
RULES: Final = RuleBook((read_data(f"rules/{name}.toml") for name in _FILES), vars(conditions))
_BY_CLASS: Final = {
    "read": "read",
    "look": "look",
    "run": "run",
    "make": "output",
    "none": "no_verb",
    "noun": "no_verb",
    "thing": "no_verb",
}


class Damage(NamedTuple):
    """What a call may destroy, execute or replace, each with its reason."""

    destroys: str | None = None
    executes: str | None = None
    replaces: str | None = None

    @property
    def destructive(self) -> bool:
        return bool(self.destroys or self.executes)


NO_DAMAGE: Final = Damage()


def find_damage(tool: ToolFeatures) -> Damage:
    """Find the damage of a tool that acts; do not call it for read-only tools."""
    return Damage(*(RULES.table(name).reason(tool) for name in ("losses", "execution", "overwrites")))


def judge_read_only(tool: ToolFeatures) -> ReadOnlyVerdict:
    """Return the verdict of the first rule that applies; rules that find an action come first."""
    return RULES.table("all_tools").judge(tool) or _judge_by_class(tool, _find_class(tool))


def _judge_by_class(tool: ToolFeatures, verb_class: str) -> ReadOnlyVerdict:
    """Return the verdict of the table for the verb's class; each table ends with a rule that always applies."""
    verdict = RULES.table(_BY_CLASS.get(verb_class, "act")).judge(tool)
    return verdict or ReadOnlyVerdict(UNCLEAR, "neither the name nor the description says what it does")


def _find_class(tool: ToolFeatures) -> str:
    """Return the corrected class of the name's verb; `thing` is a verb that is used as a noun."""
    other, words = OTHER_CLASS.get(tool.verb, ("", frozenset()))
    meant = tool.words & words
    if meant and not (meant <= {"in", "out"} and RULES.holds("checks_whether", tool)):
        return other
    match = RULES.table("corrections").first(tool)
    return match[0].verdict if match else tool.kind


def choose_risk(tool: ToolFeatures, tier: str) -> tuple[str, str | None]:
    """Return the risk of the first rule that applies, and its reason; a default has no reason."""
    match = _risks_of(tier).first(tool)
    return (match[0].verdict, match[0].reason or None) if match else ("medium", None)


@cache
def _risks_of(tier: str) -> Table:
    return table(one for one in RULES.table("risks") if not one.tiers or tier in one.tiers.split())


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
    declared = read_claims(definition) if trust_annotations else Claims()
    return _combine(str(definition.get("name") or ""), tool, verdict, damage, declared)


def _combine(name: str, tool: ToolFeatures, verdict: ReadOnlyVerdict, damage: Damage, declared: Claims) -> Inference:
    """Combine the results: damage overrules read-only, and trusted annotations replace inferred values."""
    says_destructive = False if declared.read_only and declared.destructive is None else declared.destructive
    settles = declared.read_only is not None or says_destructive is not None
    trusted = "the declared annotations are trusted" if settles or declared.open_world is not None else None
    destructive = damage.destructive if says_destructive is None else says_destructive
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
        confidence=0.99 if settles else _measure_confidence(tool, verdict, damage),
        reasons=_list_reasons(verdict.reason, damage.destroys, damage.executes, replaces, risk_reason, trusted),
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
    if RULES.table("spends").first(tool):
        return "external_spend"
    if RULES.table("shares").first(tool):
        return "share_export"
    works = tool.kind in {"make", "run", "look"} and tool.said_kinds.isdisjoint({"add", "change"})
    return "compute" if works else "write"


def _reaches_out(tool: ToolFeatures, *, executes: bool) -> bool:
    """Whether the call reaches systems or people outside the account."""
    if RULES.holds("browses", tool):
        return True
    if executes:
        return RULES.holds("runs_outside", tool)
    looks = tool.kind in READING | {"make", "none", "noun"}
    return RULES.holds("looks_outside" if looks else "acts_outside", tool)


def _label(tool: ToolFeatures, *, read_only: bool, open_world: bool, executes: bool) -> FlowLabels:
    """Return the three data-flow labels."""
    returns = read_only or executes or tool.kind in {"drive", "session"}
    private = executes or (returns and RULES.holds("private", tool))
    untrusted = returns and (RULES.holds("posted", tool) or (open_world and RULES.holds("public", tool)))
    sends = open_world and (executes or "url" in tool.flags)
    return FlowLabels(
        reads_private=bool(private and not RULES.holds("web", tool)),
        sees_untrusted=bool(untrusted),
        public_sink=bool(sends or (not read_only and RULES.holds("outlet", tool))),
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


def is_view(definition: Mapping[str, Any]) -> bool:
    """Whether a definition is a search or a page view."""
    return RULES.holds("is_view", gather(definition))


DESTRUCTIVE_BY_WORDS: Final = "its words are typical of tools that lose something"
# Minimum probability of damage for the model to mark a tool as destructive.
_DESTRUCTIVE_MINIMUM: Final = 0.5
# A read-only verdict needs a probability of damage below the limit and of read-only at or above the minimum.
_DESTRUCTIVE_LIMIT: Final = 0.1
_READ_ONLY_MINIMUM: Final = 0.1
# Minimum number of words before the model may decide, counted at the start of the description.
_ENOUGH_WORDS: Final = 10
_HEAD: Final = 300
# Parameters with a value to set.
_VALUE_INPUTS: Final = word_set("amount enabled level off on percent position speed value")


def ask_model(
    tool: ToolFeatures, verdict: ReadOnlyVerdict, damage: Damage, weights: Weights | None
) -> tuple[ReadOnlyVerdict, Damage]:
    """Return the verdict and the damage after the model looked at the words."""
    if damage.destructive or (verdict.level == READS and RULES.holds("plain_read", tool)):
        return verdict, damage
    word_count = len(tool.description[:_HEAD].split())
    if word_count < _count_needed_words(tool, verdict):
        return verdict, damage
    score = weigh(tool, weights)
    loses = _finds_loss(tool, score, word_count)
    if verdict.reads:
        if not loses and _confirms_reading(tool, verdict, score):
            return verdict, damage
        reason = f"{verdict.reason}; its other words are not typical of tools that only read"
        verdict, damage = ReadOnlyVerdict(UNCLEAR, reason), find_damage(tool)
    if loses:
        return verdict, damage if damage.destructive else damage._replace(destroys=DESTRUCTIVE_BY_WORDS)
    if _finds_reading(tool, verdict, score, word_count):
        readers = tell_readers(tool, weights)
        return ReadOnlyVerdict(LOOKS, f"its words are typical of tools that only read: {readers}"), NO_DAMAGE
    return verdict, damage


def _count_needed_words(tool: ToolFeatures, verdict: ReadOnlyVerdict) -> int:
    """Return how many words the model needs; one is enough if nothing names an action."""
    if verdict.reads or verdict.overrule != WEAK or RULES.holds("has_acting_verb", tool):
        return _ENOUGH_WORDS
    carried = tool.words | tool.opening | _VALUE_INPUTS  # a parameter carries what the name says
    return 1 if carried.isdisjoint(tool.params) else _ENOUGH_WORDS


def _finds_loss(tool: ToolFeatures, score: WordScore, word_count: int) -> bool:
    likely = score.losing >= _DESTRUCTIVE_MINIMUM > score.reading and word_count >= _ENOUGH_WORDS
    return likely and not RULES.holds("never_destructive_by_words", tool)


def _confirms_reading(tool: ToolFeatures, verdict: ReadOnlyVerdict, score: WordScore) -> bool:
    """Whether the model agrees enough with a read-only verdict; for text in another language it has little weight."""
    if score.reading >= (_READ_ONLY_MINIMUM if verdict.overrule == FINAL else verdict.overrule):
        return True
    return score.reading >= _READ_ONLY_MINIMUM and is_foreign(tool.description)


def _finds_reading(tool: ToolFeatures, verdict: ReadOnlyVerdict, score: WordScore, word_count: int) -> bool:
    needed = verdict.overrule if word_count >= _ENOUGH_WORDS else SURE
    return score.reading >= needed and score.losing < _DESTRUCTIVE_LIMIT and not _words_mislead(tool)


def _words_mislead(tool: ToolFeatures) -> bool:
    """Whether the text mentions a side effect, tells someone, is in another language, or is disguised."""
    if RULES.holds("reports_something", tool) or "mentions_loss" in tool.says or "leaves_trace" in tool.says:
        return True
    return is_foreign(tool.description) or is_disguised(tool.description)
