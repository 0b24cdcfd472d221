"""Conditions for programs, statements and queries that the caller writes."""

import re
from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.rules.condition import any_of, mentions, no, starts, when
from assent.infer.rules.table import rule, unless

# Flags of parameters that take a program.
PROGRAM: Final = frozenset({"sql", "code", "command", "page_script"})
EXTRA_ARGUMENTS: Final = "additional_args additional_arguments extra_args extra_arguments"

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


def _names_query_language(tool: ToolFeatures) -> bool:
    return any(word.endswith("ql") for word in tool.about)


# The text says that it only reads, and no setting changes that.
ONLY_READS: Final = when(says="claims_read_only", no_says="read_only_optional")

# An expression is computed, without code: `Compute symbolic derivatives`.
_COMPUTES: Final = when(
    kind="none noun",
    said_only="calculate compute",
    opening="@calculus",
    no_opening="code running",
    params="equation expression formula",
    no_params="code",
)
# Only the syntax of code is checked: `check_syntax`.
_CHECKS_SYNTAX: Final = when(
    verb="check lint validate verify",
    said_only="validate",
    object="format schema structure syntax",
    flags="code",
    no_flags=PROGRAM - {"code"},
)
# `Run the script checker against a folder`, but not the checker's script.
_RUNS_CHECKER: Final = when(
    starts(
        r"runs? (?:the|an?) (?:[\w-]+ ){0,4}"
        r"(?:analy[sz]er|auditor|checker|detector|inspector|linter|profiler|scanner|validator|verifier)"
        r" ?(?:\(|\.|,|against|for|on|over|to)"
    ),
    said_kind="run",
    kind="@reading",
    no_flags=PROGRAM | {"query"},
    no_params=EXTRA_ARGUMENTS,
)
# The program is run after all.
_EXECUTES: Final = any_of(
    when(said_kind="run"),
    when(opening="javascript python"),
    when(mentions(r"\b(?:by|and) (?:\w+ and )?(?:execut|runn?)(?:e|es|ing|s)? (?:it|the code)\b"), flags="code"),
)
# The program is only explained, formatted or calculated, and not run.
INSPECTS_PROGRAM: Final = any_of(
    _RUNS_CHECKER,
    when(
        no(_EXECUTES),
        any_of(
            when(verb="evaluate", around="@arithmetic"),
            _COMPUTES,
            _CHECKS_SYNTAX,
            when(
                no(mentions(r"\b(?:analy[sz]e\b|actual|executed)")),
                verb="@fetching",
                last="explain",
                no_params="analyze",
            ),
            when(
                verb="calculate compute convert format hash highlight lint parse tokenise tokenize translate validate"
            ),
            when(verb="explain", no_words="analyze"),
        ),
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
    any_of(when(flags="query sql", no_about="search"), when(about="any arbitrary raw"), _names_query_language),
    said_kind="run",
    about="queries query statement",
    no_about="@read_only_language select",
)
# `code` identifies something, as in `get_airport`, or `command` is a help topic.
_IDENTIFIES: Final = any_of(
    when(said_only="get", kind="@reading", object="documentation help"),
    when(
        any_of(
            when(verb="@fetching", said_kind="read none"),
            when(kind="none noun", last="@information", said_only="get", no_opening="code", no_params="language"),
        ),
        flags="code",
        no_flags=PROGRAM - {"code"},
        params="@code_input",
        no_around="@code_context",
    ),
)
_ONLY_FILTERS: Final = when(params="filter", no_params="q query query_string request text")

# The caller writes a program, a statement or a command.
TAKES_PROGRAM: Final = unless(
    any_of(INSPECTS_PROGRAM, when(object="select"), when(ONLY_READS, no_flags="code", opens="claims_read_only")),
    rule("a parameter takes a program or a query", when(no(_IDENTIFIES), flags=PROGRAM)),
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
