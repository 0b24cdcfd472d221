"""Rules per verb class, with the words and parameters around the verb."""

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
from assent.infer.rules.output import judge_output
from assent.infer.rules.programs import PROGRAM, find_program, only_asks
from assent.infer.rules.side_effects import (
    acts_before_reading,
    asks_agent,
    can_fix,
    evaluates_input,
    generates_media,
    grants_access,
    issues_new_secret,
    leaves_trace,
    name_ends_with_action,
    name_ends_with_destruction,
    opens_on_screen,
    runs_statement,
    saves_result,
    sends_any_request,
    starts_background_job,
    tests_or_marks,
    writes_result_to_file,
)
from assent.infer.rules.verbless_names import judge_verbless
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

_PROGRAM_SUFFIXES: Final = ("body", "expression", "request", "script", "sql", "statement", "text", "xml")
# These may only prepare what is read.
_LOADING: Final = frozenset({"load", "select"})
_EXPRESSIONS: Final = frozenset({"code", "expr", "expression", "expressions", "script"})
_TASKS: Final = frozenset({"agent", "errand", "instruction", "instructions", "prompt", "task"})
# Doubts that rest on the meaning of one word.
_DOUBT_STRENGTH: Final = {
    "a test may do anything": FAIR,
    "it is started, and what it gives is not said": FAIR,
    "it may be marked as verified": FAIR,
}
# Verb classes that the model cannot overrule: their effect reaches others or stays.
_NEVER_OVERRULED: Final = GRAVE | {"add", "share"}
# Checks without input and without a returned result are recorded somewhere.
_RECORDED_CHECKS: Final = frozenset({"audit", "check", "checks", "validation", "verification"})
_ALIVE: Final = frozenset({"alive", "connectivity", "health", "pong"})
_PONG: Final = (("respond",), ("reply",), ("answer",))


def judge_act(tool: ToolFeatures) -> ReadOnlyVerdict:
    prose = tool.prose
    looks = bool(prose.kinds) and prose.kinds <= READING and not tool.confirmed and tool.kind not in GRAVE
    if looks and "read-only" in tool.text.lower() and not prose.late and not saves_result(tool):
        return ReadOnlyVerdict(LOOKS, f"{tool.name.verb}, but the description looks and says that it only reads")
    return ReadOnlyVerdict(ACTS, f"the name's verb is {tool.name.verb}", _overrule_threshold(tool))


def _overrule_threshold(tool: ToolFeatures) -> float:
    """Return the probability that overrules the name's verb; a grave or confirmed verb is final."""
    return FINAL if tool.confirmed or tool.kind in _NEVER_OVERRULED else SURE


def _read(tool: ToolFeatures) -> ReadOnlyVerdict:
    verb, prose = tool.name.verb, tool.prose
    if prose.unknown and not _text_names_object(tool):
        return ReadOnlyVerdict(
            UNCLEAR, f"the name says {verb}, the description {prose.unknown}, which is not known", STRONG
        )
    doubt = find_program(tool)
    if doubt and "code" not in tool.inputs.flags and claims_reading(tool):
        return ReadOnlyVerdict(LOOKS, f"the name says {verb}, and it says that it only reads")
    doubt = (
        sends_any_request(tool)
        or doubt
        or evaluates_input(tool)
        or name_ends_with_destruction(tool)
        or writes_result_to_file(tool)
        or asks_agent(tool)
        or grants_access(tool)
        or leaves_trace(tool)
    )
    doubt = doubt or opens_on_screen(tool) or acts_before_reading(tool) or issues_new_secret(tool) or can_fix(tool)
    doubt = doubt or starts_background_job(tool) or (name_ends_with_action(tool) if _ends_with_start(tool) else None)
    if doubt:
        return ReadOnlyVerdict(UNCLEAR, f"the name says {verb}, but {doubt}", _DOUBT_STRENGTH.get(doubt, FINAL))
    if tool.name.words == ("ping",) and prose.verbs in _PONG and prose.opening & _ALIVE:
        return ReadOnlyVerdict(READS, "ping, and it is answered")
    grave = prose.kind in GRAVE or (prose.kind in ACTING and verb in NOUN_TOO)
    if grave and not _text_names_object(tool):
        return ReadOnlyVerdict(ACTS, f"the name says {verb}, the description {prose.verbs[0]}", unless_told(tool, SURE))
    if prose.kind in {"change", "session"} and claims_reading(tool):
        return ReadOnlyVerdict(LOOKS, f"the name says {verb}, and it says that it only reads")
    acts = prose.kind in ACTING or (prose.kind == "session" and prose.verbs[0] != "authenticate")
    if acts and not _text_names_object(tool):
        return ReadOnlyVerdict(
            UNCLEAR, f"the name says {verb}, the description {prose.verbs[0]}", unless_told(tool, FAIR)
        )
    if VERBS.get(verb or "") in ACTING:
        return ReadOnlyVerdict(READS, f"the name has {verb}, but the description only looks: {prose.verbs[0]}")
    return ReadOnlyVerdict(READS, f"the name's verb is {verb}", WEAK)


