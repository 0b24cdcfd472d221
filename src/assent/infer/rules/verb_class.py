"""Corrects the class of the name's verb by the words around it: `check_in` acts, `release_notes` is a thing."""

from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import CONJUNCTION, NOUN_FIRST, NOUN_TOO, OTHER_CLASS
from assent.infer.rules.condition import any_of, mentions, name_ends, no, starts, when
from assent.infer.rules.side_effects import IS_PREVIEW
from assent.infer.rules.table import decide, table

_REPORTED: Final = "history schema statistics stats status"


def find_class(tool: ToolFeatures) -> str:
    """Return the corrected class of the name's verb; `thing` is a verb that is used as a noun."""
    other, words = OTHER_CLASS.get(tool.verb, ("", frozenset()))
    meant = tool.words & words
    if meant and not (meant <= {"in", "out"} and _CHECKS_WHETHER(tool)):
        return other
    match = CORRECTIONS.first(tool)
    return match[0].verdict if match else tool.kind


def _starts_with_other_word(tool: ToolFeatures) -> bool:
    return tool.first != tool.verb


def _is_joined(tool: ToolFeatures) -> bool:
    return not CONJUNCTION.isdisjoint(tool.name.words)


def _makes_only(tool: ToolFeatures) -> bool:
    return tool.said_kinds == {"make"}


def _asks_for_plural(tool: ToolFeatures) -> bool:
    """`new_markets` asks for a list; `new_market` may create one."""
    return tool.last.endswith("s") and not tool.last.endswith("ss")


# `check_in` is an action, unless it checks whether something is so.
_CHECKS_WHETHER: Final = starts(r"checks? (?:if|whether)\b")

# It reports on an action, as in `gc_status` or `purge_history`, and the description only reads.
_REPORTS_ON_ACTION: Final = when(
    any_of(when(kind="destroy"), when(no_last="history", no_verb="@setting")),
    any_of(when(no_last="schema"), when(said="get")),
    no(starts(r"[^.]*(?:,| and | as | into | off )")),
    no(
        mentions(
            r"\b(?:are|be|gets?|is|was|were) (?:\w+ly )?(?:dropped|removed|deleted|erased|purged|lost|cleared)\b"
            r"|\bempty\b|\bto zero\b",
            within=300,
        )
    ),
    kind="@acting",
    last=_REPORTED,
    said="check get list poll query read retrieve return show view",
    object=_REPORTED,
    no_traits="confirmed",
    # With one of these parameters it sets a value, and does not report one.
    no_params="content data force message new_status schema state status text value",
)
# The verb is a noun, as in `release_notes`: the description does not use it.
_IS_NOUN: Final = when(
    any_of(when(no_kind="destroy"), when(verb="@often_nouns")),
    any_of(
        when(_makes_only, verb=NOUN_FIRST, place="middle last"),
        when(
            any_of(
                when(place="last"),
                when(place="middle", no_verb="@never_nouns"),
                when(verb=NOUN_FIRST),
                when(_asks_for_plural, verb="new"),
                when(verb="@priced", last="@price_or_status"),
            ),
            traits="text_reads",
        ),
    ),
    verb=NOUN_TOO,
    no_kind="@reading",
    no_traits="confirmed",
)

CORRECTIONS: Final = table(
    decide(
        "change",
        "resolving something that is not an identifier changes it",
        when(
            no(when(opens="looks_up")),
            verb="resolve",
            no_said_kind="read",
            no_words="@identifier",
            no_says="changes_nothing",
        ),
    ),
    decide(
        "add",
        "a review with a decision is submitted",
        when(verb="review", params="decision verdict"),
        when(verb="review", words="pull pr merge request", flags="payload"),
        when(verb="review", words="pull pr merge request", params="@opinion_input"),
    ),
    decide(
        "read",
        "the name starts with a reading verb and the description only reads: `list_resume_versions`",
        when(_starts_with_other_word, no(_is_joined), verb=NOUN_TOO, first="@fetching", traits="text_reads"),
        when(
            _starts_with_other_word,
            no(_is_joined),
            no_kind="destroy drive spend none",
            first="@fetching",
            traits="text_reads",
        ),
    ),
    decide("read", "a dry run only plans", when(name_ends("dry run"), said_kind="@reading"), IS_PREVIEW),
    decide("read", "it reports on an action", _REPORTS_ON_ACTION),
    decide("run", "a report that is run", when(verb="report", words="run", no_words="async")),
    decide(
        "make",
        "the text says that it only makes a result",
        when(verb="create", said_kind="make", no_said="record", says="only_makes"),
    ),
    decide("none", "`operations` at the start is a noun", when(verb="operations", place="first")),
    decide("thing", "the verb is used as a noun", _IS_NOUN),
)
