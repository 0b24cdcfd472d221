"""Rules for tools that execute what the caller writes or names: requests, code, statements, agents, programs."""

import re
from typing import Final

from assent.contract.infer.features.tool import ToolFeatures
from assent.contract.infer.features.words import word_set
from assent.contract.infer.lexicon import NOUNS, VERB_GROUPS
from assent.contract.infer.rules.tables import any_of, mentions, no, rule, starts, table, unless, when

# Flags of parameters that take a program.
PROGRAM: Final = frozenset({"sql", "code", "command", "page_script"})

_CLAIMS: Final = (
    *("read-only", "readonly", "select quer", "select statement", "select only", "only select", "select operation"),
    *("select sql", "read query", "read queries", "read cypher", "read sql", "dql", "query that can only read data"),
)
_WRITING: Final = ("write", "insert", "update", "delete", "modif", "mutat", "any ")
_LINES: Final = 400
_HEAD: Final = 160
_SENTENCE = re.compile(r"(?<=[.;])\s+|\n+")
# The text refuses all writes, without a condition.
_REFUSES_WRITES = re.compile(
    r"(?:any|all) (?:other |write |writing |data-modifying )+(?:operations?|quer(?:y|ies)|statements?)(?: \([^)]*\))?"
    r" (?:are|is|will be) (?:always )?(?:blocked|forbidden|prohibited|refused|rejected|not (?:allowed|permitted))\.?"
)


def claims_reading(tool: ToolFeatures) -> bool:
    """The title or first lines claim read-only, without a writing verb or a setting that changes it."""
    if not any(claim in tool.headline for claim in _CLAIMS):
        return False
    if any(word in _without_refusals(tool) for word in _WRITING):
        return False
    titled = any(claim in tool.title.lower() for claim in _CLAIMS)
    return titled or "read_only_optional" not in tool.says


def _without_refusals(tool: ToolFeatures) -> str:
    """Return the title and the first lines without the sentences that say what is refused."""
    sentences = _SENTENCE.split(tool.description[:_LINES].lower())
    told = " ".join(one for one in sentences if _REFUSES_WRITES.fullmatch(one) is None)
    return f"{tool.title}. {told[:_HEAD]}".lower()


# The text says that it only reads, and no setting changes that.
ONLY_READS: Final = when(says="claims_read_only", no_says="read_only_optional")

# The program is run after all.
_EXECUTES: Final = any_of(
    when(said_kind="run"),
    when(opening="javascript python"),
    when(mentions(r"\b(?:by|and) (?:\w+ and )?(?:execut|runn?)(?:e|es|ing|s)? (?:it|the code)\b"), flags="code"),
)
# The program is only explained, formatted or calculated, and not run.
INSPECTS_PROGRAM: Final = when(
    no(_EXECUTES),
    any_of(
        when(verb="calculate compute convert format hash highlight lint parse tokenise tokenize translate validate"),
        when(verb="explain", no_words="analyze"),
    ),
)
# The query language can only read, and the text mentions nothing else.
READ_ONLY_QUERY: Final = when(
    no(
        mentions(
            r"\b(?:append|archiv|click|creat|delet|drop|email|forward|gone|insert|isolat|kill|lowers|notif|overwrit|pause"
            r"|press|purg|re-?index|reassign|remov|shares?\b|transition|truncat|updat|wip|writes?\b|written)",
            within=200,
        )
    ),
    about="@read_only_language",
    no_around="""
        action actions admin alert alerts async cleanup code command commands drop export ingest job mutate
        mutation pipeline playbook policy process retention ruler rule rules set subscription tombstones transaction
        transform write
    """,
)
# It runs a query of the caller in a language that may write.
ANY_QUERY: Final = when(
    when(flags="query sql", no_about="search"),
    said_kind="run",
    about="queries query statement",
    no_about="@read_only_language select",
)
_ONLY_FILTERS: Final = when(params="filter", no_params="q query query_string request text")

# One tool for many operations: the caller names the operation and gives its arguments. An added item may contain both.
ROUTES_COMMANDS: Final = when(all_params="command parameters", no_kind="add change")
ROUTES: Final = any_of(
    ROUTES_COMMANDS,
    when(
        when(params="@free_arguments"),
        no(claims_reading),
        params="action command operation",
        no_kind="read",
        no_traits="choices",
    ),
)

# The caller writes a program, a statement or a command.
TAKES_PROGRAM: Final = unless(
    INSPECTS_PROGRAM,
    rule("a parameter takes a program or a query", when(flags=PROGRAM)),
    rule(
        "the description says '{said}'",
        when(
            any_of(when(object="@caller_program"), ANY_QUERY, when(params="method", says="runs_anything")),
            no(when(starts(r"(?:execute|run)s? an? (?:[\w-]+ ){0,2}['`\"]?show['`\"]? command\."), verb="show")),
            said_kind="run",
        ),
    ),
    rule(
        "the caller writes what it runs",
        when(no(_ONLY_FILTERS), verb="evaluate", about="@script"),
        when(no(_ONLY_FILTERS), verb="query", no_said="search", about="@store graphql"),
    ),
)


