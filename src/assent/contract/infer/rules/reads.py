"""Rules that decide whether a tool only reads: those for all tools, and those of the class of the name's verb."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from assent.contract.infer.features.name import read_name
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
from assent.contract.infer.rules import side_effects as but_it
from assent.contract.infer.rules.execution import PROGRAM, READ_ONLY_QUERY, ROUTES, TAKES_PROGRAM, claims_reading
from assent.contract.infer.rules.side_effects import OUTPUT
from assent.contract.infer.rules.tables import (
    ACTS,
    FAIR,
    LOOKS,
    READS,
    STRONG,
    SURE,
    UNCLEAR,
    WEAK,
    ReadOnlyVerdict,
    Table,
    any_of,
    but,
    by_name,
    by_text,
    decide,
    given,
    mentions,
    name_ends,
    no,
    some,
    starts,
    table,
    when,
)

_GIVES_VALUE: Final = frozenset({"payload", "force", "confirm", "dry_run"})
_CHOOSES_OPERATION: Final = "action command method operation"
NOTHING_SAID: Final = "neither the name nor the description says what it does"


def _mentions_source(tool: ToolFeatures) -> bool:
    return " source" in tool.description and "not_written" in tool.says


def _find_reading_title(tool: ToolFeatures) -> str | None:
    return _title_verb(tool, READING)


def _find_acting_title(tool: ToolFeatures) -> str | None:
    return _title_verb(tool, MIXED)


def _title_verb(tool: ToolFeatures, kinds: frozenset[str]) -> str | None:
    title = read_name(tool.title, tool.text.verbs)
    return title.verb if title.place in {"first", "only"} and title.kind in kinds else None


# A first sentence that continues, in other languages.
_CONTINUES_IN_OTHER_LANGUAGE: Final = mentions(
    r"\A[^.。\n]*(?:并(?!且?返回)|並(?!且?返回)|后|後|然|して|하여|후| (?:e|et|y|и) "
    r"|[，,；;][^.。\n]*(?:自动|同时|将|失效|重启|支付|扣|标记|通知|下单|取消|停止|启动|发布))"
)
_DESCRIPTION: Final = "the description says '{said}'"

NO_VERB: Final = table(
    decide(
        UNCLEAR,
        "the name has no verb, and the meaning of '{unknown}' in the description is not known",
        when(traits="unknown_verb"),
    ),
    decide(
        ACTS,
        "it sends requests with any method",
        when(flags="http", no_last="entries history log logs requests traffic"),
    ),
    decide(
        ACTS, "the description says '{said}' about a device", when(said="simulate", object=OTHER_CLASS["simulate"][1])
    ),
    decide(ACTS, "the description lists operations that change something", when(opens="lists_operations")),
    decide(
        LOOKS,
        "the description says that the result is returned and not kept",
        when(_mentions_source, no(some(but_it.SAVES_RESULT)), said_only="create make", says="returns"),
    ),
    decide(ACTS, _DESCRIPTION, when(said_kinds="@acting"), overrule=by_text(WEAK)),
    given(when(said_kind="make"), OUTPUT),
    decide(
        LOOKS,
        _DESCRIPTION,
        when(
            no(some(but_it.SAVES_RESULT)),
            said_kind="run",
            no_said="operate orchestrate",
            object="@report",
            no_object="@caller_program",
        ),
        overrule=WEAK,
    ),
    but(
        TAKES_PROGRAM,
        but_it.SAVES_RESULT,
        but_it.ACTS_FIRST,
        but_it.CAN_FIX,
        but_it.LEAVES_TRACE,
        but_it.ASKS_AGENT,
        but_it.STARTS_JOB,
        but_it.GRANTS_ACCESS,
        reason="{}",
    ),
    decide(UNCLEAR, "what it tracks may be recorded: the name says '{verb}'", when(said="track", kind="@acting")),
    decide(
        LOOKS,
        "the name has no verb, and the description says '{said}'",
        when(said="calculate count fetch find get list lookup retrieve search"),
    ),
    decide(LOOKS, "the name has no verb, and the description says '{said}'", when(said_kind="@reading"), overrule=WEAK),
    decide(LOOKS, "the title says '{found}'", _find_reading_title),
    decide(ACTS, "the title says '{found}'", _find_acting_title),
    decide(
        LOOKS,
        "the description starts with a reading verb in another language",
        when(
            no(_CONTINUES_IN_OTHER_LANGUAGE),
            no_params=_CHOOSES_OPERATION,
            no_flags=_GIVES_VALUE | PROGRAM,
            says="reads_in_other_language",
            no_says="acts_in_other_language",
        ),
    ),
    decide(UNCLEAR, NOTHING_SAID, when(words="cutoff deletion erasure eviction removal termination")),
    decide(UNCLEAR, NOTHING_SAID, overrule=WEAK),
)


_STATEMENT_PARAMS: Final = "*body *expression *request *script *sql *statement *text *xml"


def judge_by_class(tool: ToolFeatures, verb_class: str) -> ReadOnlyVerdict:
    """Return the verdict of the table for the verb's class; each table ends with a rule that always applies."""
    verdict = BY_CLASS.get(verb_class, ACT).judge(tool)
    return verdict or ReadOnlyVerdict(UNCLEAR, NOTHING_SAID)


