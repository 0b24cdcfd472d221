"""What does a verb of this class mean, with these words and parameters around it?"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from assent.infer.doubts import (
    PROGRAM,
    begun,
    consulted,
    dispatched,
    ended,
    errand,
    evaluated,
    kept,
    let_in,
    made,
    mended,
    program,
    rehearsed,
    renewed,
    saved,
    shown_elsewhere,
    statement,
    traced,
)
from assent.infer.evidence import Evidence
from assent.infer.lexicon import ACTING, DEEDS, MIXED, NOUN_TOO, NOUNS, READING, VERBS, find_verb
from assent.infer.naming import read_name

READS, LOOKS, UNCLEAR, ACTS = "reads", "looks", "unclear", "acts"

_GIVING: Final = frozenset({"payload", "force", "confirm", "rehearse"})
_CLAIMS: Final = (
    *("read-only", "readonly", "select quer", "select statement", "select only", "only select", "select operation"),
    *("read query", "read queries", "read cypher", "read sql", "dql"),
)
_WRITING: Final = ("write", "insert", "update", "delete", "modif", "mutat", "any ")
_GRAVE: Final = frozenset({"destroy", "send", "spend", "drive"})
_WRITTEN: Final = ("body", "expression", "request", "script", "sql", "statement", "text", "xml")
_SPAN: Final = ("date", "end", "from", "since", "start")
# What is got may be loaded or requested first.
_LOADING: Final = frozenset({"load", "open", "request", "select"})
_EXPRESSIONS: Final = frozenset({"code", "expr", "expression", "expressions", "script"})
_PLACES: Final = ("dir", "directory", "file", "filename", "folder", "path")
_FORMS: Final = frozenset({"csv", "json", "jsonl", "markdown", "xml", "yaml"})
_FILED: Final = frozenset({"directory", "file", "files", "folder", "project"})
_ERRAND: Final = frozenset({"agent", "errand", "instruction", "instructions", "prompt", "task"})
_CHOOSING: Final = frozenset({"action", "command", "method", "operation"})
# Parameters by which what was made is found again.
_NAMED: Final = frozenset({"output_name", "output_file_name", "report_name", "save_name"})
_TEXT: Final = frozenset({"command", "commands", "locator", "selector", "regex"})


class Verdict(NamedTuple):
    """How sure we are that the tool only reads, and the sentence that says why."""

    level: str
    because: str


def judge_act(evidence: Evidence) -> Verdict:
    return Verdict(ACTS, f"the name's verb is {evidence.name.verb}")


def _read(evidence: Evidence) -> Verdict:
    verb, prose = evidence.name.verb, evidence.prose
    if prose.unknown and not _describes(evidence):
        return Verdict(UNCLEAR, f"the name says {verb}, the description {prose.unknown}, which is not known")
    doubt = program(evidence)
    if doubt and "code" not in evidence.inputs.flags and _claims_reading(evidence):
        return Verdict(LOOKS, f"the name says {verb}, and it says that it only reads")
    if evidence.inputs.flags >= {"http", "url"}:
        doubt = "it sends any method"
    doubt = (
        doubt
        or evaluated(evidence)
        or ended(evidence)
        or kept(evidence)
        or consulted(evidence)
        or let_in(evidence)
        or traced(evidence)
    )
    doubt = doubt or shown_elsewhere(evidence) or errand(evidence) or renewed(evidence) or mended(evidence)
    if doubt:
        return Verdict(UNCLEAR, f"the name says {verb}, but {doubt}")
    grave = prose.kind in _GRAVE or (prose.kind in ACTING and verb in NOUN_TOO)
    if grave and not _describes(evidence):
        return Verdict(ACTS, f"the name says {verb}, the description {prose.verbs[0]}")
    if prose.kind in {"change", "session"} and _claims_reading(evidence):
        return Verdict(LOOKS, f"the name says {verb}, and it says that it only reads")
    acts = prose.kind in ACTING or (prose.kind == "session" and prose.verbs[0] != "authenticate")
    if acts and not _describes(evidence):
        return Verdict(UNCLEAR, f"the name says {verb}, the description {prose.verbs[0]}")
    return Verdict(READS, f"the name's verb is {verb}")


def _describes(evidence: Evidence) -> bool:
    """Whether the text begins with what is got, and what sounds like a deed comes later."""
    name, prose = evidence.name, evidence.prose
    if name.verb not in DEEDS["fetching"] or name.place not in {"first", "last", "only"}:
        return False
    loaded = prose.verbs[:1] and prose.verbs[0] in _LOADING
    return bool(loaded) or (prose.late and prose.kind not in _GRAVE | {"share"})


def _look(evidence: Evidence) -> Verdict:
    verb, prose = evidence.name.verb, evidence.prose
    if prose.unknown:
        return Verdict(UNCLEAR, f"the name says {verb}, the description {prose.unknown}, which is not known")
    if prose.kinds & ACTING:
        return Verdict(ACTS, f"the name says {verb}, the description {prose.verbs[0]}")
    if prose.kind == "run" and prose.object & _ERRAND:
        return Verdict(ACTS, f"the name says {verb}, the description {prose.verbs[0]} of a task")
    if prose.kind == "make" and verb in prose.object and verb == evidence.name.words[-1]:
        return Verdict(LOOKS, f"{prose.verbs[0]} of {verb}")
    if prose.kind == "make" and verb in NOUN_TOO and not evidence.confirmed and not prose.late:
        return _make(evidence)
    doubt = program(evidence) or saved(evidence) or rehearsed(evidence) or consulted(evidence) or made(evidence)
    doubt = (
        doubt
        or evaluated(evidence)
        or ended(evidence)
        or traced(evidence)
        or begun(evidence)
        or statement(evidence)
        or errand(evidence)
    )
    if doubt:
        return Verdict(UNCLEAR, f"the name says {verb}, but {doubt}")
    if prose.kind == "session" and prose.verbs[0] != "authenticate":
        return Verdict(UNCLEAR, f"the name says {verb}, the description {prose.verbs[0]}")
    told = prose.kind == "look" and ("returns" in prose.statements or verb != prose.verbs[0])
    if prose.kind == "read" or told:
        return Verdict(READS, f"name and description look: {verb}, {prose.verbs[0]}")
    return Verdict(LOOKS, f"the name's verb is {verb}")


def _thing(evidence: Evidence) -> Verdict:
    """The name has no verb, so the description and the title must say it."""
    prose = evidence.prose
    if prose.unknown:
        return Verdict(UNCLEAR, f"no verb in the name, and {prose.unknown} is not known")
    if evidence.kind == "noun" and evidence.name.place == "last" and _claims_reading(evidence):
        return Verdict(LOOKS, "it says that it only reads")
    if evidence.kind == "noun" and prose.late and prose.kind not in _GRAVE and _tells(evidence):
        return Verdict(LOOKS, f"no verb in the name; it is about {evidence.name.words[-1]}")
    if prose.verbs[:1] == ("load",) and len(prose.verbs) == 1 and not evidence.inputs.names:
        return Verdict(LOOKS, "what is loaded is said, and nothing is given")
    if prose.kinds & ACTING or prose.kind in {"manage", "session"}:
        return Verdict(ACTS, f"the description says {prose.verbs[0]}")
    if prose.kind == "make":
        return _make(evidence)
    if prose.kind == "run":
        looking = prose.object & NOUNS["report"] and not prose.object & NOUNS["written"] and not saved(evidence)
        looking = looking and prose.verbs[0] not in {"operate", "orchestrate"}
        return Verdict(LOOKS if looking else ACTS, f"the description says {prose.verbs[0]}")
    doubt = program(evidence) or saved(evidence) or errand(evidence) or mended(evidence) or traced(evidence)
    doubt = doubt or consulted(evidence) or dispatched(evidence)
    if doubt:
        return Verdict(UNCLEAR, doubt)
    returned = prose.late and prose.verbs[:1] == ("return",) and bool(evidence.inputs.names)
    if prose.kind in READING and returned and evidence.kind != "noun":
        return Verdict(UNCLEAR, "what is returned is said, but not what is done")
    if prose.verbs[:1] == ("track",) and VERBS.get(evidence.name.verb or "") in ACTING:
        return Verdict(UNCLEAR, f"{evidence.name.verb} that is tracked may be written down")
    if prose.kind in READING:
        return Verdict(LOOKS, f"no verb in the name; the description says {prose.verbs[0]}")
    return _titled(evidence)


def _tells(evidence: Evidence) -> bool:
    """`harbour_status`, to which nothing is given that could be kept."""
    given = evidence.inputs.flags & (_GIVING | PROGRAM | {"mend"}) or evidence.inputs.names & _CHOOSING
    return evidence.name.words[-1] in NOUNS["told"] and not given and not saved(evidence)


def _titled(evidence: Evidence) -> Verdict:
    prose = evidence.prose
    title = read_name(evidence.title, prose.verbs)
    if title.place in {"first", "only"} and title.kind in READING | MIXED:
        return Verdict(LOOKS if title.kind in READING else ACTS, f"the title says {title.verb}")
    if evidence.kind == "noun" and "reads_only" in prose.statements:
        return Verdict(LOOKS, "the description says that it only reads")
    named = evidence.kind == "noun" and prose.opening
    topic = prose.topic or (evidence.name.verb if named else None)
    chosen = evidence.inputs.names & _CHOOSING
    if topic and not chosen and not evidence.inputs.flags & _GIVING and not any(map(_is_deed, prose.opening)):
        return Verdict(LOOKS, f"no verb at all; it is about {topic}")
    return Verdict(UNCLEAR, "neither name nor description says what it does")


def _is_deed(word: str) -> bool:
    """Whether a word can be nothing but something that is done: `prunes`."""
    verb = find_verb(word)
    return verb is not None and verb not in NOUN_TOO and VERBS[verb] in ACTING


def _make(evidence: Evidence) -> Verdict:
    prose, words = evidence.prose, evidence.words
    verb = prose.verbs[0] if evidence.kind != "make" and prose.kind == "make" else evidence.name.verb
    if saved(evidence):
        return Verdict(ACTS, f"{verb}, and the result is saved")
    if verb == "report" and evidence.kind == "noun" and not evidence.inputs.names:
        return Verdict(LOOKS, f"{verb} of how something is")
    if "shared" in evidence.outset:
        return Verdict(ACTS, f"{verb}, and others can see the result")
    if evidence.inputs.names & {*_NAMED, f"{verb}_title", f"{verb}_name", f"{verb}_id"}:
        return Verdict(ACTS, f"{verb}, and the result gets a name to be found by")
    if prose.kinds & ACTING:
        return Verdict(ACTS, f"{verb}, and the description says {prose.verbs[0]}")
    if prose.kind in READING:
        return Verdict(LOOKS, f"{verb}, but the description says {prose.verbs[0]}")
    if prose.kind == "run" and _claims_reading(evidence):
        return Verdict(LOOKS, f"{verb}, but says that it only reads")
    if verb != "download" and "reads_only" in prose.statements and not evidence.inputs.flags & {"file"}:
        return Verdict(LOOKS, f"{verb}, but says that it only reads")
    filed = verb == "export" and prose.object & {"file", "files"}
    if verb in {"export", "download", "dump"} and "returns" in prose.statements and not filed:
        return Verdict(LOOKS, f"{verb}, and the result is returned")
    formed = prose.verbs[:1] == (verb,) and prose.object & NOUNS["formed"] and not prose.object & {"file", "files"}
    if (
        verb in {"convert", "transform"}
        and (words & NOUNS["value"] or formed)
        and "makes_another" not in prose.statements
    ):
        return Verdict(LOOKS, f"{verb} of a value")
    if verb == "generate" and (words & NOUNS["wording"] or prose.opening & _TEXT):
        return Verdict(LOOKS, f"{verb}, and the result is a piece of text")
    if verb == "generate" and (words | prose.object) & NOUNS["answered"]:
        return Verdict(LOOKS, f"{verb} of a model's answer")
    if evidence.kind == "noun" and words & NOUNS["told"] and verb in {"produce", "build", "generate"}:
        return Verdict(LOOKS, f"{verb} of how something is")
    if verb == "generate" and prose.object & (NOUNS["counsel"] | {"queries", "query"}):
        return Verdict(LOOKS, f"{verb}, and the result is advice")
    dated = words & {"report", "summary"} and any(name.endswith(_SPAN) for name in evidence.inputs.names)
    if verb == "generate" and dated and not evidence.inputs.flags & {"file"}:
        return Verdict(LOOKS, f"{verb} of a span of time")
    if verb == "generate" and "returns" in prose.statements and not (words | prose.opening) & NOUNS["kept"]:
        return Verdict(LOOKS, f"{verb}, and the result is returned")
    placed = (words | prose.opening) & (_FILED | {"disk", "local", "locally"}) or any(
        name.endswith(_PLACES) for name in evidence.inputs.names
    )
    if verb == "export" and prose.opening & _FORMS and not placed:
        return Verdict(LOOKS, f"{verb} in a form that is returned")
    if verb == "print" and prose.object & {"info", "information", "status", "version"}:
        return Verdict(LOOKS, f"{verb} of how something is")
    merely = "merely_makes" in prose.statements and not prose.opening & _FILED
    if merely and verb not in {"export", "download"}:
        return Verdict(LOOKS, f"{verb}, and it says that nothing else comes of it")
    if _drawn(evidence, verb):
        return Verdict(LOOKS, f"{verb} of a picture of what is given")
    return Verdict(UNCLEAR, f"{verb}: whether the result is kept is not said")


def _drawn(evidence: Evidence, verb: str | None) -> bool:
    """A chart that is generated, a graph that is rendered; one with a name of its own may stay."""
    around = evidence.words | evidence.prose.object
    rendered = verb in {"render", "plot"} and around & {"graph", "graphs", "image", "preview"}
    mapped = around & {"map", "maps"} and (around | evidence.prose.opening) & NOUNS["mapped"]
    pictured = around & NOUNS["drawn"] or rendered or mapped or {"qr", "code"} <= around
    names = evidence.inputs.names
    stays = around & NOUNS["canvas"] or names & NOUNS["canvas_id"] or any(name.startswith("save") for name in names)
    return bool(pictured) and not stays


def _run(evidence: Evidence) -> Verdict:
    verb, prose, flags = evidence.name.verb, evidence.prose, evidence.inputs.flags
    if "mend" in flags:
        return Verdict(ACTS, f"{verb}, and what it finds can be put right or kept")
    if not flags & {"code", "command"} and _claims_reading(evidence):
        return Verdict(LOOKS, f"{verb}, but says that it only reads")
    program = evidence.words & NOUNS["program"] or (prose.kind == "run" and prose.object & NOUNS["dialect"])
    if flags & (PROGRAM | {"http", "task"}) or program:
        return Verdict(ACTS, f"{verb} with a program, request or task of the caller's")
    if (evidence.words | prose.object) & NOUNS["asked"] and not flags & {"code", "command"}:
        return Verdict(LOOKS, f"{verb} of a query in a language that only reads")
    queried = evidence.name.words[-1] in {"query", "queries"}
    if queried and ("query" in flags or (evidence.words | prose.opening) & NOUNS["store"]):
        return Verdict(UNCLEAR, f"{verb} of whatever query is written")
    if "starts_job" in prose.statements:
        return Verdict(ACTS, f"{verb}, and a job goes on")
    if queried and any(name.endswith(_WRITTEN) for name in evidence.inputs.names):
        return Verdict(UNCLEAR, f"{verb} of whatever is written")
    if evidence.name.words[-1] in NOUNS["report"]:
        return Verdict(LOOKS, f"{verb} of a {evidence.name.words[-1]}")
    if prose.object & {"queries", "query"} and len(evidence.inputs.names & NOUNS["question_part"]) > 1:
        return Verdict(LOOKS, f"{verb} of a query that is put together from its parts")
    scored = verb == "eval" and prose.verbs[:1] == ("evaluate",) and evidence.inputs.names.isdisjoint(_EXPRESSIONS)
    if scored:
        return Verdict(LOOKS, f"{verb} of what is given")
    if prose.kind == "read" and not prose.kinds & ACTING:
        return Verdict(LOOKS, f"{verb}, but the description says {prose.verbs[0]}")
    asked = prose.opening & {"query", "queries", "question"} and not evidence.words & {"pipeline", "workflow"}
    if asked and "returns" in prose.statements:
        return Verdict(LOOKS, f"{verb} of a stored query that returns its result")
    return Verdict(ACTS, f"the name's verb is {verb}")


def _claims_reading(evidence: Evidence) -> bool:
    """Only a claim in the title or the first lines counts, not beside a word of writing, nor where settings decide."""
    headline = evidence.headline
    claims = any(claim in headline for claim in _CLAIMS)
    if not claims or any(word in headline for word in _WRITING):
        return False
    titled = any(claim in evidence.title.lower() for claim in _CLAIMS)
    return titled or "opens_up" not in evidence.prose.statements


BY_KIND: Final[Mapping[str, Callable[[Evidence], Verdict]]] = {
    "read": _read,
    "look": _look,
    "noun": _thing,
    "none": _thing,
    "thing": _thing,
    "make": _make,
    "run": _run,
}