_BODY: Final = "body data payload"
_PROCESS: Final = "console process pty repl shell stdin terminal tmux tty"
_TYPED: Final = "input input_text keys stdin"
_AGENTS: Final = "agent agents subagent subagents"
_COMMAND_ARGUMENTS: Final = "args arguments argv command_args program_args"
_RUNNING: Final = VERB_GROUPS["running"]
_RUN_BY_CALLER: Final = NOUNS["program"] - {"tool", "tools", "api", "request"}
_MANNER: Final = word_set("async batch paged raw safely stream streaming sync")

# Name or description says that something is run.
_RUNS: Final = any_of(when(kind="run"), when(beside_kinds="run"), when(said_kind="run", kind="@vague"))


def _has_short_name(tool: ToolFeatures) -> bool:
    return len(tool.name.words) <= 2


def _ends_with_query(tool: ToolFeatures) -> bool:
    """The name ends with `query`, or with how it runs: `run_query_async`."""
    words = tool.name.words[:-1] if tool.last in _MANNER else tool.name.words
    return words[-1:] in {("query",), ("queries",)}


def _then_runs(tool: ToolFeatures) -> bool:
    """The second verb of the description runs something."""
    return tool.text.verbs[1:2] in {("execute",), ("run",)}


def _find_named_action(tool: ToolFeatures) -> str | None:
    """Return what the caller names, if a parameter has its name: `call_service`, `run_action`."""
    around = tool.about if tool.said_kind == "run" else tool.words
    if around & NOUNS["known_job"]:
        return None
    for noun in sorted(around & NOUNS["callable"]):
        ids = {noun, f"{noun}_name", f"{noun}_id", f"{noun}_path", f"{noun}_type", "approval_id", "name"}
        if tool.params & ids:
            return noun
    return None


def _find_stored_program(tool: ToolFeatures) -> str | None:
    """Return the playbook, notebook or script whose content is not known; a file of rows is data."""
    held = tool.about & NOUNS["stored_program"]
    rows = tool.opening & {"csv", "spreadsheet", "tsv", "xls", "xlsx"} and (
        tool.verb == "import" or tool.said == "upload"
    )
    if not held and not rows and tool.params & NOUNS["script_path"]:
        held = tool.about & NOUNS["script_file"]
    return min(held, default=None)


def _has_free_choice(tool: ToolFeatures) -> bool:
    """No parameter lists the operations."""
    return not any(choice.certain for choice in tool.parameters.choices)


def _find_offered_run(tool: ToolFeatures) -> str | None:
    return min(tool.offers & _RUNNING, default=None)


_ANY_METHOD: Final = when(all_params="method", params="@target")
_FREE: Final = any_of(when(kind="@vague"), when(verb="@requesting"))
_AIMED: Final = when(_FREE, any_of(when(params="@target"), when(flags="address")))

REQUESTS: Final = table(
    rule(
        "it sends any request with any method",
        when(_ANY_METHOD, flags="http", params=_BODY, words="raw any"),
        when(verb="execute", object="request", params="method"),
        when(
            any_of(when(verb="@calling"), when(_FREE, no_kind="@reading")),
            _ANY_METHOD,
            words="api curl http request rest restful",
        ),
    ),
    rule(
        "it sends any request of that method",
        when(_AIMED, _has_short_name, when(params="@target"), verb="post put", params=_BODY),
    ),
    rule(
        "it sends any request with any method",
        when(_AIMED, flags="http", words="@request"),
        when(_AIMED, all_flags="http url"),
        when(_AIMED, verb="@requesting", words="http https rest"),
        when(_AIMED, says="writes_http"),
    ),
)

_TAKES_CODE: Final = any_of(when(flags="code command", no_words="exchange"), when(all_params="source language"))
_INTO_PROCESS: Final = any_of(
    when(words=_PROCESS),
    when(params=_TYPED, opening=_PROCESS),
    when(params=_TYPED, all_opening="running command"),
    when(object="stdin"),
)

CODE: Final = rule(
    "it runs the code or the command that the caller gives",
    when(
        verb="deploy publish put upload",
        words="function functions lambda script scripts worker workers",
        params="code content script source",
    ),
    when(_TAKES_CODE, any_of(_RUNS, when(verb={"evaluate", ""}))),
    when(flags="command", around="pane process shell terminal"),
    when(kind="@vague", said="send issue", flags="command", about="command commands"),
    when(verb="send", flags="code"),
    when(_INTO_PROCESS, params=f"{_TYPED} data text", said_kind="send add drive"),
    when(said="evaluate", about="@script"),
)

