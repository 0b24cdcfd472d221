"""Does the tool run whatever its caller writes?"""

from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import DEEDS, NOUNS, READING, VAGUE, VERBS
from assent.infer.rules.launches import judge_calls
from assent.infer.rules.programs import is_any_query, is_treated, only_reads

_STRICT: Final = NOUNS["program"] - {"tool", "tools", "api", "request"}
_REQUEST: Final = frozenset({"api", "curl", "http", "request", "rest", "restful"})
_SCREEN: Final = frozenset({"page", "browser", "screen"})
_ERRAND: Final = frozenset({"action", "actions", "task"})
# What is typed into a process that runs is run by it.
_FED: Final = frozenset({"data", "input", "input_text", "keys", "stdin", "text"})
_TYPED: Final = frozenset({"input", "input_text", "keys", "stdin"})
_PROCESS: Final = frozenset({"console", "process", "pty", "repl", "shell", "stdin", "terminal", "tmux", "tty"})
_TERMINAL: Final = frozenset({"pane", "process", "shell", "terminal"})
_ASKED: Final = frozenset({"q", "query", "statement", "text"})
_ADDED: Final = frozenset({"requests", "steps"})
_SCRIPTS: Final = frozenset({"code", "script", "scripts"})
_AGENTS: Final = frozenset({"agent", "agents", "subagent", "subagents"})
_SETTING_TO_WORK: Final = frozenset(
    {"dispatch", "instruct", "launch", "prompt", "resume", "spawn", "start", "steer", "trigger"}
)
_WORKING: Final = frozenset({"autonomous", "background", "coding", "running"})
_MANNER: Final = frozenset({"async", "batch", "paged", "raw", "safely", "stream", "streaming", "sync"})
_FEEDING: Final = frozenset({"send", "add", "drive"})


def judge_execution(evidence: ToolFeatures) -> str | None:
    """The sentence that says why anything can be run, or nothing."""
    if is_treated(evidence) and not _joined(evidence) and "enacts" not in evidence.outset:
        return None
    return (
        _requests(evidence)
        or _given_code(evidence)
        or _given_statement(evidence)
        or _given_errand(evidence)
        or _listed(evidence)
        or _offered(evidence)
        or judge_calls(evidence)
    )


def _joined(evidence: ToolFeatures) -> bool:
    """`explain_and_run` runs as well."""
    return any(VERBS[verb] == "run" for verb in evidence.name.beside)


def _running(evidence: ToolFeatures) -> bool:
    return evidence.kind == "run" or _joined(evidence) or (evidence.prose.kind == "run" and evidence.kind in VAGUE)


def _requests(evidence: ToolFeatures) -> str | None:
    """Any method on any address."""
    chosen = "method" in evidence.inputs.names and evidence.inputs.names & NOUNS["target"]
    bodied = "http" in evidence.inputs.flags and evidence.inputs.names & {"body", "data", "payload"}
    if chosen and bodied and evidence.words & {"raw", "any"}:
        return "sends any request with any method"
    verb = evidence.name.verb
    if verb == "execute" and "request" in evidence.prose.object and "method" in evidence.inputs.names:
        return "sends any request with any method"
    free = evidence.kind in VAGUE or verb in DEEDS["requesting"]
    asked = verb in DEEDS["calling"] or (free and evidence.kind not in READING)
    if chosen and asked and evidence.words & _REQUEST:
        return "sends any request with any method"
    aimed = evidence.inputs.names & NOUNS["target"] or "address" in evidence.inputs.flags
    if not free or not aimed:
        return None
    bare = len(evidence.name.words) <= 2 and evidence.inputs.names & {"body", "data", "payload"}
    if bare and evidence.name.verb in {"post", "put"} and evidence.inputs.names & NOUNS["target"]:
        return "sends any request of that method"
    asking = evidence.words & NOUNS["request"] or "url" in evidence.inputs.flags
    any_method = "http" in evidence.inputs.flags and asking
    posted = evidence.name.verb in DEEDS["requesting"] and evidence.words & {"http", "https", "rest"}
    if any_method or posted or "writes_http" in evidence.prose.statements:
        return "sends any request with any method"
    return None


def _given_code(evidence: ToolFeatures) -> str | None:
    flags, words, prose = evidence.inputs.flags, evidence.words, evidence.prose
    verb = evidence.name.verb
    given = (flags & {"code", "command"} and "exchange" not in words) or {"source", "language"} <= evidence.inputs.names
    taken = given and (_running(evidence) or verb in {"evaluate", None})
    typed = "command" in flags and (words | prose.opening) & _TERMINAL
    told = prose.verbs[:1]
    sending = verb in {"send", "issue"} or (told in {("send",), ("issue",)} and evidence.kind in VAGUE)
    sent = "command" in flags and sending and bool((words | prose.object) & {"command", "commands"})
    names = evidence.inputs.names
    into = (
        words & _PROCESS
        or (names & _TYPED and (prose.opening & _PROCESS or prose.opening >= {"running", "command"}))
        or "stdin" in prose.object
    )
    fed = names & _FED and into and prose.kind in _FEEDING
    sent = sent or (verb == "send" and "code" in flags)
    evaluated = (verb == "evaluate" or told == ("evaluate",)) and (words | prose.object) & NOUNS["script"]
    return "runs the code or command it is given" if taken or typed or sent or fed or evaluated else None


