"""What does a verb of this class mean, with these words and parameters around it?"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from assent.infer.doubts import (
    begun,
    consulted,
    continued,
    dispatched,
    ended,
    errand,
    evaluated,
    kept,
    let_in,
    made,
    mended,
    rehearsed,
    renewed,
    requested,
    saved,
    shown_elsewhere,
    statement,
    traced,
)
from assent.infer.evidence import Evidence
from assent.infer.lexicon import (
    ACTING,
    DEEDS,
    DETERMINER,
    MIXED,
    NOUN_TOO,
    NOUNS,
    OTHERWISE,
    READING,
    VERBS,
    find_verb,
)
from assent.infer.naming import read_name
from assent.infer.products import judge_product
from assent.infer.programs import PROGRAM, program
from assent.infer.verdict import (
    ACTS,
    FAIR,
    FINAL,
    LOOKS,
    READS,
    STRONG,
    SURE,
    UNCLEAR,
    WEAK,
    Verdict,
    claims_reading,
)

_GIVING: Final = frozenset({"payload", "force", "confirm", "rehearse"})
_GRAVE: Final = frozenset({"destroy", "send", "spend", "drive"})
_WRITTEN: Final = ("body", "expression", "request", "script", "sql", "statement", "text", "xml")
# What is got may be loaded first.
_LOADING: Final = frozenset({"load", "select"})
_EXPRESSIONS: Final = frozenset({"code", "expr", "expression", "expressions", "script"})
_ERRAND: Final = frozenset({"agent", "errand", "instruction", "instructions", "prompt", "task"})
# Doubts that rest on the meaning of a word.
_UNLESS_DOUBTED: Final = {
    "a test may do anything": FAIR,
    "it is started, and what it gives is not said": FAIR,
    "it may be marked as verified": FAIR,
}
# Deeds that are called by a noun.
_UNDOING: Final = frozenset({"cutoff", "deletion", "erasure", "eviction", "removal", "termination"})
# Verbs that no words overrule: what they do matters to others, or stays.
_GIVEN_OUT: Final = _GRAVE | {"add", "share"}
# Of these it is noted somewhere that they were made, where nothing is given and nothing comes back.
_NOTED: Final = frozenset({"audit", "check", "checks", "validation", "verification"})
_ALIVE: Final = frozenset({"alive", "connectivity", "health", "pong"})
_PONG: Final = (("respond",), ("reply",), ("answer",))
_SELECTED = re.compile(r"\bruns? an? read-?only (?:\w+ )?(?:select|sql|query|statement)\b")
_ALTERING: Final = frozenset({"alter", "create", "create/merge", "ddl", "dml", "drop", "merge", "other"})
# A first sentence that goes on, in other languages.
_JOINED_ABROAD = re.compile(r"[^.。\n]*(?:并|並|后|後|然|して|하여|후| (?:e|et|y|и) )")
_RECORDED: Final = frozenset({"entries", "history", "log", "logs", "requests", "traffic"})
_CHOOSING: Final = frozenset({"action", "command", "method", "operation"})


def judge_act(evidence: Evidence) -> Verdict:
    prose = evidence.prose
    looks = bool(prose.kinds) and prose.kinds <= READING and not evidence.confirmed and evidence.kind not in _GRAVE
    if looks and "read-only" in evidence.text.lower() and not prose.late and not saved(evidence):
        return Verdict(LOOKS, f"{evidence.name.verb}, but the description looks and says that it only reads")
    return Verdict(ACTS, f"the name's verb is {evidence.name.verb}", _unless_named(evidence))


def _unless_named(evidence: Evidence) -> float:
    """What it takes to overrule the name's verb: nothing does where it is grave or the description confirms it."""
    return FINAL if evidence.confirmed or evidence.kind in _GIVEN_OUT else SURE


def _unless_told(evidence: Evidence, unless: float) -> float:
    """The same for the description's verb, which may be a thing: `Text message allowance`, but not `Sends a text`."""
    prose = evidence.prose
    first, second = [*evidence.text[:80].lower().split(maxsplit=2), "", ""][:2]
    thing = prose.verbs[0] in NOUN_TOO and first == prose.verbs[0] and second not in DETERMINER
    if first == prose.verbs[0] and second in DETERMINER and prose.kind != "run" and evidence.kind not in READING:
        unless = max(unless, STRONG)  # `Save a snapshot`
    if (prose.kinds & (_GRAVE | {"share"}) and not thing) or "starts_job" in prose.statements:
        return FINAL
    doubtful = (prose.verbs[0] in NOUN_TOO and prose.verbs[0] != "login") or prose.kind == "run"
    return unless if doubtful else max(unless, SURE)


