"""What does a verb of this class mean, with these words and parameters around it?"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from assent.infer.evidence import Evidence
from assent.infer.lexicon import ACTING, DEEDS, MIXED, NOUN_TOO, NOUNS, READING, VERBS
from assent.infer.statements import Statements

READS, LOOKS, UNCLEAR, ACTS = "reads", "looks", "unclear", "acts"

_PROGRAM: Final = frozenset({"sql", "code", "command", "page_script"})
_GIVING: Final = frozenset({"payload", "force", "confirm", "rehearse"})
_VALIDATING: Final = frozenset({"check", "lint", "validate", "verify"})
_CLAIMS: Final = (
    *("read-only", "readonly", "select quer", "select statement", "select only", "only select", "select operation"),
    *("read query", "read queries", "read cypher", "read sql", "dql"),
)
_WRITING: Final = ("write", "insert", "update", "delete", "modif", "mutat", "any ")
_WORDED: Final = frozenset({"q", "query", "query_string", "request", "text"})
_ERRAND: Final = frozenset({"agent", "errand", "instruction", "instructions", "prompt", "task"})
_AGENTS: Final = frozenset({"agent", "agents", "assistant", "bot"})
# Parameters by which what was made is found again.
_NAMED: Final = frozenset({"output_name", "output_file_name", "report_name", "save_name"})
_TEXT: Final = frozenset({"command", "commands", "locator", "selector", "regex"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """How sure we are that the tool only reads, and the sentence that says why."""

    level: str
    because: str


def judge_act(evidence: Evidence) -> Verdict:
    return Verdict(ACTS, f"the name's verb is {evidence.name.verb}")


def _read(evidence: Evidence) -> Verdict:
    verb, prose = evidence.name.verb, evidence.prose
    if prose.unknown and verb in NOUN_TOO and evidence.name.place != "first":
        return Verdict(UNCLEAR, f"{verb} may be a thing here; the description says {prose.unknown}")
    doubt = _program(evidence)
    if doubt and _claims_reading(evidence):
        return Verdict(LOOKS, f"the name says {verb}, and it says that it only reads")
    if evidence.inputs.flags >= {"http", "url"}:
        doubt = "it sends any method"
    doubt = doubt or _kept(evidence) or _consulted(evidence) or _let_in(evidence) or _traced(evidence)
    doubt = doubt or _shown_elsewhere(evidence)
    if doubt:
        return Verdict(UNCLEAR, f"the name says {verb}, but {doubt}")
    if prose.kind in {"destroy", "send", "spend", "drive"} or (prose.kind in ACTING and verb in NOUN_TOO):
        return Verdict(ACTS, f"the name says {verb}, the description {prose.verbs[0]}")
    if prose.kind in {"change", "session"} and _claims_reading(evidence):
        return Verdict(LOOKS, f"the name says {verb}, and it says that it only reads")
    if prose.kind in ACTING or (prose.kind == "session" and prose.verbs[0] != "authenticate"):
        return Verdict(UNCLEAR, f"the name says {verb}, the description {prose.verbs[0]}")
    return Verdict(READS, f"the name's verb is {verb}")


def _look(evidence: Evidence) -> Verdict:
    verb, prose = evidence.name.verb, evidence.prose
    if prose.kinds & ACTING:
        return Verdict(ACTS, f"the name says {verb}, the description {prose.verbs[0]}")
    if prose.kind == "run" and prose.object & _ERRAND:
        return Verdict(ACTS, f"the name says {verb}, the description {prose.verbs[0]} of a task")
    doubt = _program(evidence) or _saved(evidence) or _rehearsed(evidence) or _consulted(evidence) or _made(evidence)
    doubt = doubt or _traced(evidence) or _begun(evidence) or _statement(evidence)
    if doubt:
        return Verdict(UNCLEAR, f"the name says {verb}, but {doubt}")
    told = prose.kind == "look" and ("returns" in prose.statements or verb != prose.verbs[0])
    if prose.kind == "read" or told:
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
        looking = prose.object & NOUNS["report"] and not prose.object & NOUNS["written"]
        return Verdict(LOOKS if looking else ACTS, f"the description says {prose.verbs[0]}")
    doubt = _program(evidence) or _saved(evidence)
    if doubt:
        return Verdict(UNCLEAR, doubt)
    if prose.kind in READING and prose.late and prose.verbs[0] == "return" and evidence.kind != "noun":
        return Verdict(UNCLEAR, "what is returned is said, but not what is done")
    if prose.kind in READING:
        return Verdict(LOOKS, f"no verb in the name; the description says {prose.verbs[0]}")
    return _titled(evidence)


def _titled(evidence: Evidence) -> Verdict:
    title, prose = evidence.title, evidence.prose
    if title and title.place in {"first", "only"} and title.kind in READING | MIXED:
        return Verdict(LOOKS if title.kind in READING else ACTS, f"the title says {title.verb}")
    if evidence.kind == "noun" and "reads_only" in prose.statements:
        return Verdict(LOOKS, "the description says that it only reads")
    topic = prose.topic or (evidence.name.verb if evidence.kind == "noun" and prose.nominal else None)
    if topic and not evidence.inputs.flags & _GIVING:
        return Verdict(LOOKS, f"no verb at all; it is about {topic}")
    return Verdict(UNCLEAR, "neither name nor description says what it does")


def _make(evidence: Evidence) -> Verdict:
    prose, words = evidence.prose, evidence.words
    verb = prose.verbs[0] if evidence.kind != "make" and prose.kind == "make" else evidence.name.verb
    if _saved(evidence):
        return Verdict(ACTS, f"{verb}, and the result is saved")
    if evidence.inputs.names & {*_NAMED, f"{verb}_title", f"{verb}_name", f"{verb}_id"}:
        return Verdict(ACTS, f"{verb}, and the result gets a name to be found by")
    if prose.kinds & ACTING:
        return Verdict(ACTS, f"{verb}, and the description says {prose.verbs[0]}")
    if prose.kind in READING:
        return Verdict(LOOKS, f"{verb}, but the description says {prose.verbs[0]}")
    if prose.kind == "run" and _claims_reading(evidence):
        return Verdict(LOOKS, f"{verb}, but says that it only reads")
    if verb in {"export", "download"} and "returns" in prose.statements:
        return Verdict(LOOKS, f"{verb}, and the result is returned")
    if verb in {"convert", "transform"} and words & NOUNS["value"]:
        return Verdict(LOOKS, f"{verb} of a value")
    if verb == "generate" and (words & NOUNS["wording"] or prose.opening & _TEXT):
        return Verdict(LOOKS, f"{verb}, and the result is a piece of text")
    return Verdict(UNCLEAR, f"{verb}: whether the result is kept is not said")


def _run(evidence: Evidence) -> Verdict:
    verb, prose, flags = evidence.name.verb, evidence.prose, evidence.inputs.flags
    if "mend" in flags:
        return Verdict(ACTS, f"{verb}, and what it finds can be put right or kept")
    if not flags & {"code", "command"} and _claims_reading(evidence):
        return Verdict(LOOKS, f"{verb}, but says that it only reads")
    program = evidence.words & NOUNS["program"] or (prose.kind == "run" and prose.object & NOUNS["dialect"])
    if flags & (_PROGRAM | {"http", "task"}) or program:
        return Verdict(ACTS, f"{verb} with a program, request or task of the caller's")
    if (evidence.words | prose.object) & NOUNS["asked"] and not flags & {"code", "command"}:
        return Verdict(LOOKS, f"{verb} of a query in a language that only reads")
    queried = evidence.name.words[-1] in {"query", "queries"}
    if queried and ("query" in flags or (evidence.words | prose.opening) & NOUNS["store"]):
        return Verdict(UNCLEAR, f"{verb} of whatever query is written")
    if evidence.name.words[-1] in NOUNS["report"]:
        return Verdict(LOOKS, f"{verb} of a {evidence.name.words[-1]}")
    if prose.kind == "read" and not prose.kinds & ACTING:
        return Verdict(LOOKS, f"{verb}, but the description says {prose.verbs[0]}")
    if prose.opening & {"query", "queries", "question"} and "returns" in prose.statements:
        return Verdict(LOOKS, f"{verb} of a stored query that returns its result")
    return Verdict(ACTS, f"the name's verb is {verb}")


def _claims_reading(evidence: Evidence) -> bool:
    """Only a claim in the title or the first lines counts, and not beside a word of writing."""
    headline = evidence.headline
    claims = any(claim in headline for claim in _CLAIMS)
    return claims and not any(word in headline for word in _WRITING)


def _program(evidence: Evidence) -> str | None:
    """What shows that the caller writes the program, the statement or the command."""
    doubt = None if evidence.name.verb in DEEDS["treating"] else _written(evidence)
    cleared = doubt and ("select" in evidence.prose.object or "reads_only" in evidence.prose.statements)
    return None if cleared else doubt


def _written(evidence: Evidence) -> str | None:
    prose, verb = evidence.prose, evidence.name.verb
    if evidence.inputs.flags & _PROGRAM:
        return "it takes a program or query text"
    if prose.kind == "run" and prose.object & NOUNS["written"]:
        return f"the description says {prose.verbs[0]}"
    spoken = {"evaluate": NOUNS["script"], "query": NOUNS["store"]}.get(verb or "", frozenset())
    if "filter" in evidence.inputs.names and evidence.inputs.names.isdisjoint(_WORDED):
        return None
    return f"{verb} of whatever is written" if (evidence.words | prose.object) & spoken else None


def _saved(evidence: Evidence) -> str | None:
    if "file" in evidence.inputs.flags or "saves" in evidence.prose.statements:
        return "the result may be saved"
    return None


def _kept(evidence: Evidence) -> str | None:
    """What is read may be put into a file: a parameter says where, or the first lines say so."""
    kept = "file" in evidence.inputs.flags or "files" in Statements(evidence.headline)
    return "the result may be saved" if kept else None


def _let_in(evidence: Evidence) -> str | None:
    """`get_upload_url` gives a way in that was not there before."""
    lets_in = evidence.words & NOUNS["ticket"] and evidence.words & NOUNS["ticketed"]
    return "what it gives lets its holder in" if lets_in else None


def _traced(evidence: Evidence) -> str | None:
    """A read that marks, takes or makes what it reads."""
    if evidence.inputs.flags & {"traced", "emptying"}:
        return "a switch marks or takes what is read"
    opening = Statements(evidence.headline)
    if "supplants" in opening or "loses" in opening:
        return "the description says that something is lost on the way"
    return "the description says that reading leaves a trace" if "traces" in evidence.prose.statements else None


def _begun(evidence: Evidence) -> str | None:
    """`monitor_voyage_start`, `audit_fix`: what stands last may be the deed, unless the description only looks."""
    last, said = evidence.name.words[-1], evidence.prose.kinds
    told = last not in DEEDS["opening"] and said and said <= READING
    deed = last != evidence.name.verb and VERBS.get(last) in ACTING and not told
    return f"its name ends with {last}" if deed else None


def _statement(evidence: Evidence) -> str | None:
    """`Run ANALYZE on a table`: the word is a statement that a store is given."""
    prose = evidence.prose
    given = prose.kind == "run" and evidence.name.verb == "analyze" and prose.object >= {"analyze"}
    return "it is a statement that is run" if given else None


def _shown_elsewhere(evidence: Evidence) -> str | None:
    """`view_in_browser` opens something on somebody's screen."""
    words = evidence.name.words
    opened = len(words) > 2 and words[-2] == "in" and words[-1] in NOUNS["program_window"]
    return f"something is opened in the {words[-1]}" if opened else None


