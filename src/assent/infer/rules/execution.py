"""Rules for tools that execute what the caller writes."""

from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import DEEDS, NOUNS, READING, VAGUE, VERBS
from assent.infer.rules.launches import find_launch
from assent.infer.rules.programs import is_any_query, only_inspects_program, only_reads

_STRICT: Final = NOUNS["program"] - {"tool", "tools", "api", "request"}
_REQUEST: Final = frozenset({"api", "curl", "http", "request", "rest", "restful"})
_SCREEN: Final = frozenset({"page", "browser", "screen"})
_ERRAND: Final = frozenset({"action", "actions", "task"})
# A running process executes what is typed into it.
_PROCESS_INPUTS: Final = frozenset({"data", "input", "input_text", "keys", "stdin", "text"})
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


def find_execution(tool: ToolFeatures) -> str | None:
    """Return the reason why the caller can execute anything, or None."""
    if only_inspects_program(tool) and not _runs_as_well(tool) and "enacts" not in tool.outset:
        return None
    return (
        _sends_requests(tool)
        or _given_code(tool)
        or _given_statement(tool)
        or _given_task(tool)
        or _runs_batch(tool)
        or _offers_execution(tool)
        or find_launch(tool)
    )


def _runs_as_well(tool: ToolFeatures) -> bool:
    """Whether a joined verb executes: `explain_and_run`."""
    return any(VERBS[verb] == "run" for verb in tool.name.beside)


def _names_running(tool: ToolFeatures) -> bool:
    return tool.kind == "run" or _runs_as_well(tool) or (tool.prose.kind == "run" and tool.kind in VAGUE)


def _sends_requests(tool: ToolFeatures) -> str | None:
    """It sends any method to any address."""
    chosen = "method" in tool.inputs.names and tool.inputs.names & NOUNS["target"]
    bodied = "http" in tool.inputs.flags and tool.inputs.names & {"body", "data", "payload"}
    if chosen and bodied and tool.words & {"raw", "any"}:
        return "sends any request with any method"
    verb = tool.name.verb
    if verb == "execute" and "request" in tool.prose.object and "method" in tool.inputs.names:
        return "sends any request with any method"
    free = tool.kind in VAGUE or verb in DEEDS["requesting"]
    asked = verb in DEEDS["calling"] or (free and tool.kind not in READING)
    if chosen and asked and tool.words & _REQUEST:
        return "sends any request with any method"
    aimed = tool.inputs.names & NOUNS["target"] or "address" in tool.inputs.flags
    if not free or not aimed:
        return None
    bare = len(tool.name.words) <= 2 and tool.inputs.names & {"body", "data", "payload"}
    if bare and tool.name.verb in {"post", "put"} and tool.inputs.names & NOUNS["target"]:
        return "sends any request of that method"
    asking = tool.words & NOUNS["request"] or "url" in tool.inputs.flags
    any_method = "http" in tool.inputs.flags and asking
    posted = tool.name.verb in DEEDS["requesting"] and tool.words & {"http", "https", "rest"}
    if any_method or posted or "writes_http" in tool.prose.statements:
        return "sends any request with any method"
    return None


def _given_code(tool: ToolFeatures) -> str | None:
    flags, words, prose = tool.inputs.flags, tool.words, tool.prose
    verb = tool.name.verb
    given = (flags & {"code", "command"} and "exchange" not in words) or {"source", "language"} <= tool.inputs.names
    taken = given and (_names_running(tool) or verb in {"evaluate", None})
    typed = "command" in flags and (words | prose.opening) & _TERMINAL
    told = prose.verbs[:1]
    sending = verb in {"send", "issue"} or (told in {("send",), ("issue",)} and tool.kind in VAGUE)
    sent = "command" in flags and sending and bool((words | prose.object) & {"command", "commands"})
    names = tool.inputs.names
    into = (
        words & _PROCESS
        or (names & _TYPED and (prose.opening & _PROCESS or prose.opening >= {"running", "command"}))
        or "stdin" in prose.object
    )
    fed = names & _PROCESS_INPUTS and into and prose.kind in _FEEDING
    sent = sent or (verb == "send" and "code" in flags)
    evaluates_input = (verb == "evaluate" or told == ("evaluate",)) and (words | prose.object) & NOUNS["script"]
    return "runs the code or command it is given" if taken or typed or sent or fed or evaluates_input else None