def _read(evidence: Evidence) -> Verdict:
    verb, prose = evidence.name.verb, evidence.prose
    if prose.unknown and not _describes(evidence):
        return Verdict(UNCLEAR, f"the name says {verb}, the description {prose.unknown}, which is not known", STRONG)
    doubt = program(evidence)
    if doubt and "code" not in evidence.inputs.flags and claims_reading(evidence):
        return Verdict(LOOKS, f"the name says {verb}, and it says that it only reads")
    doubt = (
        requested(evidence)
        or doubt
        or evaluated(evidence)
        or ended(evidence)
        or kept(evidence)
        or consulted(evidence)
        or let_in(evidence)
        or traced(evidence)
    )
    doubt = doubt or shown_elsewhere(evidence) or errand(evidence) or renewed(evidence) or mended(evidence)
    doubt = doubt or continued(evidence) or (begun(evidence) if _may_begin(evidence) else None)
    if doubt:
        return Verdict(UNCLEAR, f"the name says {verb}, but {doubt}", _UNLESS_DOUBTED.get(doubt, FINAL))
    if evidence.name.words == ("ping",) and prose.verbs in _PONG and prose.opening & _ALIVE:
        return Verdict(READS, "ping, and it is answered")
    grave = prose.kind in _GRAVE or (prose.kind in ACTING and verb in NOUN_TOO)
    if grave and not _describes(evidence):
        return Verdict(ACTS, f"the name says {verb}, the description {prose.verbs[0]}", _unless_told(evidence, SURE))
    if prose.kind in {"change", "session"} and claims_reading(evidence):
        return Verdict(LOOKS, f"the name says {verb}, and it says that it only reads")
    acts = prose.kind in ACTING or (prose.kind == "session" and prose.verbs[0] != "authenticate")
    if acts and not _describes(evidence):
        return Verdict(UNCLEAR, f"the name says {verb}, the description {prose.verbs[0]}", _unless_told(evidence, FAIR))
    if VERBS.get(verb or "") in ACTING:
        return Verdict(READS, f"the name has {verb}, but the description only looks: {prose.verbs[0]}")
    return Verdict(READS, f"the name's verb is {verb}")


def _may_begin(evidence: Evidence) -> bool:
    """`research_start`, but not `get_launch`."""
    return evidence.name.words[-1] in DEEDS["opening"] and evidence.name.verb not in DEEDS["fetching"]


def _describes(evidence: Evidence) -> bool:
    """Whether the text begins with what is got, and what sounds like a deed comes later."""
    name, prose = evidence.name, evidence.prose
    first = prose.verbs[0] if prose.verbs else ""
    if first == "new" and prose.late:
        return True
    if name.verb not in DEEDS["fetching"] or name.place not in {"first", "last", "only"}:
        return False
    thing = prose.kind in {"send", "spend"} and first in NOUN_TOO
    return first in _LOADING or (prose.late and (thing or prose.kind not in _GRAVE | {"share"}))