_UNKNOWN_VERB: Final = "the name says '{verb}', but the meaning of '{unknown}' in the description is not known"
_TWO_VERBS: Final = "the name says '{verb}', but the description says '{said}'"
_SAYS_READ_ONLY: Final = "the name says '{verb}', and the description says that it only reads"

# The name's verb reads: `get_order`.
READ: Final = table(
    decide(UNCLEAR, _UNKNOWN_VERB, when(traits="unknown_verb"), overrule=STRONG),
    decide(LOOKS, _SAYS_READ_ONLY, when(some(TAKES_PROGRAM), claims_reading, no_flags="code")),
    but(
        but_it.SENDS_REQUEST,
        TAKES_PROGRAM,
        but_it.EVALUATES_INPUT,
        but_it.ENDS_WITH_LOSS,
        but_it.WRITES_FILE,
        but_it.ASKS_AGENT,
        but_it.GRANTS_ACCESS,
        but_it.LEAVES_TRACE,
        but_it.SHOWS,
        but_it.ACTS_FIRST,
        but_it.ISSUES_SECRET,
        but_it.CAN_FIX,
        but_it.STARTS_JOB,
        # `research_start`, but not `get_launch`.
        given(when(last="@starting_or_stopping", no_verb="@fetching"), but_it.ENDS_WITH_ACTION),
    ),
    decide(ACTS, _TWO_VERBS, when(verb=NOUN_TOO, said_kind="@acting"), overrule=by_text(SURE)),
    decide(
        UNCLEAR,
        _TWO_VERBS,
        when(said_kind="@acting"),
        when(said_kind="session", no_said="authenticate"),
        overrule=by_text(FAIR),
    ),
    decide(READS, "the name says '{verb}', but the description only says '{said}'", when(kind="@acting")),
    decide(READS, "the name says '{verb}'", overrule=WEAK),
)

# The name's verb looks or works something out: `check_order`. Some of these tools also act.
LOOK: Final = table(
    decide(UNCLEAR, _UNKNOWN_VERB, when(traits="unknown_verb"), overrule=STRONG),
    decide(ACTS, _TWO_VERBS, when(said_kinds="@acting"), overrule=by_text(SURE)),
    decide(
        ACTS,
        "the name says '{verb}', but the description says '{said}' about a task",
        when(said_kind="run", object="agent errand instruction instructions prompt task"),
    ),
    given(when(verb=NOUN_TOO, said_kind="make", no_traits="confirmed late"), OUTPUT),
    but(
        TAKES_PROGRAM,
        but_it.SAVES_RESULT,
        but_it.TESTS,
        but_it.ASKS_AGENT,
        but_it.GENERATES_MEDIA,
        but_it.SENDS_REQUEST,
        but_it.EVALUATES_INPUT,
        but_it.ENDS_WITH_LOSS,
        but_it.LEAVES_TRACE,
        but_it.ENDS_WITH_ACTION,
        but_it.RUNS_STATEMENT,
        but_it.ACTS_FIRST,
        but_it.STARTS_JOB,
    ),
    decide(
        UNCLEAR,
        "the name says '{verb}', but the description names an action in another language",
        when(traits="no_text_verb", says="acts_in_other_language"),
    ),
    decide(UNCLEAR, _TWO_VERBS, when(said_kind="session", no_said="authenticate")),
    decide(READS, "the name says '{verb}' and the description says '{said}'", when(said_kind="read")),
    decide(LOOKS, "the name says '{verb}'", overrule=WEAK),
)

_RECORDED_CHECK: Final = when(
    traits="no_parameters", said_kind="run", last="audit check checks validation verification", no_says="returns"
)

# The name's verb runs something: `run_report`.
RUN: Final = table(
    decide(ACTS, "the name says '{verb}', and it can fix or keep what it finds", when(flags="keeps_or_fixes")),
    decide(ACTS, _UNKNOWN_VERB, when(traits="unknown_verb")),
    decide(LOOKS, _SAYS_READ_ONLY, when(claims_reading, no_flags="code command")),
    decide(
        ACTS,
        "the caller gives a program, a request or a task",
        when(said_kind="run", object="@statement_language"),
    ),
    decide(LOOKS, "its query language can only read", when(READ_ONLY_QUERY, no_flags="code command")),
    decide(
        UNCLEAR,
        "the caller writes the query",
        when(last="query queries", flags="query"),
    ),
    but(but_it.LEAVES_TRACE, reason="the name says '{{verb}}', and {}", verdict=ACTS),
    decide(ACTS, "it starts a job that continues", when(says="starts_job")),
    decide(UNCLEAR, "the caller writes what is run", when(last="query queries", params=_STATEMENT_PARAMS)),
    decide(
        LOOKS,
        "the name says '{verb}', and '{last}' only shows something",
        when(no(_RECORDED_CHECK), last="@report", no_said_kinds="@acting"),
    ),
    decide(
        LOOKS,
        "it returns the result of a stored query",
        when(about="query queries question", no_words="pipeline workflow", says="returns"),
    ),
    decide(ACTS, "the name says '{verb}'", overrule=by_name),
)

# All other verbs act: `send_letter`.
ACT: Final = table(
    decide(ACTS, "the name says '{verb}'", overrule=by_name),
)

BY_CLASS: Final[Mapping[str, Table]] = {
    "read": READ,
    "look": LOOK,
    "run": RUN,
    "make": OUTPUT,
    "none": NO_VERB,
    "noun": NO_VERB,
    "thing": NO_VERB,
}


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
