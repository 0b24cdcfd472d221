"""Does the caller write the program, the statement or the command, and is it more than looked at?"""

import re
from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import DEEDS, NOUNS, READING

PROGRAM: Final = frozenset({"sql", "code", "command", "page_script"})
# What a command that is run is given beside.
EXTRAS: Final = frozenset({"additional_args", "additional_arguments", "extra_args", "extra_arguments"})
_VALIDATING: Final = frozenset({"check", "lint", "validate", "verify"})
_WORDED: Final = frozenset({"q", "query", "query_string", "request", "text"})
# With one of these a rehearsal is one of the request.
_EXECUTED = re.compile(r"\b(?:by|and) (?:\w+ and )?(?:execut|runn?)(?:e|es|ing|s)? (?:it|the code)\b")
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
# What is more than a query, beside a language that only reads.
_BEYOND_ASKING: Final = frozenset(
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


def program(evidence: ToolFeatures) -> str | None:
    """What shows that the caller writes the program, the statement or the command."""
    doubt = None if is_treated(evidence) else _written(evidence)
    avowed = "code" not in evidence.inputs.flags and "avows" in evidence.outset and only_reads(evidence)
    cleared = doubt and ("select" in evidence.prose.object or avowed)
    return None if cleared else doubt


def only_reads(evidence: ToolFeatures) -> bool:
    """Whether the text says so, and not that settings or parameters change it."""
    said = evidence.prose.statements
    return "avows" in said and "opens_up" not in said


def is_treated(evidence: ToolFeatures) -> bool:
    """Whether what is written is only looked at: explained, formatted, calculated, but not run."""
    prose, verb, flags = evidence.prose, evidence.name.verb, evidence.inputs.flags
    if prose.kind == "run" and evidence.kind in READING and not flags & (PROGRAM | {"query"}):
        return _CHECKER_RUN.match(evidence.text.lower()) is not None and not evidence.inputs.names & EXTRAS
    if prose.kind == "run" or prose.opening & {"javascript", "python"}:
        return False
    if "code" in flags and _EXECUTED.search(evidence.text.lower()) is not None:
        return False
    if verb == "evaluate" and (evidence.words | prose.opening) & NOUNS["arithmetic"]:
        return True
    if _is_worked_out(evidence) or _is_proofread(evidence):
        return True
    if verb in DEEDS["fetching"] and evidence.name.words[-1] == "explain":
        return _PLAN_CARRIED_OUT.search(evidence.text.lower()) is None and "analyze" not in evidence.inputs.names
    return verb in DEEDS["treating"] and not (verb == "explain" and "analyze" in evidence.words)


def _is_worked_out(evidence: ToolFeatures) -> bool:
    """`Compute symbolic derivatives` of an expression, not with code."""
    prose = evidence.prose
    formal = evidence.inputs.names & {"equation", "expression", "formula"} and "code" not in evidence.inputs.names
    worked = evidence.kind in {"none", "noun"} and prose.verbs in _WORKING_OUT and prose.opening & NOUNS["calculus"]
    return bool(formal and worked) and prose.opening.isdisjoint({"code", "running"})


def _is_proofread(evidence: ToolFeatures) -> bool:
    """`check_syntax` of code, where nothing but the syntax is validated."""
    prose = evidence.prose
    validated = evidence.name.verb in _VALIDATING and prose.verbs == ("validate",)
    return validated and evidence.inputs.flags & PROGRAM == {"code"} and bool(prose.object & _FORM)


def _written(evidence: ToolFeatures) -> str | None:
    prose, verb = evidence.prose, evidence.name.verb
    if evidence.inputs.flags & PROGRAM and not _looked_up(evidence):
        return "it takes a program or query text"
    if verb == "show" and _SHOWN.match(evidence.text.lower()) is not None:
        return None
    anything = "method" in evidence.inputs.names and "runs_anything" in prose.statements
    if prose.kind == "run" and (anything or prose.object & NOUNS["written"] or is_any_query(evidence)):
        return f"the description says {prose.verbs[0]}"
    if verb == "query" and prose.verbs[:1] == ("search",):
        return None
    spoken = {"evaluate": NOUNS["script"], "query": NOUNS["store"] | {"graphql"}}.get(verb or "", frozenset())
    if "filter" in evidence.inputs.names and evidence.inputs.names.isdisjoint(_WORDED):
        return None
    return f"{verb} of whatever is written" if (evidence.words | prose.object) & spoken else None


def only_asks(evidence: ToolFeatures) -> bool:
    """Whether a query is in a language that only reads, and nothing else is told of."""
    said = evidence.words | evidence.prose.opening
    asked = (evidence.words | evidence.prose.object) & NOUNS["asked"] and not said & _BEYOND_ASKING
    return bool(asked) and _BEYOND_TEXT.search(evidence.text[:_OPENING].lower()) is None


def is_any_query(evidence: ToolFeatures) -> bool:
    """Whether a query is run that its caller writes, in a language of which it is not known that it only reads."""
    around = evidence.words | evidence.prose.object
    if evidence.prose.kind != "run" or around & NOUNS["asked"] or not around & {"queries", "query", "statement"}:
        return False
    free = evidence.inputs.flags & {"query", "sql"} and "search" not in around
    free = free or any(word.endswith("ql") for word in around)
    return "select" not in around and bool(free or around & {"any", "arbitrary", "raw"})


def _looked_up(evidence: ToolFeatures) -> bool:
    """Whether `code` is what something is found by, as in `get_airport`, or a command what help is asked about."""
    prose = evidence.prose
    if prose.verbs == ("get",) and evidence.kind in READING and prose.object & {"documentation", "help"}:
        return True
    sought = evidence.name.verb in DEEDS["fetching"] and prose.kind in {"read", "none"}
    told = evidence.kind in {"none", "noun"} and not NOUNS["told"].isdisjoint(evidence.name.words[-1:])
    told = told and prose.verbs == ("get",) and "code" not in prose.opening
    sought = sought or (told and "language" not in evidence.inputs.names)
    named = sought and evidence.inputs.flags & PROGRAM == {"code"} and evidence.inputs.names & NOUNS["code_input"]
    return bool(named) and not (evidence.words | prose.opening) & NOUNS["coded"]