def _ends_with_start(tool: ToolFeatures) -> bool:
    """Whether the name ends with a start: `research_start`, but not `get_launch`."""
    return tool.name.words[-1] in DEEDS["opening"] and tool.name.verb not in DEEDS["fetching"]


def _text_names_object(tool: ToolFeatures) -> bool:
    """Whether the text starts with the object, so that a later verb is not the action."""
    name, prose = tool.name, tool.prose
    first = prose.verbs[0] if prose.verbs else ""
    if first == "new" and prose.late:
        return True
    if name.verb not in DEEDS["fetching"] or name.place not in {"first", "last", "only"}:
        return False
    thing = prose.kind in {"send", "spend"} and first in NOUN_TOO
    return first in _LOADING or (prose.late and (thing or prose.kind not in GRAVE | {"share"}))


def _look(tool: ToolFeatures) -> ReadOnlyVerdict:
    verb, prose = tool.name.verb, tool.prose
    if prose.unknown:
        return ReadOnlyVerdict(
            UNCLEAR, f"the name says {verb}, the description {prose.unknown}, which is not known", STRONG
        )
    if prose.kinds & ACTING:
        return ReadOnlyVerdict(ACTS, f"the name says {verb}, the description {prose.verbs[0]}", unless_told(tool, SURE))
    if prose.kind == "run" and prose.object & _TASKS:
        return ReadOnlyVerdict(ACTS, f"the name says {verb}, the description {prose.verbs[0]} of a task")
    if prose.kind == "make" and verb in prose.object and verb == tool.name.words[-1]:
        return ReadOnlyVerdict(LOOKS, f"{prose.verbs[0]} of {verb}")
    if prose.kind == "make" and verb in NOUN_TOO and not tool.confirmed and not prose.late:
        return judge_output(tool)
    doubt = (
        find_program(tool) or saves_result(tool) or tests_or_marks(tool) or asks_agent(tool) or generates_media(tool)
    )
    doubt = (
        doubt
        or sends_any_request(tool)
        or evaluates_input(tool)
        or name_ends_with_destruction(tool)
        or leaves_trace(tool)
        or name_ends_with_action(tool)
        or runs_statement(tool)
        or acts_before_reading(tool)
        or starts_background_job(tool)
    )
    if doubt:
        return ReadOnlyVerdict(UNCLEAR, f"the name says {verb}, but {doubt}", _DOUBT_STRENGTH.get(doubt, FINAL))
    if not prose.verbs and "acts_abroad" in prose.statements:
        return ReadOnlyVerdict(UNCLEAR, f"the name says {verb}, and the description tells a deed in another language")
    if prose.kind == "session" and prose.verbs[0] != "authenticate":
        return ReadOnlyVerdict(UNCLEAR, f"the name says {verb}, the description {prose.verbs[0]}")
    told = prose.kind == "look" and ("returns" in prose.statements or verb != prose.verbs[0])
    if prose.kind == "read" or told:
        return ReadOnlyVerdict(READS, f"name and description look: {verb}, {prose.verbs[0]}", WEAK if told else FINAL)
    return ReadOnlyVerdict(LOOKS, f"the name's verb is {verb}", WEAK)