STATEMENTS: Final = unless(
    when(about="@read_only_language", no_flags="code command sql"),  # a language that only reads
    rule(
        "it runs any query that the caller writes",
        when(verb="query", flags="query", about="@store", traits="confirmed no_text_verb"),
        when(beside_kinds="run", flags="query", object="query queries"),
        when(ANY_QUERY, no(ONLY_READS), flags="query sql"),
        when(_RUNS, _ends_with_query, flags="query"),
    ),
    rule(
        "it runs the statement that the caller gives",
        when(no(when(kind="add", said_kind="add change")), no_kind="look", flags="sql"),
        when(said_kind="run", flags="sql"),
        when(kind="none", words="@statement_language", params="q query statement text", traits="no_text_verb"),
    ),
    rule(
        "it runs what the caller gives",
        when(kind="run", words="@program"),
        when(_RUNS, words=_RUN_BY_CALLER),
        when(_RUNS, object=_RUN_BY_CALLER),
        when(_then_runs, object="code script scripts", no_kind="@reading"),
        when(said_kind="run", no_said="perform", object=_RUN_BY_CALLER),
        when(when(object="@statement"), said_kind="run", no_said="perform", object="@mutation"),
    ),
)

AGENTS: Final = table(
    rule("an agent acts on its own", when(flags="task message", says="autonomous")),
    rule("an agent may act without asking", when(flags="task message", params="@agent_freedom")),
    rule(
        "an agent does what the caller tells it",
        when(flags="task", verb="dispatch instruct launch prompt resume spawn start steer trigger", words=_AGENTS),
        when(
            when(opening=_AGENTS),
            flags="task",
            said_kind="send",
            object="instruction instructions",
            opening="autonomous background coding running",
        ),
        when(_RUNS, words=_AGENTS, flags="task message"),
    ),
    rule(
        "an agent acts on live pages",
        when(flags="task", words="task", said="start", opening="browser browsing", no_kind="@reading"),
    ),
    rule(
        "it runs anything",
        when(said_kind="run", no_kind="@reading", opens="runs_anything"),
        when(_RUNS, says="runs_anything"),
    ),
    rule("it calls other tools", when(_RUNS, says="many_tools")),
    rule("it acts on a live screen", when(_RUNS, when(opening="page browser screen"), opening="action actions task")),
)

BATCHES: Final = table(
    rule(
        "it runs the operations that the caller lists",
        when(
            any_of(
                when(params="actions commands operations ops"),
                when(
                    no(when(kind="add")),
                    no(when(verb="send", words="email emails messages sms")),
                    params="requests steps",
                ),
            ),
            around="batch bulk multi sequence transaction",
            no_kind="@reading",
        ),
    ),
    rule("a parameter offers '{found}', which runs something", _find_offered_run),
)

# The verb of the name or, if the name says little, those of the description.
_LAUNCHES: Final = any_of(
    when(verb="@launching"), when(kind="none noun manage run look session", said_verbs="@launching")
)
_RUN_AS_VERB: Final = any_of(when(verb="run"), when(kind="none noun manage run look session", said_verbs="run"))
_RUNS_STORED: Final = when(
    any_of(
        when(kind="run"),
        when(said_kind="run"),
        when(verb="@starting_stored"),
        when(kind="none noun manage run look session", said_verbs="@starting_stored"),
    ),
    no_kind="@reading",
)

# Someone else chooses what is done.
LAUNCHES: Final = unless(
    when(kind="destroy"),
    rule(
        "it runs the command that the caller gives",
        when(
            any_of(when(said_kind="run"), when(kind="send"), when(kind="@vague")),
            any_of(when(flags="command"), when(params=_COMMAND_ARGUMENTS)),
            last="cli cmd command commands",
            no_kind="@reading",
        ),
    ),
    rule(
        "it sends exactly what the caller writes",
        when(
            when(about="apdu bytes command commands frame frames packet packets pdu"),
            about="raw",
            said_kind="send add run",
            no_kind="@reading",
        ),
    ),
    rule(
        "it starts any program",
        when(
            _LAUNCHES,
            any_of(
                when(params=_COMMAND_ARGUMENTS, about="@executable"),
                when(params="@program_input"),
                when(params="*_arguments"),
            ),
            no_words="browser chrome editor",
        ),
    ),
    rule(
        "it starts with the command that the caller gives",
        when(flags="command", verb="launch spawn"),
        when(flags="command", words="cron crontab", kind="add change"),
        when(flags="command", verb="submit", params="entrypoint"),
        when(flags="command", params="image", around="job jobs"),
    ),
    rule("it runs any image", when(_RUNS_STORED, _RUN_AS_VERB, params="@image_input", about="@container")),
    rule("it does whatever the {found} contains", when(_RUNS_STORED, _find_stored_program)),
    rule(
        "it does whichever {found} the caller names",
        when(
            any_of(when(kind="run"), when(verb="@starting_stored"), when(kind="none noun", said_kind="run")),
            when(_has_free_choice, no_verb="start"),
            _find_named_action,
        ),
    ),
    rule("it runs the script that the caller gives in the page", when(all_flags="page_script url", kind="@vague make")),
)

EXECUTION: Final = table(
    rule("it does what the caller names", ROUTES_COMMANDS),
    unless(
        when(INSPECTS_PROGRAM, no_beside_kinds="run", no_opens="does_it"),
        REQUESTS,
        CODE,
        STATEMENTS,
        AGENTS,
        BATCHES,
        LAUNCHES,
    ),
)