def _look(evidence: Evidence) -> Verdict:
    verb, prose = evidence.name.verb, evidence.prose
    if prose.unknown:
        return Verdict(UNCLEAR, f"the name says {verb}, the description {prose.unknown}, which is not known", STRONG)
    if prose.kinds & ACTING:
        return Verdict(ACTS, f"the name says {verb}, the description {prose.verbs[0]}", _unless_told(evidence, SURE))
    if prose.kind == "run" and prose.object & _ERRAND:
        return Verdict(ACTS, f"the name says {verb}, the description {prose.verbs[0]} of a task")
    if prose.kind == "make" and verb in prose.object and verb == evidence.name.words[-1]:
        return Verdict(LOOKS, f"{prose.verbs[0]} of {verb}")
    if prose.kind == "make" and verb in NOUN_TOO and not evidence.confirmed and not prose.late:
        return judge_product(evidence)
    doubt = program(evidence) or saved(evidence) or rehearsed(evidence) or consulted(evidence) or made(evidence)
    doubt = (
        doubt
        or requested(evidence)
        or evaluated(evidence)
        or ended(evidence)
        or traced(evidence)
        or begun(evidence)
        or statement(evidence)
        or errand(evidence)
        or continued(evidence)
    )
    if doubt:
        return Verdict(UNCLEAR, f"the name says {verb}, but {doubt}", _UNLESS_DOUBTED.get(doubt, FINAL))
    if not prose.verbs and "acts_abroad" in prose.statements:
        return Verdict(UNCLEAR, f"the name says {verb}, and the description tells a deed in another language")
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
    if evidence.kind == "noun" and evidence.name.place == "last" and claims_reading(evidence):
        return Verdict(LOOKS, "it says that it only reads")
    if evidence.kind == "noun" and prose.late and prose.kind not in _GRAVE and _tells(evidence):
        return Verdict(LOOKS, f"no verb in the name; it is about {evidence.name.words[-1]}")
    loads = prose.verbs == ("load",) and not evidence.inputs.names
    if loads and not traced(evidence):
        return Verdict(LOOKS, "what is loaded is said, and nothing is given")
    if "http" in evidence.inputs.flags and _RECORDED.isdisjoint(evidence.name.words[-1:]):
        return Verdict(ACTS, "it sends any method")
    if prose.verbs[:1] == ("simulate",) and prose.object & OTHERWISE["simulate"][1]:
        return Verdict(ACTS, "the description says simulate, of what is done to a device")
    if "operates" in evidence.outset:
        return Verdict(ACTS, "the description lists operations that act")
    if prose.verbs[:1] in {("create",), ("make",)} and _gives_back(evidence):
        return Verdict(LOOKS, f"{prose.verbs[0]}, and the result is returned and nothing kept")
    if prose.kinds & ACTING or prose.kind in {"manage", "session"}:
        return Verdict(ACTS, f"the description says {prose.verbs[0]}", _unless_told(evidence, WEAK))
    if prose.kind == "make":
        return judge_product(evidence)
    if prose.kind == "run" and _only_selects(evidence):
        return Verdict(LOOKS, f"the description says {prose.verbs[0]}, and that it only reads")
    if prose.kind == "run":
        looking = prose.object & NOUNS["report"] and not prose.object & NOUNS["written"] and not saved(evidence)
        looking = looking and prose.verbs[0] not in {"operate", "orchestrate"}
        return Verdict(
            LOOKS if looking else ACTS, f"the description says {prose.verbs[0]}", _unless_told(evidence, WEAK)
        )
    doubt = program(evidence) or saved(evidence) or errand(evidence) or mended(evidence) or traced(evidence)
    doubt = doubt or consulted(evidence) or dispatched(evidence) or continued(evidence) or let_in(evidence)
    if doubt:
        return Verdict(UNCLEAR, doubt)
    returned = prose.late and prose.verbs[:1] == ("return",) and bool(evidence.inputs.names)
    if prose.kind in READING and returned and evidence.kind != "noun":
        return Verdict(UNCLEAR, "what is returned is said, but not what is done", WEAK)
    if prose.verbs[:1] == ("track",) and VERBS.get(evidence.name.verb or "") in ACTING:
        return Verdict(UNCLEAR, f"{evidence.name.verb} that is tracked may be written down")
    if prose.kind in READING:
        return Verdict(LOOKS, f"no verb in the name; the description says {prose.verbs[0]}")
    return _titled(evidence)


def _only_selects(evidence: Evidence) -> bool:
    """`Run a read-only SELECT`: what is run is said to read only, and nothing else is."""
    free = evidence.inputs.flags & {"code", "command"} or not _ALTERING.isdisjoint(evidence.headline.split())
    return _SELECTED.search(evidence.headline) is not None and not free and claims_reading(evidence)


def _gives_back(evidence: Evidence) -> bool:
    """Whether the text says that what is made is returned, and that nothing is written anywhere."""
    said = evidence.prose.statements
    plain = len(evidence.prose.verbs) == 1 and " source" in evidence.text
    return plain and "returns" in said and "unwritten" in said and not saved(evidence)


