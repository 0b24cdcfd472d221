"""Can a call lose data, access or running work, or run anything at all?"""

from dataclasses import dataclass

from assent.infer.evidence import Evidence
from assent.infer.lexicon import NOUNS, VERBS

_STRONG = frozenset(
    "delete destroy drop purge erase terminate wipe revoke cancel uninstall kill empty truncate trash".split()
)
_VAGUE = frozenset({"none", "noun", "manage", "run", "look", "read", "session"})
_WRITERS = frozenset({"replace", "put", "set", "import", "restore", "write", "upload", "save", "copy", "export", "deploy"})
_TARGETS = frozenset({"url", "uri", "path", "endpoint", "route", "service"})
_METHODS = frozenset({"post", "put", "patch", "delete", "request", "send"})
# They begin or repeat something beside what is there.
_ADDITIVE = frozenset({"connect", "launch", "process", "replay", "rerun", "resend", "resubmit", "retry", "trigger"})
_REQUESTS = frozenset({"api", "http", "request", "requests", "rest", "proxy", "curl", "call", "generic", "graph", "invoke"})
_MILD = frozenset({"deny", "reject", "unlink", "leave", "unload", "unstage", "strip", "void", "quit"})
_RUNNERS = frozenset({"execute", "exec", "eval", "process", "call", "invoke", "command", "shell"})
_WHOLE = frozenset({"snapshot", "backup"})
_SECRETS = NOUNS["secret"] | {"token", "tokens", "key", "keys"}


@dataclass(frozen=True, slots=True)
class Harm:
    """What a call may destroy or replace, and why we think so."""

    destroys: str | None
    executes: str | None
    replaces: str | None

    @property
    def destructive(self) -> bool:
        return bool(self.destroys or self.executes)


def judge_harm(evidence: Evidence) -> Harm:
    """Judge a tool that acts; a tool that only looks harms nothing."""
    return Harm(
        _by_name(evidence) or _by_choice(evidence) or _by_text(evidence) or _by_combination(evidence),
        _executes(evidence),
        _replaces(evidence),
    )


def _by_name(evidence: Evidence) -> str | None:
    for verb in (evidence.name.verb, *evidence.name.beside):
        if verb and VERBS[verb] == "destroy" and _loses(verb, evidence.words):
            return f"{verb} loses data, access or running work"
    return None


def _loses(verb: str, words: frozenset[str]) -> bool:
    if verb in _MILD:
        return False
    if verb in {"stop", "cancel"}:
        return not words & NOUNS["own"]
    if verb in {"remove", "clear", "detach"}:
        return not words & NOUNS["trivial"]
    if verb == "reset":
        return not words & NOUNS["trivial"] - {"default"}
    if verb in {"regenerate", "rotate"}:
        return bool(words & _SECRETS)
    return True


def _by_choice(evidence: Evidence) -> str | None:
    lost = sorted({verb for verb, kind in evidence.inputs.choices if kind == "destroy" and verb not in _MILD})
    return f"a parameter offers {', '.join(lost[:3])}" if lost else None


def _by_text(evidence: Evidence) -> str | None:
    prose = evidence.prose
    for verb in prose.verbs:
        if VERBS[verb] != "destroy" or verb == "refund" or not _loses(verb, evidence.words | prose.opening):
            continue
        if verb in _STRONG or evidence.kind in _VAGUE or verb == prose.verbs[0] and evidence.kind == "destroy":
            return f"the description says {verb}"
    if evidence.kind in {"manage", "none", "noun"} and "deletes" in prose.statements:
        return "the description offers to delete, remove or stop as well"
    if "lasting" in prose.statements and evidence.kind not in {"add", "make", "send", "share", "spend"}:
        return "the description warns that the effect is lasting"
    return None


def _by_combination(evidence: Evidence) -> str | None:
    verb, words, statements = evidence.name.verb, evidence.words, evidence.prose.statements
    if verb == "restore" and words & _WHOLE:
        return "restoring a copy replaces what is there now"
    if verb in {"upgrade", "downgrade"} and "version" in words:
        return "a change of version is hard to take back"
    if verb == "migrate" and "reset" in evidence.text.lower():
        return "a migration that may reset what is there"
    if verb == "replace" and "all" in words and "text" not in words:
        return "everything that was there is replaced"
    if verb in _WRITERS and "discards" in statements:
        return "what was there before is discarded"
    if evidence.kind == "drive" or (evidence.prose.kind == "drive" and evidence.kind in _VAGUE):
        return "a press on a live screen may do anything"
    return _by_program(evidence)


def _by_program(evidence: Evidence) -> str | None:
    """Running something whose name or text is itself a loss: a rollback, a clean-up, a dangerous action."""
    if evidence.kind != "run":
        return None
    lost = sorted(word for word in evidence.words if VERBS.get(word) == "destroy")
    if lost:
        return f"runs a {lost[0]}"
    return "runs something it warns of" if "cautions" in evidence.prose.statements else None


def _executes(evidence: Evidence) -> str | None:
    flags, prose, words = evidence.inputs.flags, evidence.prose, evidence.words
    running = evidence.kind == "run" or (prose.kind == "run" and evidence.kind in _VAGUE)
    loose = NOUNS["program"] - {"tool", "tools", "api", "request"}
    program = words & (NOUNS["program"] if evidence.kind == "run" else loose) or prose.opening & loose
    requesting = evidence.kind in _VAGUE or evidence.name.verb in _METHODS
    if requesting and evidence.inputs.names & _TARGETS:
        if "writes_http" in prose.statements or ("http" in flags and words & _REQUESTS):
            return "sends any request with any method"
    if flags & {"code", "command"} and (running or evidence.name.verb in {"evaluate", None}):
        return "runs the code or command it is given"
    if "sql" in flags and evidence.kind != "look":
        return "runs the statement it is given"
    if (running and program) or (prose.kind == "run" and prose.opening & loose):
        return "runs what it is given"
    if running and "many_tools" in prose.statements:
        return "calls other tools"
    if "autonomous" in prose.statements and flags & {"task", "message"}:
        return "an agent acts on its own"
    if running and "runs_anything" in prose.statements:
        return "runs anything"
    if running and prose.opening & {"page", "browser", "screen"} and prose.opening & {"action", "actions", "task"}:
        return "acts on a live screen"
    chosen = sorted({verb for verb, _ in evidence.inputs.choices if verb in _RUNNERS})
    return f"a parameter offers {chosen[0]}" if chosen else None


def _replaces(evidence: Evidence) -> str | None:
    verb, kind = evidence.name.verb, evidence.kind
    if kind in {"change", "manage", "drive", "session", "destroy"} and verb not in _ADDITIVE:
        return f"{verb} changes what was there"
    if evidence.inputs.flags & {"overwrite", "file"} or evidence.prose.statements & {"overwrites", "discards"}:
        return "may overwrite what was there"
    if kind in {"none", "noun", "look", "run"} and evidence.prose.kinds & {"change", "session"}:
        return f"the description says {evidence.prose.verbs[0]}"
    if any(kind == "change" for _, kind in evidence.inputs.choices):
        return "a parameter offers to change what was there"
    return None
