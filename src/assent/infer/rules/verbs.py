"""What does a verb of this class mean, with these words and parameters around it?"""

from collections.abc import Callable, Mapping
from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import (
    ACTING,
    DEEDS,
    NOUN_TOO,
    NOUNS,
    READING,
    VERBS,
)
from assent.infer.rules.output import judge_product
from assent.infer.rules.programs import PROGRAM, only_asks, program
from assent.infer.rules.side_effects import (
    begun,
    consulted,
    continued,
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
from assent.infer.rules.verbless_names import judge_nameless
from assent.infer.verdict import (
    ACTS,
    FAIR,
    FINAL,
    GRAVE,
    LOOKS,
    READS,
    STRONG,
    SURE,
    UNCLEAR,
    WEAK,
    ReadOnlyVerdict,
    claims_reading,
    unless_told,
)

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
# Verbs that no words overrule: what they do matters to others, or stays.
_GIVEN_OUT: Final = GRAVE | {"add", "share"}
# Of these it is noted somewhere that they were made, where nothing is given and nothing comes back.
_NOTED: Final = frozenset({"audit", "check", "checks", "validation", "verification"})
_ALIVE: Final = frozenset({"alive", "connectivity", "health", "pong"})
_PONG: Final = (("respond",), ("reply",), ("answer",))


def judge_act(evidence: ToolFeatures) -> ReadOnlyVerdict:
    prose = evidence.prose
    looks = bool(prose.kinds) and prose.kinds <= READING and not evidence.confirmed and evidence.kind not in GRAVE
    if looks and "read-only" in evidence.text.lower() and not prose.late and not saved(evidence):
        return ReadOnlyVerdict(LOOKS, f"{evidence.name.verb}, but the description looks and says that it only reads")
    return ReadOnlyVerdict(ACTS, f"the name's verb is {evidence.name.verb}", _unless_named(evidence))


def _unless_named(evidence: ToolFeatures) -> float:
    """What it takes to overrule the name's verb: nothing does where it is grave or the description confirms it."""
    return FINAL if evidence.confirmed or evidence.kind in _GIVEN_OUT else SURE


def _read(evidence: ToolFeatures) -> ReadOnlyVerdict:
    verb, prose = evidence.name.verb, evidence.prose
    if prose.unknown and not _describes(evidence):
        return ReadOnlyVerdict(
            UNCLEAR, f"the name says {verb}, the description {prose.unknown}, which is not known", STRONG
        )
    doubt = program(evidence)
    if doubt and "code" not in evidence.inputs.flags and claims_reading(evidence):
        return ReadOnlyVerdict(LOOKS, f"the name says {verb}, and it says that it only reads")
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
        return ReadOnlyVerdict(UNCLEAR, f"the name says {verb}, but {doubt}", _UNLESS_DOUBTED.get(doubt, FINAL))
    if evidence.name.words == ("ping",) and prose.verbs in _PONG and prose.opening & _ALIVE:
        return ReadOnlyVerdict(READS, "ping, and it is answered")
    grave = prose.kind in GRAVE or (prose.kind in ACTING and verb in NOUN_TOO)
    if grave and not _describes(evidence):
        return ReadOnlyVerdict(
            ACTS, f"the name says {verb}, the description {prose.verbs[0]}", unless_told(evidence, SURE)
        )
    if prose.kind in {"change", "session"} and claims_reading(evidence):
        return ReadOnlyVerdict(LOOKS, f"the name says {verb}, and it says that it only reads")
    acts = prose.kind in ACTING or (prose.kind == "session" and prose.verbs[0] != "authenticate")
    if acts and not _describes(evidence):
        return ReadOnlyVerdict(
            UNCLEAR, f"the name says {verb}, the description {prose.verbs[0]}", unless_told(evidence, FAIR)
        )
    if VERBS.get(verb or "") in ACTING:
        return ReadOnlyVerdict(READS, f"the name has {verb}, but the description only looks: {prose.verbs[0]}")
    return ReadOnlyVerdict(READS, f"the name's verb is {verb}", WEAK)


def _may_begin(evidence: ToolFeatures) -> bool:
    """`research_start`, but not `get_launch`."""
    return evidence.name.words[-1] in DEEDS["opening"] and evidence.name.verb not in DEEDS["fetching"]


def _describes(evidence: ToolFeatures) -> bool:
    """Whether the text begins with what is got, and what sounds like a deed comes later."""
    name, prose = evidence.name, evidence.prose
    first = prose.verbs[0] if prose.verbs else ""
    if first == "new" and prose.late:
        return True
    if name.verb not in DEEDS["fetching"] or name.place not in {"first", "last", "only"}:
        return False
    thing = prose.kind in {"send", "spend"} and first in NOUN_TOO
    return first in _LOADING or (prose.late and (thing or prose.kind not in GRAVE | {"share"}))


def _look(evidence: ToolFeatures) -> ReadOnlyVerdict:
    verb, prose = evidence.name.verb, evidence.prose
    if prose.unknown:
        return ReadOnlyVerdict(
            UNCLEAR, f"the name says {verb}, the description {prose.unknown}, which is not known", STRONG
        )
    if prose.kinds & ACTING:
        return ReadOnlyVerdict(
            ACTS, f"the name says {verb}, the description {prose.verbs[0]}", unless_told(evidence, SURE)
        )
    if prose.kind == "run" and prose.object & _ERRAND:
        return ReadOnlyVerdict(ACTS, f"the name says {verb}, the description {prose.verbs[0]} of a task")
    if prose.kind == "make" and verb in prose.object and verb == evidence.name.words[-1]:
        return ReadOnlyVerdict(LOOKS, f"{prose.verbs[0]} of {verb}")
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
        return ReadOnlyVerdict(UNCLEAR, f"the name says {verb}, but {doubt}", _UNLESS_DOUBTED.get(doubt, FINAL))
    if not prose.verbs and "acts_abroad" in prose.statements:
        return ReadOnlyVerdict(UNCLEAR, f"the name says {verb}, and the description tells a deed in another language")
    if prose.kind == "session" and prose.verbs[0] != "authenticate":
        return ReadOnlyVerdict(UNCLEAR, f"the name says {verb}, the description {prose.verbs[0]}")
    told = prose.kind == "look" and ("returns" in prose.statements or verb != prose.verbs[0])
    if prose.kind == "read" or told:
        return ReadOnlyVerdict(READS, f"name and description look: {verb}, {prose.verbs[0]}", WEAK if told else FINAL)
    return ReadOnlyVerdict(LOOKS, f"the name's verb is {verb}", WEAK)


def _run(evidence: ToolFeatures) -> ReadOnlyVerdict:
    verb, prose, flags = evidence.name.verb, evidence.prose, evidence.inputs.flags
    if "mend" in flags:
        return ReadOnlyVerdict(ACTS, f"{verb}, and what it finds can be put right or kept")
    if prose.unknown:
        return ReadOnlyVerdict(ACTS, f"the name says {verb}, the description {prose.unknown}, which is not known")
    if not flags & {"code", "command"} and claims_reading(evidence):
        return ReadOnlyVerdict(LOOKS, f"{verb}, but says that it only reads")
    program = evidence.words & NOUNS["program"] or (prose.kind == "run" and prose.object & NOUNS["dialect"])
    if flags & (PROGRAM | {"http", "task"}) or program:
        return ReadOnlyVerdict(ACTS, f"{verb} with a program, request or task of the caller's")
    if only_asks(evidence) and not flags & {"code", "command"}:
        return ReadOnlyVerdict(LOOKS, f"{verb} of a query in a language that only reads")
    queried = evidence.name.words[-1] in {"query", "queries"}
    if queried and ("query" in flags or (evidence.words | prose.opening) & NOUNS["store"]):
        return ReadOnlyVerdict(UNCLEAR, f"{verb} of whatever query is written")
    trace = traced(evidence)
    if trace:
        return ReadOnlyVerdict(ACTS, f"{verb}, and {trace}")
    if "starts_job" in prose.statements:
        return ReadOnlyVerdict(ACTS, f"{verb}, and a job goes on")
    if queried and any(name.endswith(_WRITTEN) for name in evidence.inputs.names):
        return ReadOnlyVerdict(UNCLEAR, f"{verb} of whatever is written")
    if prose.verbs[:1] in {("start",), ("trigger",)}:
        return ReadOnlyVerdict(ACTS, f"{verb}, and the description says {prose.verbs[0]}")
    silent = not evidence.inputs.names and prose.kind == "run" and "returns" not in prose.statements
    kept = silent and evidence.name.words[-1] in _NOTED
    if evidence.name.words[-1] in NOUNS["report"] and not kept and not prose.kinds & ACTING:
        return ReadOnlyVerdict(LOOKS, f"{verb} of a {evidence.name.words[-1]}")
    if prose.object & {"queries", "query"} and len(evidence.inputs.names & NOUNS["question_part"]) > 1:
        return ReadOnlyVerdict(LOOKS, f"{verb} of a query that is put together from its parts")
    scored = verb == "eval" and prose.verbs[:1] == ("evaluate",) and evidence.inputs.names.isdisjoint(_EXPRESSIONS)
    if scored:
        return ReadOnlyVerdict(LOOKS, f"{verb} of what is given")
    if prose.kind == "read" and not prose.kinds & ACTING:
        return ReadOnlyVerdict(LOOKS, f"{verb}, but the description says {prose.verbs[0]}")
    asked = (evidence.words | prose.object) & {"query", "queries", "question"} and not evidence.words & {
        "pipeline",
        "workflow",
    }
    if asked and "returns" in prose.statements:
        return ReadOnlyVerdict(LOOKS, f"{verb} of a stored query that returns its result")
    return ReadOnlyVerdict(ACTS, f"the name's verb is {verb}", _unless_named(evidence))


BY_KIND: Final[Mapping[str, Callable[[ToolFeatures], ReadOnlyVerdict]]] = {
    "read": _read,
    "look": _look,
    "noun": judge_nameless,
    "none": judge_nameless,
    "thing": judge_nameless,
    "make": judge_product,
    "run": _run,
}
