"""Rules for side effects of tools that look like reads. Each reason completes the sentence "it reads, but …"."""

from typing import Final

from assent.contract.infer.features.tool import ToolFeatures
from assent.contract.infer.lexicon import NOUN_FIRST, NOUNS, VERB_GROUPS
from assent.contract.infer.rules.execution import ONLY_READS
from assent.contract.infer.rules.tables import (
    ACTS,
    FAIR,
    FINAL,
    LOOKS,
    SURE,
    UNCLEAR,
    WEAK,
    TableRule,
    Test,
    any_of,
    decide,
    name_ends,
    no,
    rule,
    some,
    table,
    when,
)

_AGENTS: Final = "agent agents assistant bot"
_RESULT_SAVED: Final = "the result may be saved"


def _would_act(tool: ToolFeatures) -> bool:
    return " would " in tool.description.partition(".")[0]


def _ends_with_other_verb(tool: ToolFeatures) -> bool:
    return tool.last != tool.verb


def _opens_in_program(tool: ToolFeatures) -> bool:
    """The name says where it is opened: `view_in_browser`."""
    words = tool.name.words
    return len(words) > 2 and words[-2] == "in" and words[-1] in NOUNS["program_window"]


def _frees_agent(tool: ToolFeatures) -> bool:
    """A parameter lets an agent act without asking."""
    freedom = tool.params & NOUNS["agent_freedom"]
    return bool(freedom) and (bool(tool.flags & {"task", "message"}) or freedom != {"permission_mode"})


# It only previews: the text says "would" and read-only, and no parameter confirms.
IS_PREVIEW: Final = when(
    _would_act,
    ONLY_READS,
    first="plan preview",
    said_only="preview show",
    no_params="apply* confirm* execute* force*",
    no_says="mentions_loss",
)
# A boolean parameter adds an action; for a list it only filters.
ADDS_ACTION: Final = when(flags="extra_action", no_verb="@fetching extract parse")
CAN_KEEP: Final = any_of(when(flags="keeps_or_fixes"), ADDS_ACTION)

# A parameter names a file for the result; for a screenshot any path counts.
_TAKES_OUTPUT_FILE: Final = when(
    no(when(said_kind="make", object="command")),
    any_of(
        when(flags="file"),
        when(words="screenshot screenshots", params="@path_input"),
        when(said="render", no_verb="@fetching", params="path"),
    ),
)
SAVES_RESULT: Final = rule(
    _RESULT_SAVED, name_ends("to file"), _TAKES_OUTPUT_FILE, when(says="saves", no_says="writes_no_file")
)
WRITES_FILE: Final = rule(
    _RESULT_SAVED, _TAKES_OUTPUT_FILE, when(all_params="file_name overwrite"), when(opens="saves_file")
)
# Tools that list or test requests do not send them.
SENDS_REQUEST: Final = rule(
    "it sends requests with any method",
    when(all_flags="http url", no_verb="count describe find list search validate verify"),
    when(
        when(params="@target"),
        flags="http",
        no_verb="count describe find list search validate verify",
        params="body data json payload",
    ),
)
GRANTS_ACCESS: Final = rule(
    "what it returns grants access",
    when(when(words="@access_link_kind"), no_verb="list", words="@access_link"),
    when(no_verb="list", last="upload", all_opening="presigned url"),
)
LEAVES_TRACE: Final = table(
    rule("a switch marks, removes or ends what is read", when(flags="marks_read emptying ends_found")),
    rule("the description says that something is lost", when(opens="replaces loses")),
    rule(
        "it really does what it checks",
        when(opens="does_it"),
    ),
    rule("the description says that reading changes something", when(says="leaves_trace")),
)
STARTS_JOB: Final = rule(
    "it starts a job that continues",
    when(no_words="status", says="queues"),
    when(no_words="status", no_verb="@fetching check describe poll query read view wait", says="starts_job"),
)
EVALUATES_INPUT: Final = rule(
    "it evaluates what the caller writes",
    when(verb="evaluate", params="expr expression expressions", no_around="@arithmetic"),
    when(verb="aggregate", params="pipeline", around="collection database mongodb", no_says="changes_nothing"),
    when(verb="explain", params="analyze"),
)
# `view_delete`, `list_delete`: the last word is the action, whatever the description says.
ENDS_WITH_LOSS: Final = rule(
    "the name ends with '{last}'",
    when(no(IS_PREVIEW), last=(VERB_GROUPS["certain_losses"] | {"remove"}) - {"drop", "empty", "kill", "trash"}),
)
# `monitor_voyage_start`, and the description does more than read.
ENDS_WITH_ACTION: Final = rule(
    "the name ends with '{last}'",
    when(
        any_of(when(last="@starting_or_stopping"), when(no_traits="text_reads")),
        _ends_with_other_verb,
        last_kind="@acting",
        no_last=NOUN_FIRST,
    ),
)
ACTS_FIRST: Final = rule(
    "it does something before it reads",
    when(flags="url", params="actions steps", no_traits="reading_choices"),
    when(said="perform", object="action actions"),
    when(flags="task message", opens="autonomous"),
    when(no_verb="answer", opens="presses"),
    when(lambda tool: "press" in tool.lower, kind="none noun", params="click"),
)
ISSUES_SECRET: Final = rule(
    "it makes a new key, link or token", when(no_verb="list", all_about="new", about="@access_token")
)
CAN_FIX: Final = table(
    rule(
        "it has a dry run, so a real run changes something",
        when(no(when(verb="describe fetch get list read retrieve search", said_kind="read")), flags="dry_run"),
    ),
    rule("it can fix or keep what it finds", CAN_KEEP),
)
RUNS_STATEMENT: Final = table(
    rule(
        "it starts something, and the description does not say what it returns",
        when(said_kind="run", verb="@measuring", no_says="returns"),
        overrule=FAIR,
    ),
    rule("it runs what it measures", when(verb="benchmark", about="@script_file")),
    rule("it runs a statement", when(said_kind="run", verb="analyze", object="analyze")),
)
SHOWS: Final = table(
    rule("it opens something on a screen", _opens_in_program),
    rule(
        "it shows something to a person",
        when(verb="display show tell", params="@shown_input"),
        when(
            any_of(
                when(
                    words="@shown_on_screen", no_said_kinds="make add destroy run send share spend drive session manage"
                ),
                when(all_params="representation selection"),
            ),
            any_of(when(said="show hide"), when(said_verbs="display")),
            verb="show",
            no_object="details info information",
            no_says="returns",
        ),
    ),
    rule(
        "it moves, lights or records something",
        when(verb="look", words="at", params="@aim_input"),
        when(verb="identify locate ping", params="duration seconds", no_params="host url"),
    ),
)
ASKS_AGENT: Final = rule(
    "it asks an agent, which may act",
    when(verb="@consulting", words=_AGENTS),
    when(said="@consulting", opens="may_act"),
    _frees_agent,
)
GENERATES_MEDIA: Final = rule(
    "the description says '{said}'",
    when(said="generate produce", object="image images video videos audio music speech", no_says="returns"),
)
TESTS: Final = table(
    rule("it can fix or keep what it finds", CAN_KEEP),
    rule(
        "a test may do anything",
        when(verb="test", no_said_kind="read", no_words="@harmless_test", no_says="changes_nothing"),
        overrule=FAIR,
    ),
    rule(
        "it may mark something as verified",
        when(verb="verify", no_said_kind="read", words="@verifiable", no_says="changes_nothing returns"),
        overrule=FAIR,
    ),
)


