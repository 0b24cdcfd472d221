"""Conditions for programs, statements and queries that the caller writes."""

import re
from typing import Final

from assent.contract.infer.features.tool import ToolFeatures
from assent.contract.infer.rules.condition import any_of, mentions, no, starts, when
from assent.contract.infer.rules.table import rule, unless

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
