"""Rules for programs, statements and commands that the caller writes."""

import re
from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import DEEDS, NOUNS, READING

PROGRAM: Final = frozenset({"sql", "code", "command", "page_script"})
# Extra arguments for a command.
EXTRAS: Final = frozenset({"additional_args", "additional_arguments", "extra_args", "extra_arguments"})
_VALIDATING: Final = frozenset({"check", "lint", "validate", "verify"})
_WORDED: Final = frozenset({"q", "query", "query_string", "request", "text"})
# With one of these, a dry run executes the request.
_REALLY_EXECUTES = re.compile(r"\b(?:by|and) (?:\w+ and )?(?:execut|runn?)(?:e|es|ing|s)? (?:it|the code)\b")
_WORKING_OUT: Final = (("calculate",), ("compute",))
_SHOWN = re.compile(r"\s*(?:execute|run)s? an? (?:[\w-]+ ){0,2}['`\"]?show['`\"]? command\.")
_OPENING: Final = 200
_FORM: Final = frozenset({"format", "schema", "structure", "syntax"})
# `Run the script checker against a folder`, but not the checker's script.
_CHECKER_RUN = re.compile(
    r"\s*runs? (?:the|an?) (?:[\w-]+ ){0,4}"
    r"(?:analy[sz]er|auditor|checker|detector|inspector|linter|profiler|scanner|validator|verifier)"
    r" ?(?:\(|\.|,|against|for|on|over|to)"
)

_PLAN_CARRIED_OUT = re.compile(r"\b(?:analy[sz]e\b|actual|executed)")
# Words of a query language that does more than read.
_MORE_THAN_QUERIES: Final = frozenset(
    (
        *("action", "actions", "admin", "alert", "alerts", "async", "cleanup", "code", "command", "commands", "drop"),
        *("export", "ingest", "job", "mutate", "mutation", "pipeline", "playbook", "policy", "process", "retention"),
        *("ruler", "rule", "rules", "set", "subscription", "tombstones", "transaction", "transform", "write"),
    )
)
_BEYOND_TEXT = re.compile(
    r"\b(?:append|archiv|click|creat|delet|drop|email|forward|gone|insert|isolat|kill|lowers|notif|overwrit|pause|press|purg"
    r"|re-?index|reassign|remov|shares?\b|transition|truncat|updat|wip|writes?\b|written)"
)


def find_program(tool: ToolFeatures) -> str | None:
    """Return the sign that the caller writes a program, a statement or a command."""
    doubt = None if only_inspects_program(tool) else _program_input(tool)
    avowed = "code" not in tool.inputs.flags and "avows" in tool.outset and only_reads(tool)
    cleared = doubt and ("select" in tool.prose.object or avowed)
    return None if cleared else doubt


def only_reads(tool: ToolFeatures) -> bool:
    """Whether the text says that it only reads, and no setting or parameter changes that."""
    said = tool.prose.statements
    return "avows" in said and "opens_up" not in said


def only_inspects_program(tool: ToolFeatures) -> bool:
    """Whether the program is only explained, formatted or calculated, and not run."""
    prose, verb, flags = tool.prose, tool.name.verb, tool.inputs.flags
    if prose.kind == "run" and tool.kind in READING and not flags & (PROGRAM | {"query"}):
        return _CHECKER_RUN.match(tool.text.lower()) is not None and not tool.inputs.names & EXTRAS
    if prose.kind == "run" or prose.opening & {"javascript", "python"}:
        return False
    if "code" in flags and _REALLY_EXECUTES.search(tool.text.lower()) is not None:
        return False
    if verb == "evaluate" and (tool.words | prose.opening) & NOUNS["arithmetic"]:
        return True
    if _is_computed(tool) or _checks_syntax_only(tool):
        return True
    if verb in DEEDS["fetching"] and tool.name.words[-1] == "explain":
        return _PLAN_CARRIED_OUT.search(tool.text.lower()) is None and "analyze" not in tool.inputs.names
    return verb in DEEDS["treating"] and not (verb == "explain" and "analyze" in tool.words)


def _is_computed(tool: ToolFeatures) -> bool:
    """Whether an expression is computed, without code: `Compute symbolic derivatives`."""
    prose = tool.prose
    formal = tool.inputs.names & {"equation", "expression", "formula"} and "code" not in tool.inputs.names
    worked = tool.kind in {"none", "noun"} and prose.verbs in _WORKING_OUT and prose.opening & NOUNS["calculus"]
    return bool(formal and worked) and prose.opening.isdisjoint({"code", "running"})


def _checks_syntax_only(tool: ToolFeatures) -> bool:
    """Whether only the syntax of code is checked: `check_syntax`."""
    prose = tool.prose
    validated = tool.name.verb in _VALIDATING and prose.verbs == ("validate",)
    return validated and tool.inputs.flags & PROGRAM == {"code"} and bool(prose.object & _FORM)


def _program_input(tool: ToolFeatures) -> str | None:
    prose, verb = tool.prose, tool.name.verb
    if tool.inputs.flags & PROGRAM and not _is_lookup_code(tool):
        return "it takes a program or query text"
    if verb == "show" and _SHOWN.match(tool.text.lower()) is not None:
        return None
    anything = "method" in tool.inputs.names and "runs_anything" in prose.statements
    if prose.kind == "run" and (anything or prose.object & NOUNS["written"] or is_any_query(tool)):
        return f"the description says {prose.verbs[0]}"
    if verb == "query" and prose.verbs[:1] == ("search",):
        return None
    spoken = {"evaluate": NOUNS["script"], "query": NOUNS["store"] | {"graphql"}}.get(verb or "", frozenset())
    if "filter" in tool.inputs.names and tool.inputs.names.isdisjoint(_WORDED):
        return None
    return f"{verb} of whatever is written" if (tool.words | prose.object) & spoken else None


def only_asks(tool: ToolFeatures) -> bool:
    """Whether the query language can only read, and the text mentions nothing else."""
    said = tool.words | tool.prose.opening
    asked = (tool.words | tool.prose.object) & NOUNS["asked"] and not said & _MORE_THAN_QUERIES
    return bool(asked) and _BEYOND_TEXT.search(tool.text[:_OPENING].lower()) is None


def is_any_query(tool: ToolFeatures) -> bool:
    """Whether it runs a query of the caller in a language that may write."""
    around = tool.words | tool.prose.object
    if tool.prose.kind != "run" or around & NOUNS["asked"] or not around & {"queries", "query", "statement"}:
        return False
    free = tool.inputs.flags & {"query", "sql"} and "search" not in around
    free = free or any(word.endswith("ql") for word in around)
    return "select" not in around and bool(free or around & {"any", "arbitrary", "raw"})


def _is_lookup_code(tool: ToolFeatures) -> bool:
    """Whether `code` identifies something, as in `get_airport`, or `command` is a help topic."""
    prose = tool.prose
    if prose.verbs == ("get",) and tool.kind in READING and prose.object & {"documentation", "help"}:
        return True
    sought = tool.name.verb in DEEDS["fetching"] and prose.kind in {"read", "none"}
    told = tool.kind in {"none", "noun"} and not NOUNS["told"].isdisjoint(tool.name.words[-1:])
    told = told and prose.verbs == ("get",) and "code" not in prose.opening
    sought = sought or (told and "language" not in tool.inputs.names)
    named = sought and tool.inputs.flags & PROGRAM == {"code"} and tool.inputs.names & NOUNS["code_input"]
    return bool(named) and not (tool.words | prose.opening) & NOUNS["coded"]