def _given_statement(evidence: ToolFeatures) -> str | None:
    prose, flags = evidence.prose, evidence.inputs.flags
    if (evidence.words | prose.object) & NOUNS["asked"] and not flags & {"code", "command", "sql"}:
        return None
    queried = "query" in flags and _without_manner(evidence.name.words)[-1:] in {("query",), ("queries",)}
    stored = "query" in flags and (evidence.words | prose.object) & NOUNS["store"]
    asked = stored and evidence.name.verb == "query" and (evidence.confirmed or not prose.verbs)
    joined = "query" in flags and _joined(evidence) and prose.object & {"query", "queries"}
    given = flags & {"query", "sql"} and is_any_query(evidence) and not only_reads(evidence)
    if asked or joined or given or (_running(evidence) and queried):
        return "runs whatever query is written"
    kept = evidence.kind == "add" and prose.kind in {"add", "change"}
    if "sql" in evidence.inputs.flags and ((evidence.kind != "look" and not kept) or prose.kind == "run"):
        return "runs the statement it is given"
    bare = evidence.kind == "none" and evidence.words & NOUNS["dialect"] and evidence.inputs.names & _ASKED
    if bare and not prose.verbs:
        return "runs the statement it is given"
    named = evidence.words & (NOUNS["program"] if evidence.kind == "run" else _STRICT)
    if _running(evidence) and (named or prose.object & _STRICT):
        return "runs what it is given"
    if prose.verbs[1:2] in {("execute",), ("run",)} and prose.object & _SCRIPTS and evidence.kind not in READING:
        return "runs what it is given"
    mutation = prose.object & NOUNS["mutation"] and prose.object & NOUNS["statement"]
    if prose.kind == "run" and prose.verbs[0] != "perform" and (prose.object & _STRICT or mutation):
        return "runs what it is given"
    return None


def _without_manner(words: tuple[str, ...]) -> tuple[str, ...]:
    """`run_query_async` without how it is run."""
    return words[:-1] if words[-1:] and words[-1] in _MANNER else words


def _given_errand(evidence: ToolFeatures) -> str | None:
    prose = evidence.prose
    if evidence.inputs.flags & {"task", "message"} and "autonomous" in prose.statements:
        return "an agent acts on its own"
    if evidence.inputs.flags & {"task", "message"} and evidence.inputs.names & NOUNS["leash"]:
        return "an agent acts as far as it is let"
    if "task" in evidence.inputs.flags and _instructs(evidence):
        return "an agent does what it is told"
    browsed = (
        "task" in evidence.words
        and prose.verbs[:1] == ("start",)
        and prose.opening & {"browser", "browsing"}
        and evidence.kind not in READING
    )
    if "task" in evidence.inputs.flags and browsed:
        return "an agent acts on live pages"
    told = prose.kind == "run" and evidence.kind not in READING
    if (
        (told or "code" in evidence.inputs.flags)
        and evidence.kind not in READING
        and "runs_anything" in evidence.outset
    ):
        return "runs anything"
    if not _running(evidence):
        return None
    if "many_tools" in prose.statements:
        return "calls other tools"
    if "runs_anything" in prose.statements:
        return "runs anything"
    agent = evidence.words & _AGENTS and evidence.inputs.flags & {"task", "message"}
    if agent:
        return "an agent does what it is told"
    return "acts on a live screen" if prose.opening & _SCREEN and prose.opening & _ERRAND else None


def _instructs(evidence: ToolFeatures) -> bool:
    """Whether an agent is set to work, or one that is at work is told something."""
    prose = evidence.prose
    told = prose.kind == "send" and prose.object & {"instruction", "instructions"} and prose.opening & _WORKING
    return (evidence.name.verb in _SETTING_TO_WORK and bool(evidence.words & _AGENTS)) or bool(
        told and prose.opening & _AGENTS
    )


def _listed(evidence: ToolFeatures) -> str | None:
    """A batch of whatever operations its caller lists."""
    listed = evidence.inputs.names & (
        NOUNS["listed"] - (_ADDED if evidence.kind == "add" or _writes(evidence) else set())
    )
    batch = (evidence.words | evidence.prose.opening) & {"batch", "bulk", "multi", "sequence", "transaction"} and listed
    return "runs the operations that are listed" if batch and evidence.kind not in READING else None


def _writes(evidence: ToolFeatures) -> bool:
    """A batch of letters is no batch of deeds."""
    return evidence.name.verb == "send" and bool(evidence.words & {"email", "emails", "messages", "sms"})


def _offered(evidence: ToolFeatures) -> str | None:
    chosen = sorted({choice.verb for choice in evidence.deeds} & DEEDS["running"])
    return f"a parameter offers {chosen[0]}" if chosen else None