def _given_statement(tool: ToolFeatures) -> str | None:
    prose, flags = tool.prose, tool.inputs.flags
    if (tool.words | prose.object) & NOUNS["asked"] and not flags & {"code", "command", "sql"}:
        return None
    queried = "query" in flags and _without_manner(tool.name.words)[-1:] in {("query",), ("queries",)}
    stored = "query" in flags and (tool.words | prose.object) & NOUNS["store"]
    asked = stored and tool.name.verb == "query" and (tool.confirmed or not prose.verbs)
    joined = "query" in flags and _runs_as_well(tool) and prose.object & {"query", "queries"}
    given = flags & {"query", "sql"} and is_any_query(tool) and not only_reads(tool)
    if asked or joined or given or (_names_running(tool) and queried):
        return "runs whatever query is written"
    adds_record = tool.kind == "add" and prose.kind in {"add", "change"}
    if "sql" in tool.inputs.flags and ((tool.kind != "look" and not adds_record) or prose.kind == "run"):
        return "runs the statement it is given"
    bare = tool.kind == "none" and tool.words & NOUNS["dialect"] and tool.inputs.names & _ASKED
    if bare and not prose.verbs:
        return "runs the statement it is given"
    named = tool.words & (NOUNS["program"] if tool.kind == "run" else _STRICT)
    if _names_running(tool) and (named or prose.object & _STRICT):
        return "runs what it is given"
    if prose.verbs[1:2] in {("execute",), ("run",)} and prose.object & _SCRIPTS and tool.kind not in READING:
        return "runs what it is given"
    mutation = prose.object & NOUNS["mutation"] and prose.object & NOUNS["statement"]
    if prose.kind == "run" and prose.verbs[0] != "perform" and (prose.object & _STRICT or mutation):
        return "runs what it is given"
    return None


def _without_manner(words: tuple[str, ...]) -> tuple[str, ...]:
    """Drop words for how it runs: `run_query_async`."""
    return words[:-1] if words[-1:] and words[-1] in _MANNER else words


def _given_task(tool: ToolFeatures) -> str | None:
    prose = tool.prose
    if tool.inputs.flags & {"task", "message"} and "autonomous" in prose.statements:
        return "an agent acts on its own"
    if tool.inputs.flags & {"task", "message"} and tool.inputs.names & NOUNS["leash"]:
        return "an agent acts as far as it is let"
    if "task" in tool.inputs.flags and _instructs_agent(tool):
        return "an agent does what it is told"
    browsed = (
        "task" in tool.words
        and prose.verbs[:1] == ("start",)
        and prose.opening & {"browser", "browsing"}
        and tool.kind not in READING
    )
    if "task" in tool.inputs.flags and browsed:
        return "an agent acts on live pages"
    told = prose.kind == "run" and tool.kind not in READING
    if (told or "code" in tool.inputs.flags) and tool.kind not in READING and "runs_anything" in tool.outset:
        return "runs anything"
    if not _names_running(tool):
        return None
    if "many_tools" in prose.statements:
        return "calls other tools"
    if "runs_anything" in prose.statements:
        return "runs anything"
    agent = tool.words & _AGENTS and tool.inputs.flags & {"task", "message"}
    if agent:
        return "an agent does what it is told"
    return "acts on a live screen" if prose.opening & _SCREEN and prose.opening & _ERRAND else None


def _instructs_agent(tool: ToolFeatures) -> bool:
    """Whether it starts an agent or instructs a running one."""
    prose = tool.prose
    told = prose.kind == "send" and prose.object & {"instruction", "instructions"} and prose.opening & _WORKING
    return (tool.name.verb in _SETTING_TO_WORK and bool(tool.words & _AGENTS)) or bool(told and prose.opening & _AGENTS)


def _runs_batch(tool: ToolFeatures) -> str | None:
    """It runs a batch of operations that the caller lists."""
    listed = tool.inputs.names & (
        NOUNS["listed"] - (_ADDED if tool.kind == "add" or _is_message_batch(tool) else set())
    )
    batch = (tool.words | tool.prose.opening) & {"batch", "bulk", "multi", "sequence", "transaction"} and listed
    return "runs the operations that are listed" if batch and tool.kind not in READING else None


def _is_message_batch(tool: ToolFeatures) -> bool:
    """Whether the batch consists of messages, not operations."""
    return tool.name.verb == "send" and bool(tool.words & {"email", "emails", "messages", "sms"})


def _offers_execution(tool: ToolFeatures) -> str | None:
    chosen = sorted({choice.verb for choice in tool.deeds} & DEEDS["running"])
    return f"a parameter offers {chosen[0]}" if chosen else None