_RETURNED: Final = "it says '{maker}', and the result is returned"
_HANDING_OUT: Final = frozenset({"export", "download", "dump"})
# Media is usually stored, whatever the text says.
_MEDIA: Final = """
    audio image images music photo photos picture pictures song songs speech video videos voice
"""


def _returned(reason: str, *cases: Test) -> TableRule:
    """A rule that finds output which is returned and not stored."""
    return decide(LOOKS, reason, *cases, overrule=_overrule_returned)


def _overrule_returned(tool: ToolFeatures) -> float:
    return WEAK if tool.maker in _HANDING_OUT else FINAL


OUTPUT: Final = table(
    decide(ACTS, "it says '{maker}', and the result is saved", some(SAVES_RESULT)),
    decide(ACTS, "it says '{maker}', and a switch keeps the result", CAN_KEEP),
    decide(ACTS, "it says '{maker}', and others can see the result", when(opens="shares_result")),
    decide(ACTS, "it says '{maker}', and the result gets an id, so it is kept", when(says="gives_id")),
    decide(
        ACTS,
        "it says '{maker}', and the result gets a name, so it is kept",
        when(params="export_name export_title output_file_name output_name report_name save_name"),
    ),
    decide(
        ACTS,
        "it reports something that the caller gives",
        when(maker="report", params="feedback outcome severity status success"),
    ),
    _returned("the name says '{maker}', but the description says '{said}'", when(said_kind="@reading")),
    _returned(
        "it says '{maker}', and the description says that it only reads",
        when(no_maker="download", no_flags="file", says="claims_read_only"),
    ),
    _returned(
        _RETURNED,
        when(no(when(maker="export", object="file files")), maker=_HANDING_OUT, says="returns"),
    ),
    _returned(
        "it says '{maker}', and the result is a text",
        when(maker="generate", words="@text_result"),
        when(maker="generate", opening="command commands locator selector regex"),
    ),
    decide(
        UNCLEAR, "it says '{maker}', and the definition does not say whether the result is kept", when(about=_MEDIA)
    ),
    decide(UNCLEAR, "it says '{maker}', and the definition does not say whether the result is kept", overrule=SURE),
)
