"""Rules that decide whether a tool only reads, by the class of the name's verb."""

from collections.abc import Mapping
from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import NOUN_TOO, NOUNS
from assent.infer.rules import side_effects as but_it
from assent.infer.rules.condition import any_of, mentions, no, when
from assent.infer.rules.output import OUTPUT
from assent.infer.rules.programs import PROGRAM, READ_ONLY_QUERY, TAKES_PROGRAM, claims_reading
from assent.infer.rules.reads_without_verb import NO_VERB, NOTHING_SAID
from assent.infer.rules.table import Table, but, decide, given, some, table
from assent.infer.rules.verb_class import find_class
from assent.infer.rules.verdict import (
    ACTS,
    FAIR,
    LOOKS,
    READS,
    STRONG,
    SURE,
    UNCLEAR,
    WEAK,
    ReadOnlyVerdict,
    by_name,
    by_text,
)

_STATEMENT_PARAMS: Final = "*body *expression *request *script *sql *statement *text *xml"


def judge_by_class(tool: ToolFeatures) -> ReadOnlyVerdict:
    """Return the verdict of the table for the verb's class; each table ends with a rule that always applies."""
    verdict = BY_CLASS.get(find_class(tool), ACT).judge(tool)
    return verdict or ReadOnlyVerdict(UNCLEAR, NOTHING_SAID)


def _is_ping(tool: ToolFeatures) -> bool:
    return tool.name.words == ("ping",)


def _makes_own_noun(tool: ToolFeatures) -> bool:
    return tool.verb == tool.last and tool.verb in tool.object


def _uses_other_verb(tool: ToolFeatures) -> bool:
    return tool.verb != tool.said


def _takes_query_parts(tool: ToolFeatures) -> bool:
    return len(tool.params & NOUNS["query_part"]) > 1


# The text starts with the object, so that a later verb is not the action.
_NAMES_OBJECT: Final = any_of(
    when(said="new", traits="late"),
    when(verb="@fetching", place="first last only", said="load select"),
    when(
        any_of(when(said_kind="send spend", said=NOUN_TOO), when(no_said_kind="@grave share")),
        verb="@fetching",
        place="first last only",
        traits="late",
    ),
)
_UNKNOWN_VERB: Final = "the name says '{verb}', but the meaning of '{unknown}' in the description is not known"
_TWO_VERBS: Final = "the name says '{verb}', but the description says '{said}'"
_SAYS_READ_ONLY: Final = "the name says '{verb}', and the description says that it only reads"

# The name's verb reads: `get_order`.
READ: Final = table(
    decide(UNCLEAR, _UNKNOWN_VERB, when(no(_NAMES_OBJECT), traits="unknown_verb"), overrule=STRONG),
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
    decide(
        READS,
        "it answers a ping",
        when(_is_ping, said_only="respond reply answer", opening="alive connectivity health pong"),
    ),
    decide(
        ACTS,
        _TWO_VERBS,
        when(no(_NAMES_OBJECT), said_kind="@grave"),
        when(no(_NAMES_OBJECT), verb=NOUN_TOO, said_kind="@acting"),
        overrule=by_text(SURE),
    ),
    decide(LOOKS, _SAYS_READ_ONLY, when(claims_reading, said_kind="change session")),
    decide(
        UNCLEAR,
        _TWO_VERBS,
        when(no(_NAMES_OBJECT), said_kind="@acting"),
        when(no(_NAMES_OBJECT), said_kind="session", no_said="authenticate"),
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
    decide(LOOKS, "the description says '{said}' about the {verb}", when(_makes_own_noun, said_kind="make")),
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
    decide(
        READS,
        "the name says '{verb}' and the description says '{said}'",
        when(said_kind="look", says="returns"),
        when(_uses_other_verb, said_kind="look"),
        overrule=WEAK,
    ),
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
        when(flags=PROGRAM | {"http", "task"}),
        when(words="@program"),
        when(said_kind="run", object="@statement_language"),
    ),
    decide(LOOKS, "its query language can only read", when(READ_ONLY_QUERY, no_flags="code command")),
    decide(
        UNCLEAR,
        "the caller writes the query",
        when(last="query queries", flags="query"),
        when(last="query queries", around="@store"),
    ),
    but(but_it.LEAVES_TRACE, reason="the name says '{{verb}}', and {}", verdict=ACTS),
    decide(ACTS, "it starts a job that continues", when(says="starts_job")),
    decide(UNCLEAR, "the caller writes what is run", when(last="query queries", params=_STATEMENT_PARAMS)),
    decide(ACTS, "the name says '{verb}' and the description says '{said}'", when(said="start trigger")),
    decide(
        LOOKS,
        "the name says '{verb}', and '{last}' only shows something",
        when(no(_RECORDED_CHECK), last="@report", no_said_kinds="@acting"),
    ),
    decide(LOOKS, "the caller builds the query from parts", when(_takes_query_parts, object="queries query")),
    decide(
        LOOKS,
        "it evaluates what the caller gives",
        when(verb="eval", said="evaluate", no_params="code expr expression expressions script"),
    ),
    decide(LOOKS, _TWO_VERBS, when(said_kind="read", no_said_kinds="@acting")),
    decide(
        LOOKS,
        "it returns the result of a stored query",
        when(about="query queries question", no_words="pipeline workflow", says="returns"),
    ),
    decide(ACTS, "the name says '{verb}'", overrule=by_name),
)

# All other verbs act: `send_letter`.
ACT: Final = table(
    decide(
        LOOKS,
        "the name says '{verb}', but the description only reads and says so",
        when(
            no(some(but_it.SAVES_RESULT)),
            mentions("read-only"),
            when(no_traits="confirmed late"),
            traits="text_reads",
            no_kind="@grave",
        ),
    ),
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