def _tells(evidence: Evidence) -> bool:
    """`harbour_status`, to which nothing is given that could be kept."""
    given = evidence.inputs.flags & (_GIVING | PROGRAM | {"mend"}) or evidence.inputs.names & _CHOOSING
    return evidence.name.words[-1] in NOUNS["told"] and not given and not saved(evidence) and not traced(evidence)


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
    abroad = "looks_abroad" in prose.statements and "acts_abroad" not in prose.statements
    abroad = abroad and _JOINED_ABROAD.match(evidence.text.lower()) is None
    if abroad and not prose.unknown and not chosen and not evidence.inputs.flags & (_GIVING | PROGRAM):
        return Verdict(LOOKS, "the description begins with a look, in another language")
    ends = evidence.words & _UNDOING
    return Verdict(UNCLEAR, "neither name nor description says what it does", FINAL if ends else WEAK)


def _is_deed(word: str) -> bool:
    """Whether a word can be nothing but something that is done: `prunes`."""
    verb = find_verb(word)
    return verb is not None and verb not in NOUN_TOO and VERBS[verb] in ACTING


def _run(evidence: Evidence) -> Verdict:
    verb, prose, flags = evidence.name.verb, evidence.prose, evidence.inputs.flags
    if "mend" in flags:
        return Verdict(ACTS, f"{verb}, and what it finds can be put right or kept")
    if prose.unknown:
        return Verdict(ACTS, f"the name says {verb}, the description {prose.unknown}, which is not known")
    if not flags & {"code", "command"} and claims_reading(evidence):
        return Verdict(LOOKS, f"{verb}, but says that it only reads")
    program = evidence.words & NOUNS["program"] or (prose.kind == "run" and prose.object & NOUNS["dialect"])
    if flags & (PROGRAM | {"http", "task"}) or program:
        return Verdict(ACTS, f"{verb} with a program, request or task of the caller's")
    if (evidence.words | prose.object) & NOUNS["asked"] and not flags & {"code", "command"}:
        return Verdict(LOOKS, f"{verb} of a query in a language that only reads")
    queried = evidence.name.words[-1] in {"query", "queries"}
    if queried and ("query" in flags or (evidence.words | prose.opening) & NOUNS["store"]):
        return Verdict(UNCLEAR, f"{verb} of whatever query is written")
    trace = traced(evidence)
    if trace:
        return Verdict(ACTS, f"{verb}, and {trace}")
    if "starts_job" in prose.statements:
        return Verdict(ACTS, f"{verb}, and a job goes on")
    if queried and any(name.endswith(_WRITTEN) for name in evidence.inputs.names):
        return Verdict(UNCLEAR, f"{verb} of whatever is written")
    if prose.verbs[:1] in {("start",), ("trigger",)}:
        return Verdict(ACTS, f"{verb}, and the description says {prose.verbs[0]}")
    silent = not evidence.inputs.names and prose.kind == "run" and "returns" not in prose.statements
    kept = silent and evidence.name.words[-1] in _NOTED
    if evidence.name.words[-1] in NOUNS["report"] and not kept and not prose.kinds & ACTING:
        return Verdict(LOOKS, f"{verb} of a {evidence.name.words[-1]}")
    if prose.object & {"queries", "query"} and len(evidence.inputs.names & NOUNS["question_part"]) > 1:
        return Verdict(LOOKS, f"{verb} of a query that is put together from its parts")
    scored = verb == "eval" and prose.verbs[:1] == ("evaluate",) and evidence.inputs.names.isdisjoint(_EXPRESSIONS)
    if scored:
        return Verdict(LOOKS, f"{verb} of what is given")
    if prose.kind == "read" and not prose.kinds & ACTING:
        return Verdict(LOOKS, f"{verb}, but the description says {prose.verbs[0]}")
    asked = (evidence.words | prose.object) & {"query", "queries", "question"} and not evidence.words & {
        "pipeline",
        "workflow",
    }
    if asked and "returns" in prose.statements:
        return Verdict(LOOKS, f"{verb} of a stored query that returns its result")
    return Verdict(ACTS, f"the name's verb is {verb}", _unless_named(evidence))


BY_KIND: Final[Mapping[str, Callable[[Evidence], Verdict]]] = {
    "read": _read,
    "look": _look,
    "noun": _thing,
    "none": _thing,
    "thing": _thing,
    "make": judge_product,
    "run": _run,
}