def _consulted(evidence: Evidence) -> str | None:
    """An agent that is asked may do something about it."""
    asked = evidence.name.verb in DEEDS["consulting"] and evidence.words & _AGENTS
    return "an agent is asked" if asked else None


def _made(evidence: Evidence) -> str | None:
    """`infer` that generates an image keeps it somewhere, unless it says that it gives it back."""
    prose = evidence.prose
    makes = prose.kind == "make" and prose.verbs[0] in {"generate", "produce"} and "returns" not in prose.statements
    pictured = makes and prose.object & {"image", "images", "video", "videos", "audio", "music", "speech"}
    return f"the description says {prose.verbs[0]}" if pictured else None


def _rehearsed(evidence: Evidence) -> str | None:
    verb, prose = evidence.name.verb, evidence.prose
    if evidence.inputs.flags & {"rehearse", "force"} and verb not in _VALIDATING:
        return "it can be rehearsed or forced"
    if "mend" in evidence.inputs.flags:
        return "it can put right or keep what it finds"
    if prose.kind == "read" or "reads_only" in prose.statements:
        return None
    if verb == "test" and not evidence.words & NOUNS["tested"]:
        return "a test may do anything"
    marks = verb == "verify" and evidence.words & NOUNS["verified"] and "returns" not in prose.statements
    return "it may be marked as verified" if marks else None


BY_KIND: Final[Mapping[str, Callable[[Evidence], Verdict]]] = {
    "read": _read,
    "look": _look,
    "noun": _thing,
    "none": _thing,
    "thing": _thing,
    "make": _make,
    "run": _run,
}
