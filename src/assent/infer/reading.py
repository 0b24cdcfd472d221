"""Does the tool only look, or does it act?"""

from dataclasses import dataclass

from assent.infer.evidence import ACTING, READING, Evidence
from assent.infer.lexicon import NOUN_FIRST, NOUN_TOO, NOUNS, VERBS

READS, LOOKS, UNCLEAR, ACTS = "reads", "looks", "unclear", "acts"
_MIXED = frozenset({"add", "change", "destroy", "send", "share", "spend", "drive", "manage", "run"})
_PROGRAM = frozenset({"sql", "code", "command"})
_ASKING = frozenset({"is", "are", "has", "have", "can", "does", "was", "should"})
_LOOSE = frozenset({"tool", "tools", "api", "request", "command", "commands"})
_TEACHING = frozenset({"understand", "learn", "explain", "provide"})


_TESTED = frozenset({"connection", "connectivity", "permission", "permissions", "access", "expression", "regex", "credentials", "auth"})
_ORDERS = frozenset({"command", "commands", "locator", "selector", "regex"})
_SIGHT = frozenset({"screenshot", "snapshot"})
# Verbs that mean something else beside certain words.
_READ_OTHERWISE = (
    ("resolve", NOUNS["settled"], "change"),
    ("check", frozenset({"in", "out", "item", "items", "box", "checkbox", "todo"}), "change"),
    ("test", frozenset({"webhook", "webhooks", "notification", "hook", "email", "message"}), "send"),
    ("track", frozenset({"event", "events", "time", "conversion"}), "add"),
    ("take", _SIGHT, "look"),
    ("capture", _SIGHT, "look"),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How sure we are that the tool only reads, and the sentence that says why."""

    level: str
    because: str


def judge_reading(evidence: Evidence) -> Verdict:
    """The first rule that has something to say decides; acting evidence is asked first."""
    for rule in (_choices, _joined_verbs, _guidance, _question):
        verdict = rule(evidence)
        if verdict is not None:
            return verdict
    return _BY_KIND.get(_effective_kind(evidence), _acting)(evidence)


def _effective_kind(evidence: Evidence) -> str:
    """The class of the name's verb, unless the words around show that it is a thing or another deed."""
    name, prose = evidence.name, evidence.prose
    if name.verb is None:
        return "none"
    for verb, words, kind in _READ_OTHERWISE:
        if name.verb == verb and evidence.words & words:
            return kind
    if name.verb == "resolve" and prose.kind != "read" and not evidence.words & NOUNS["named"]:
        return "change"
    if name.verb == "review" and evidence.words & {"pull", "pr", "merge"} and "payload" in evidence.inputs.flags:
        return "add"
    if name.verb in NOUN_TOO and name.kind not in READING and not evidence.confirmed:
        weak = name.place in {"middle", "last"} or name.verb in NOUN_FIRST
        if weak and prose.kinds and prose.kinds <= READING:
            return "thing"
    return name.kind


def _choices(evidence: Evidence) -> Verdict | None:
    """One tool, many operations: the worst one counts."""
    chosen = evidence.inputs.choices
    acting = sorted({verb for verb, kind in chosen if kind in _MIXED})
    if acting and (evidence.kind != "read" or len(acting) > 1):
        return Verdict(ACTS, f"a parameter chooses between operations that include {', '.join(acting[:4])}")
    looking = {kind for _, kind in chosen} <= {"read", "look", "noun"}
    if chosen and looking and evidence.kind in {"manage", "none", "noun", "look", "read"}:
        return Verdict(READS, "every operation its parameter offers only reads")
    return None


def _joined_verbs(evidence: Evidence) -> Verdict | None:
    """`search_and_replace`, `Read or replace the clipboard`."""
    beside = [verb for verb in evidence.name.beside if VERBS[verb] in _MIXED | {"make"}]
    if beside and not (evidence.prose.kinds and evidence.prose.kinds <= READING):
        return Verdict(ACTS, f"the name also says {beside[0]}")
    joined = [verb for verb in evidence.prose.verbs[1:] if VERBS[verb] in ACTING]
    if joined and evidence.kind in READING | {"noun", "none", "session"}:
        return Verdict(ACTS, f"the description also says {joined[0]}")
    return None


def _guidance(evidence: Evidence) -> Verdict | None:
    """Tools that only tell how something is done, whatever verb their name has."""
    prose = evidence.prose
    if "guides" not in prose.statements or not prose.kinds or not prose.kinds <= READING:
        return None
    if prose.verbs[0] in _TEACHING or (prose.opening & NOUNS["guide"] and not evidence.confirmed):
        return Verdict(LOOKS, "the description offers guidance, not the deed")
    return None


def _question(evidence: Evidence) -> Verdict | None:
    """`is_connected`, `can_i_deploy`."""
    first = evidence.name.words[:1]
    if first and first[0] in _ASKING and not evidence.prose.kinds & ACTING:
        return Verdict(READS, "the name asks a question")
    return None


def _read(evidence: Evidence) -> Verdict:
    verb, prose = evidence.name.verb, evidence.prose
    if prose.unknown and verb in NOUN_TOO and evidence.name.place != "first":
        return Verdict(UNCLEAR, f"{verb} may be a thing here; the description says {prose.unknown}")
    if evidence.inputs.flags & _PROGRAM and "reads_only" not in prose.statements:
        return Verdict(UNCLEAR, f"the name says {verb}, but it takes a program or query text")
    if "file" in evidence.inputs.flags:
        return Verdict(UNCLEAR, f"the name says {verb}, but the result may be saved")
    if prose.kind in {"destroy", "send", "spend", "drive"} or (prose.kind in ACTING and verb in NOUN_TOO):
        return Verdict(ACTS, f"the name says {verb}, the description {prose.verbs[0]}")
    if prose.kind in ACTING:
        return Verdict(LOOKS, f"the name says {verb}, the description {prose.verbs[0]}")
    return Verdict(READS, f"the name's verb is {verb}")


def _look(evidence: Evidence) -> Verdict:
    verb, prose = evidence.name.verb, evidence.prose
    if prose.kinds & ACTING:
        return Verdict(ACTS, f"the name says {verb}, the description {prose.verbs[0]}")
    if evidence.inputs.flags & _PROGRAM:
        return Verdict(UNCLEAR, f"the name says {verb}, but it takes a program or query text")
    if evidence.inputs.flags & {"rehearse", "force"} and verb not in {"check", "lint", "validate", "verify"}:
        return Verdict(UNCLEAR, f"the name says {verb}, but it can be rehearsed or forced")
    if "file" in evidence.inputs.flags or "saves" in prose.statements:
        return Verdict(UNCLEAR, f"the name says {verb}, but the result may be saved")
    if verb == "test" and prose.kind != "read" and not evidence.words & _TESTED:
        return Verdict(UNCLEAR, "a test may do anything")
    if prose.kind == "read" or (prose.kind == "look" and ("returns" in prose.statements or verb != prose.verbs[0])):
        return Verdict(READS, f"name and description look: {verb}, {prose.verbs[0]}")
    return Verdict(LOOKS, f"the name's verb is {verb}")


def _thing(evidence: Evidence) -> Verdict:
    """The name has no verb, so the description and the title must say it."""
    prose = evidence.prose
    if prose.unknown:
        return Verdict(UNCLEAR, f"no verb in the name, and {prose.unknown} is not known")
    if prose.kinds & ACTING or prose.kind in {"manage", "session"}:
        return Verdict(ACTS, f"the description says {prose.verbs[0]}")
    if prose.kind == "make":
        return _make(evidence)
    if prose.kind == "run":
        looking = prose.opening & NOUNS["report"] and not prose.opening & (NOUNS["program"] - _LOOSE)
        return Verdict(LOOKS if looking else ACTS, f"the description says {prose.verbs[0]}")
    if evidence.inputs.flags & _PROGRAM:
        return Verdict(UNCLEAR, "it takes a program or query text")
    if "file" in evidence.inputs.flags:
        return Verdict(UNCLEAR, "the result may be saved")
    if prose.kind in READING:
        return Verdict(LOOKS, f"no verb in the name; the description says {prose.verbs[0]}")
    return _titled(evidence)


def _titled(evidence: Evidence) -> Verdict:
    kind = evidence.title.kind if evidence.title else "none"
    if kind in READING and evidence.title:
        return Verdict(LOOKS, f"the title says {evidence.title.verb}")
    if kind in _MIXED and evidence.title:
        return Verdict(ACTS, f"the title says {evidence.title.verb}")
    if evidence.kind == "noun" and "reads_only" in evidence.prose.statements:
        return Verdict(LOOKS, "the description says that it only reads")
    return Verdict(UNCLEAR, "neither name nor description says what it does")


def _make(evidence: Evidence) -> Verdict:
    prose = evidence.prose
    verb = evidence.name.verb if evidence.kind == "make" else prose.verbs[0]
    if "file" in evidence.inputs.flags or "saves" in prose.statements:
        return Verdict(ACTS, f"{verb}, and the result is saved")
    if prose.kinds & ACTING:
        return Verdict(ACTS, f"{verb}, and the description says {prose.verbs[0]}")
    if prose.kind in READING:
        return Verdict(LOOKS, f"{verb}, but the description says {prose.verbs[0]}")
    if verb in {"export", "download"} and "returns" in prose.statements:
        return Verdict(LOOKS, f"{verb}, and the result is returned")
    if verb in {"convert", "transform"} and evidence.words & NOUNS["value"]:
        return Verdict(LOOKS, f"{verb} of a value")
    if verb == "generate" and (evidence.words | prose.opening & _ORDERS) & NOUNS["wording"]:
        return Verdict(LOOKS, f"{verb}, and the result is a piece of text")
    return Verdict(UNCLEAR, f"{verb}: whether the result is kept is not said")


def _run(evidence: Evidence) -> Verdict:
    verb, prose = evidence.name.verb, evidence.prose
    flags = evidence.inputs.flags
    if "reads_only" in prose.statements or "read-only" in evidence.text[:120].lower():
        if not flags & {"code", "command"}:
            return Verdict(LOOKS, f"{verb}, but says that it only reads")
    program = flags & (_PROGRAM | {"http", "task"}) or evidence.words & NOUNS["program"]
    if program:
        return Verdict(ACTS, f"{verb} with a program, request or task of the caller's")
    if evidence.name.words[-1] in NOUNS["report"]:
        return Verdict(LOOKS, f"{verb} of a {evidence.name.words[-1]}")
    if prose.kind == "read" and not prose.kinds & ACTING:
        return Verdict(LOOKS, f"{verb}, but the description says {prose.verbs[0]}")
    if "returns" in prose.statements and prose.opening & {"query", "queries"}:
        return Verdict(LOOKS, f"{verb} of a stored query that returns its result")
    return Verdict(ACTS, f"the name's verb is {verb}")


def _acting(evidence: Evidence) -> Verdict:
    return Verdict(ACTS, f"the name's verb is {evidence.name.verb}")


_BY_KIND = {"read": _read, "look": _look, "noun": _thing, "none": _thing, "thing": _thing, "make": _make, "run": _run}
