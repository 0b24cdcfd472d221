"""Rules that decide whether a tool only reads: those for all tools, and the class of the name's verb for the others."""

from itertools import pairwise
from typing import Final

from assent.contract.infer.features.tool import ToolFeatures
from assent.contract.infer.features.words import word_set
from assent.contract.infer.lexicon import (
    ACTING,
    CONJUNCTION,
    MIXED,
    NOUN_FIRST,
    NOUN_TOO,
    NOUNS,
    OTHER_CLASS,
    READING,
    VERB_GROUPS,
    VERBS,
)
from assent.contract.infer.rules.condition import any_of, mentions, name_ends, no, starts, when
from assent.contract.infer.rules.programs import PROGRAM, ROUTES
from assent.contract.infer.rules.reads_by_class import judge_by_class
from assent.contract.infer.rules.table import ACTS, LOOKS, READS, ReadOnlyVerdict, decide, given, table

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


def _follows_conjunction(tool: ToolFeatures) -> bool:
    return not CONJUNCTION.isdisjoint(tool.name.words)


def _asks_for_plural(tool: ToolFeatures) -> bool:
    """`new_markets` asks for a list; `new_market` may create one."""
    return tool.last.endswith("s") and not tool.last.endswith("ss")


# `check_in` is an action, unless it checks whether something is so.
_CHECKS_WHETHER: Final = starts(r"checks? (?:if|whether)\b")

# It reports on an action, as in `gc_status` or `purge_history`, and the description only reads.
_REPORTS_ON_ACTION: Final = when(
    when(no_last="history", no_verb="@setting"),
    when(no_last="schema"),
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
    when(no_kind="destroy"),
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
        when(verb="review", words="pull pr merge request", params="@opinion_input"),
    ),
    decide(
        "read",
        "the name starts with a reading verb and the description only reads: `list_resume_versions`",
        when(
            _starts_with_other_word,
            no(_follows_conjunction),
            no_kind="destroy drive spend none",
            first="@fetching",
            traits="text_reads",
        ),
    ),
    decide(
        "read",
        "a dry run only plans",
        when(name_ends("dry run"), said_kind="@reading"),
    ),
    decide("read", "it reports on an action", _REPORTS_ON_ACTION),
    decide("thing", "the verb is used as a noun", _IS_NOUN),
)


_SCREENS: Final = word_set("browser camera canvas editor page screen tab viewport window")


# Switches that change what is read.
_CHANGES_WHAT_IS_READ: Final = frozenset({"keeps_or_fixes", "ends_found", "emptying"})


def judge_read_only(tool: ToolFeatures) -> ReadOnlyVerdict:
    """Return the verdict of the first rule that applies; rules that find an action come first."""
    return ALL_TOOLS.judge(tool) or judge_by_class(tool, find_class(tool))


def _list_acting_choices(tool: ToolFeatures) -> str:
    """Return the operations that act, of those that a parameter offers; for a read an uncertain one does not count."""
    guides = tool.kind == "noun" and bool(tool.words & NOUNS["guide"]) and tool.said_kinds <= READING
    doubtful = tool.kind == "read" or (guides and bool(tool.said_kinds))
    choices = tool.parameters.choices
    acting = {
        choice.verb
        for choice in choices
        if choice.kind in MIXED
        and (choice.certain or not doubtful or (guides and choice.kind == "destroy"))
        and not (choice.deep and "search" in tool.traits)
    }
    return ", ".join(sorted(acting))[:80]


def _name_claims_reading(tool: ToolFeatures) -> bool:
    return "readonly" in tool.name.words or ("read", "only") in pairwise(tool.name.words)


def _adds_numbers(tool: ToolFeatures) -> bool:
    return tool.name.words == ("add",) and tool.params == {"a", "b"}


def _opens_nodes(tool: ToolFeatures) -> bool:
    """`open_nodes` of memory-graph servers."""
    return tool.name.words[-2:] == ("open", "nodes") and tool.params == {"names"}


