"""Rules that decide whether a tool only reads. These are for all tools; `reads_by_class` has the others."""

import re
from itertools import pairwise
from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.features.words import word_set
from assent.infer.lexicon import ACTING, CONJUNCTION, MIXED, NOUN_TOO, NOUNS, READING, VERB_GROUPS, VERBS
from assent.infer.rules.condition import any_of, mentions, no, when
from assent.infer.rules.programs import ONLY_READS, PROGRAM
from assent.infer.rules.reads_by_class import judge_by_class
from assent.infer.rules.table import decide, given, table, unless
from assent.infer.rules.verdict import ACTS, LOOKS, READS, SURE, ReadOnlyVerdict

_SCREENS: Final = word_set("browser camera canvas editor page screen tab viewport window")
# Words that follow a counted noun: `spend and clicks`, but not `spend points on an item`.
_AFTER_A_THING: Final = (
    "(?:amounts?|and|appliances|breakdown|by|data|endpoint|health|info|limits?"
    "|locations|metrics|or|per|restrictions|status|templates)"
)
_CALCULATION: Final = re.compile(
    r"adds? two (?:integers|numbers)(?: together| and returns? the sum| a and b)?"
    r"|(?:reverses?|simplif(?:y|ies)|solves?|integrates?|factors?) an? (?:\w+ )?(?:equation|expression|string)"
    r"|(?:splits?|joins?|concatenates?) (?:an?|two) strings?(?: by an? \w+)?"
    r"|converts? an? string to (?:lower|upper)case"
)


# Switches that change what is read.
_CHANGES_WHAT_IS_READ: Final = frozenset({"keeps_or_fixes", "ends_found", "emptying"})


def judge_read_only(tool: ToolFeatures) -> ReadOnlyVerdict:
    """Return the verdict of the first rule that applies; rules that find an action come first."""
    return ALL_TOOLS.judge(tool) or judge_by_class(tool)


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


def _adds_numbers(tool: ToolFeatures) -> bool:
    return tool.name.words == ("add",) and tool.params == {"a", "b"}


def _is_calculation(tool: ToolFeatures) -> bool:
    """The first sentence is a plain calculation: `Split a string by a delimiter`."""
    return _CALCULATION.fullmatch(tool.lower[:120].partition(".")[0].strip()) is not None


def _offers_reading(tool: ToolFeatures) -> bool:
    return any(choice.kind in READING for choice in tool.parameters.choices)


def _has_opening(tool: ToolFeatures) -> bool:
    return bool(tool.opening)


def _takes_only_text(tool: ToolFeatures) -> bool:
    return tool.params == {"text"} and " in place" not in tool.description


def _opens_nodes(tool: ToolFeatures) -> bool:
    return tool.name.words[-2:] == ("open", "nodes") and tool.params == {"names"}


def _name_claims_reading(tool: ToolFeatures) -> bool:
    return "readonly" in tool.name.words or ("read", "only") in pairwise(tool.name.words)


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


def _counts_things(tool: ToolFeatures) -> bool:
    """The further verbs of the description are nouns of things that a fetching tool counts."""
    fetches = tool.verb in {"get", "list"} or bool(tool.words & {"get", "list"})
    return fetches and all(_is_counted(tool, verb) for verb in _list_joined_text_verbs(tool))


def _is_counted(tool: ToolFeatures, verb: str) -> bool:
    said = re.search(rf"\b{verb}s?(?:[,.);]| {_AFTER_A_THING}\b)", tool.lower[:400])
    return VERBS[verb] not in {"destroy", "drive", "send", "share"} and said is not None


def _asks(tool: ToolFeatures) -> bool:
    """The name is a question: `is_connected`, `harbour_can_i_deploy`."""
    words, asking = tool.name.words, VERB_GROUPS["question_words"]
    return tool.first in asking or ("i" in words[1:-1] and words[words.index("i") - 1] in asking)


# An action only filters a list, as in `list_refunds`; not if `list` is one of the choices.
_FILTERS_LIST: Final = when(
    verb="count list", place="first", no_last="manager ops", no_traits="text_does_more", no_offers="@chosen_operations"
)
# The operation is only checked, as in `validate_rows`, and the text says that nothing changes.
_CHECKS_ONLY: Final = when(
    no(_offers_reading),
    mentions("without making any changes"),
    ONLY_READS,
    verb="validate verify",
    first="validate verify",
    no_traits="text_does_more",
)

ALL_TOOLS: Final = table(
    unless(
        any_of(_FILTERS_LIST, _CHECKS_ONLY),
        decide(ACTS, "a parameter offers these operations: {found}", when(_list_acting_choices, traits="choices")),
        decide(
            READS,
            "every operation that a parameter offers only reads",
            when(kind="manage none noun look read", no_said_kinds="@acting", traits="reading_choices"),
        ),
    ),
    decide(
        LOOKS,
        "it returns a changed form of its input",
        _adds_numbers,
        when(
            _takes_only_text,
            mentions(r"^[^.]* (?:from|in|of) (?:an? |the |given |this )?text\b"),
            verb="@rewording",
            traits="confirmed",
            says="returns",
            no_says="cannot_be_undone",
        ),
        when(_is_calculation, no_params="*id *ids *path *file *name *url *document *session *key"),
    ),
    # `open_nodes` of memory-graph servers.
    decide(LOOKS, "it looks up nodes of a graph by name", when(_opens_nodes, all_opening="graph knowledge")),
    decide(
        LOOKS,
        "the name and the description say that it only reads",
        when(_name_claims_reading, kind="run read look", says="changes_nothing"),
    ),
    decide(ACTS, "the name also says '{found}'", _find_joined_name_verb),
    given(
        when(kind="read look noun none session"),
        decide(
            ACTS, "the description also says '{found}'", when(_counts_things, _find_joined_text_verb), overrule=SURE
        ),
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
            when(traits="text_reads", opening="@guide", no_traits="confirmed", says="gives_guidance"),
        ),
    ),
    decide(
        READS,
        "the name asks a question",
        when(
            _asks,
            any_of(no(when(_has_opening, first="does should")), when(opening="whether"), when(traits="text_reads")),
            no_said_kinds="@acting",
        ),
    ),
)