def _run(tool: ToolFeatures) -> ReadOnlyVerdict:
    verb, prose, flags = tool.name.verb, tool.prose, tool.inputs.flags
    if "mend" in flags:
        return ReadOnlyVerdict(ACTS, f"{verb}, and what it finds can be put right or kept")
    if prose.unknown:
        return ReadOnlyVerdict(ACTS, f"the name says {verb}, the description {prose.unknown}, which is not known")
    if not flags & {"code", "command"} and claims_reading(tool):
        return ReadOnlyVerdict(LOOKS, f"{verb}, but says that it only reads")
    has_program = tool.words & NOUNS["program"] or (prose.kind == "run" and prose.object & NOUNS["dialect"])
    if flags & (PROGRAM | {"http", "task"}) or has_program:
        return ReadOnlyVerdict(ACTS, f"{verb} with a program, request or task of the caller's")
    if only_asks(tool) and not flags & {"code", "command"}:
        return ReadOnlyVerdict(LOOKS, f"{verb} of a query in a language that only reads")
    queried = tool.name.words[-1] in {"query", "queries"}
    if queried and ("query" in flags or (tool.words | prose.opening) & NOUNS["store"]):
        return ReadOnlyVerdict(UNCLEAR, f"{verb} of whatever query is written")
    trace = leaves_trace(tool)
    if trace:
        return ReadOnlyVerdict(ACTS, f"{verb}, and {trace}")
    if "starts_job" in prose.statements:
        return ReadOnlyVerdict(ACTS, f"{verb}, and a job goes on")
    if queried and any(name.endswith(_PROGRAM_SUFFIXES) for name in tool.inputs.names):
        return ReadOnlyVerdict(UNCLEAR, f"{verb} of whatever is written")
    if prose.verbs[:1] in {("start",), ("trigger",)}:
        return ReadOnlyVerdict(ACTS, f"{verb}, and the description says {prose.verbs[0]}")
    silent = not tool.inputs.names and prose.kind == "run" and "returns" not in prose.statements
    recorded = silent and tool.name.words[-1] in _RECORDED_CHECKS
    if tool.name.words[-1] in NOUNS["report"] and not recorded and not prose.kinds & ACTING:
        return ReadOnlyVerdict(LOOKS, f"{verb} of a {tool.name.words[-1]}")
    if prose.object & {"queries", "query"} and len(tool.inputs.names & NOUNS["question_part"]) > 1:
        return ReadOnlyVerdict(LOOKS, f"{verb} of a query that is put together from its parts")
    scored = verb == "eval" and prose.verbs[:1] == ("evaluate",) and tool.inputs.names.isdisjoint(_EXPRESSIONS)
    if scored:
        return ReadOnlyVerdict(LOOKS, f"{verb} of what is given")
    if prose.kind == "read" and not prose.kinds & ACTING:
        return ReadOnlyVerdict(LOOKS, f"{verb}, but the description says {prose.verbs[0]}")
    asked = (tool.words | prose.object) & {"query", "queries", "question"} and not tool.words & {
        "pipeline",
        "workflow",
    }
    if asked and "returns" in prose.statements:
        return ReadOnlyVerdict(LOOKS, f"{verb} of a stored query that returns its result")
    return ReadOnlyVerdict(ACTS, f"the name's verb is {verb}", _overrule_threshold(tool))


BY_KIND: Final[Mapping[str, Callable[[ToolFeatures], ReadOnlyVerdict]]] = {
    "read": _read,
    "look": _look,
    "noun": judge_verbless,
    "none": judge_verbless,
    "thing": judge_verbless,
    "make": judge_output,
    "run": _run,
}