def _find_joined_name_verb(tool: ToolFeatures) -> str | None:
    """Return an acting verb that is joined to the verb of the name: `search_and_replace`."""
    beside = [verb for verb in tool.name.beside if VERBS[verb] in MIXED or VERBS[verb] == "make"]
    if not beside:
        return None
    words = tool.name.words
    told = any(_is_certain_action(verb) or _is_joined(words, verb) for verb in beside)
    told = told and not CONJUNCTION.isdisjoint(words)
    looks = "text_reads" in tool.traits or (tool.verb in VERB_GROUPS["fetching"] and tool.last_kind == "noun")
    return beside[0] if told or not looks else None


def _is_certain_action(verb: str) -> bool:
    return VERBS[verb] in ACTING and verb not in NOUN_TOO


def _is_joined(words: tuple[str, ...], verb: str) -> bool:
    """Whether the verb comes last, or after another verb and a conjunction: `scrape_and_save`."""
    place = words.index(verb)
    if place < 2 or words[place - 1] not in CONJUNCTION:
        return False
    return words[place - 2] in VERBS or (place == len(words) - 1 and VERBS[verb] in MIXED)


def _list_joined_text_verbs(tool: ToolFeatures) -> list[str]:
    """Return the further verbs of the description that act: `Read or replace the clipboard`."""
    checks = tool.said in {"check", "echo", "test", "validate", "verify"}
    return [verb for verb in tool.text.verbs[1:] if _acts(tool, verb) and not (checks and verb == "confirm")]


def _acts(tool: ToolFeatures, verb: str) -> bool:
    """Whether the verb changes something, or what a person sees: `Find and highlight text in a tab`."""
    shown = verb in {"focus", "highlight", "scroll", "zoom"} and not tool.opening.isdisjoint(_SCREENS)
    return VERBS[verb] in ACTING or shown


def _find_joined_text_verb(tool: ToolFeatures) -> str | None:
    return next(iter(_list_joined_text_verbs(tool)), None)


def _asks(tool: ToolFeatures) -> bool:
    """The name is a question: `is_connected`, `harbour_can_i_deploy`."""
    words, asking = tool.name.words, VERB_GROUPS["question_words"]
    return tool.first in asking or ("i" in words[1:-1] and words[words.index("i") - 1] in asking)


ALL_TOOLS: Final = table(
    decide(ACTS, "a parameter offers these operations: {found}", when(_list_acting_choices, traits="choices")),
    decide(ACTS, "the caller names the operation", ROUTES),
    decide(
        READS,
        "every operation that a parameter offers only reads",
        when(kind="manage none noun look read", no_said_kinds="@acting", traits="reading_choices"),
    ),
    decide(
        LOOKS,
        "the name and the description say that it only reads",
        when(_name_claims_reading, kind="run read look", says="changes_nothing"),
    ),
    decide(LOOKS, "it returns a changed form of its input", _adds_numbers),
    decide(LOOKS, "it looks up nodes of a graph by name", when(_opens_nodes, all_opening="graph knowledge")),
    decide(ACTS, "the name also says '{found}'", _find_joined_name_verb),
    given(
        when(kind="read look noun none session"),
        decide(ACTS, "the description also says '{found}'", _find_joined_text_verb),
    ),
    given(
        when(no_kind="destroy spend send share drive", no_traits="late", no_flags=PROGRAM | _CHANGES_WHAT_IS_READ),
        decide(
            LOOKS,
            "the description offers advice",
            when(traits="text_reads", no_verb="@following_advice", said="@fetching", object="@advice"),
        ),
        decide(
            LOOKS,
            "the description offers guidance",
            when(traits="text_reads", said="@explaining", says="gives_guidance"),
        ),
    ),
    decide(
        READS,
        "the name asks a question",
        when(
            _asks,
            when(opening="whether"),
            no_said_kinds="@acting",
        ),
    ),
)
