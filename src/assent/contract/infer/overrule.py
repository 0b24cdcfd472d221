"""Lets the word model overrule a rule that rests on one word, and find damage that no rule knows."""

from typing import Final

from assent.contract.infer.features.tool import ToolFeatures
from assent.contract.infer.features.words import word_set
from assent.contract.infer.lexicon import VERB_GROUPS
from assent.contract.infer.model import Weights, WordScore, is_disguised, is_foreign, tell_readers, weigh
from assent.contract.infer.rules.losses import NO_DAMAGE, Damage, find_damage
from assent.contract.infer.rules.tables import (
    FINAL,
    LOOKS,
    READS,
    SURE,
    UNCLEAR,
    WEAK,
    ReadOnlyVerdict,
    any_of,
    mentions,
    no,
    starts,
    when,
)

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

# Name and description use the same plain reading verb: `get_boat` with "Get a boat".
_PLAIN_READ: Final = when(traits="confirmed", verb=VERB_GROUPS["fetching"] | {"describe", "enumerate", "peek", "read"})
# Tools whose words resemble those of destructive tools, although nothing is lost: a message, and something that is
# brought back, unless the text says that something else is lost.
_NEVER_DESTRUCTIVE_BY_WORDS: Final = any_of(
    when(kind="destroy send"),
    when(
        starts(
            r"(?:recover|restore)s? (?:an? |the |previously )*(?:\w+ or )?"
            r"(?:soft[- ])?(?:archived|deleted|disabled|suspended|trashed)\b"
        ),
        no(
            mentions(
                r"\b(?:delet|discard|overwrit|remov|replac|truncat|wip)(?:es|ing|s)\b"
                r"|\b(?:are|gets?|is) (?:deleted|removed|shut)\b",
                within=_HEAD,
            )
        ),
    ),
)
_HAS_ACTING_VERB: Final = any_of(when(kind="@mixed session"), when(said_kinds="@mixed session"))


def ask_model(
    tool: ToolFeatures, verdict: ReadOnlyVerdict, damage: Damage, weights: Weights | None
) -> tuple[ReadOnlyVerdict, Damage]:
    """Return the verdict and the damage after the model looked at the words."""
    if damage.destructive or (verdict.level == READS and _PLAIN_READ(tool)):
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
    if verdict.reads or verdict.overrule != WEAK or _HAS_ACTING_VERB(tool):
        return _ENOUGH_WORDS
    carried = tool.words | tool.opening | _VALUE_INPUTS  # a parameter carries what the name says
    return 1 if carried.isdisjoint(tool.params) else _ENOUGH_WORDS


def _finds_loss(tool: ToolFeatures, score: WordScore, word_count: int) -> bool:
    likely = score.losing >= _DESTRUCTIVE_MINIMUM > score.reading and word_count >= _ENOUGH_WORDS
    return likely and not _NEVER_DESTRUCTIVE_BY_WORDS(tool)


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
    if _REPORTS_SOMETHING(tool) or "mentions_loss" in tool.says or "leaves_trace" in tool.says:
        return True
    return is_foreign(tool.description) or is_disguised(tool.description)


# `Report a card as lost` tells someone.
_REPORTS_SOMETHING: Final = starts(r"reports? an? ")
