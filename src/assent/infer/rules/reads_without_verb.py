"""Rules that decide whether a tool only reads, for names without a verb: the description and the title decide."""

import re
from typing import Final

from assent.infer.features.name import read_name
from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import ACTING, MIXED, NOUN_TOO, OTHER_CLASS, READING, VERBS, find_verb
from assent.infer.rules import side_effects as but_it
from assent.infer.rules.condition import mentions, no, when
from assent.infer.rules.output import OUTPUT
from assent.infer.rules.programs import PROGRAM, TAKES_PROGRAM, claims_reading
from assent.infer.rules.table import but, decide, given, some, table
from assent.infer.rules.verdict import ACTS, LOOKS, UNCLEAR, WEAK, by_text

_GIVES_VALUE: Final = frozenset({"payload", "force", "confirm", "dry_run"})
_CHOOSES_OPERATION: Final = "action command method operation"
_READ_ONLY_SELECT: Final = re.compile(r"\bruns? an? read-?only (?:\w+ )?(?:select|sql|query|statement)\b")
NOTHING_SAID: Final = "neither the name nor the description says what it does"


def _headline_alters(tool: ToolFeatures) -> bool:
    altering = {"alter", "create", "create/merge", "ddl", "dml", "drop", "merge", "other"}
    return not altering.isdisjoint(tool.headline.split())


def _selects(tool: ToolFeatures) -> bool:
    return _READ_ONLY_SELECT.search(tool.headline) is not None


def _mentions_source(tool: ToolFeatures) -> bool:
    return " source" in tool.description and "not_written" in tool.says


def _find_reading_title(tool: ToolFeatures) -> str | None:
    return _title_verb(tool, READING)


def _find_acting_title(tool: ToolFeatures) -> str | None:
    return _title_verb(tool, MIXED)


def _title_verb(tool: ToolFeatures, kinds: frozenset[str]) -> str | None:
    title = read_name(tool.title, tool.text.verbs)
    return title.verb if title.place in {"first", "only"} and title.kind in kinds else None


def _find_topic(tool: ToolFeatures) -> str | None:
    """Return what a definition without a verb is about."""
    if any(map(_is_action, tool.opening)):
        return None
    topic = tool.text.topic or (tool.verb if tool.kind == "noun" and tool.opening else None)
    return topic or ("insight" if tool.description.startswith("Insight into ") else None)


def _is_action(word: str) -> bool:
    verb = find_verb(word)
    return verb is not None and verb not in NOUN_TOO and VERBS[verb] in ACTING


# The name asks for a state, as in `harbour_status`, and no parameter could be stored.
_REPORTS_STATE: Final = when(
    no(some(but_it.SAVES_RESULT)),
    no(some(but_it.LEAVES_TRACE)),
    last="@information",
    no_flags=_GIVES_VALUE | PROGRAM | {"keeps_or_fixes"},
    no_params=_CHOOSES_OPERATION,
)
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
    decide(LOOKS, "the description says that it only reads", when(claims_reading, kind="noun", place="last")),
    decide(
        LOOKS,
        "the name has no verb, and it is about {last}",
        when(_REPORTS_STATE, kind="noun", traits="late", no_said_kind="@grave"),
    ),
    decide(
        LOOKS,
        "it loads something, and the caller gives nothing",
        when(when(said_only="load"), no(some(but_it.LEAVES_TRACE)), traits="no_parameters"),
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
    decide(ACTS, _DESCRIPTION, when(said_kinds="@acting"), when(said_kind="manage session"), overrule=by_text(WEAK)),
    given(when(said_kind="make"), OUTPUT),
    decide(
        LOOKS,
        "the description says '{said}', and that it only reads",
        when(_selects, no(_headline_alters), claims_reading, said_kind="run", no_flags="code command"),
    ),
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
    decide(ACTS, _DESCRIPTION, when(said_kind="run"), overrule=by_text(WEAK)),
    but(
        TAKES_PROGRAM,
        but_it.SAVES_RESULT,
        but_it.ACTS_FIRST,
        but_it.CAN_FIX,
        but_it.LEAVES_TRACE,
        but_it.ASKS_AGENT,
        but_it.RUNS_NAMED_OPERATION,
        but_it.STARTS_JOB,
        but_it.GRANTS_ACCESS,
        reason="{}",
    ),
    decide(
        UNCLEAR,
        "the description says what is returned, but not what is done",
        when(when(no_traits="no_parameters"), said="return", traits="late", no_kind="noun"),
        overrule=WEAK,
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
    decide(LOOKS, "the description says that it only reads", when(kind="noun", says="changes_nothing")),
    decide(
        LOOKS,
        "there is no verb, and it is about {found}",
        when(when(no_params=_CHOOSES_OPERATION, no_flags=_GIVES_VALUE), _find_topic),
    ),
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
