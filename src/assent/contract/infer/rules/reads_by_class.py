"""Rules that decide whether a tool only reads, by the class of the name's verb."""

from collections.abc import Mapping
from typing import Final

from assent.contract.infer.features.name import read_name
from assent.contract.infer.features.tool import ToolFeatures
from assent.contract.infer.lexicon import MIXED, NOUN_TOO, OTHER_CLASS, READING
from assent.contract.infer.rules import side_effects as but_it
from assent.contract.infer.rules.condition import mentions, no, when
from assent.contract.infer.rules.programs import PROGRAM, READ_ONLY_QUERY, TAKES_PROGRAM, claims_reading
from assent.contract.infer.rules.side_effects import OUTPUT
from assent.contract.infer.rules.table import (
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
    but,
    by_name,
    by_text,
    decide,
    given,
    some,
    table,
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
