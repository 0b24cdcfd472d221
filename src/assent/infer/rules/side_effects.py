"""Which circumstances make one doubt that a tool only looks?"""

from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import ACTING, DEEDS, NOUN_FIRST, NOUNS, READING, VERBS
from assent.infer.rules.programs import EXTRAS, only_reads

_VALIDATING: Final = frozenset({"check", "lint", "validate", "verify"})
# At the end of a name they are the deed, whatever the description looks at.
_LAST_WORDS: Final = (DEEDS["strong"] | {"remove"}) - {"drop", "empty", "kill", "trash"}
_CARRYING_OUT: Final = frozenset({"aggregate", "evaluate", "explain"})
_CONFIRMING: Final = ("apply", "confirm", "execute", "force")
_PLAIN: Final = frozenset({"describe", "fetch", "get", "list", "read", "retrieve", "search"})
_OPENED: Final = frozenset({"dialog", "editor", "panel", "viewer", "window"})
# They ask how a job is doing.
_FOLLOWING: Final = DEEDS["fetching"] | {"check", "describe", "poll", "query", "read", "view", "wait"}
_OUT: Final = frozenset({"out", "out_file", "outfile"})
_SIFTING: Final = frozenset({"count", "describe", "find", "list", "search", "validate", "verify"})
_SENT: Final = frozenset({"body", "data", "json", "payload"})
_AGENTS: Final = frozenset({"agent", "agents", "assistant", "bot"})


def requested(evidence: ToolFeatures) -> str | None:
    """`fetch_api` with any method, a path and something to send; one that lists or tests requests sends none."""
    names = evidence.inputs.names
    if "http" not in evidence.inputs.flags or evidence.name.verb in _SIFTING:
        return None
    sends = "url" in evidence.inputs.flags or bool(names & _SENT and names & NOUNS["target"])
    return "it sends any method" if sends else None


def saved(evidence: ToolFeatures) -> str | None:
    named = evidence.name.words[-2:] == ("to", "file")
    said = evidence.prose.statements
    stays = named or _is_filed(evidence) or ("saves" in said and "writes_no_file" not in said)
    return "the result may be saved" if stays else None


def kept(evidence: ToolFeatures) -> str | None:
    """What is read may be put into a file: a parameter says where, or the first lines say so."""
    filed = _is_filed(evidence) or {"file_name", "overwrite"} <= evidence.inputs.names
    return "the result may be saved" if filed or "files" in evidence.outset else None


def _is_filed(evidence: ToolFeatures) -> bool:
    """Whether a parameter names a file for the result; any path does for a screenshot, and none for a command."""
    if evidence.prose.kind == "make" and "command" in evidence.prose.object:
        return False
    pictured = evidence.words & {"screenshot", "screenshots"} and evidence.inputs.names & NOUNS["path_input"]
    names = evidence.inputs.names
    drawn = evidence.kind == "make" and bool(names & _OUT)
    rendered = evidence.prose.verbs[:1] == ("render",) and evidence.name.verb not in DEEDS["fetching"]
    drawn = drawn or (rendered and "path" in names)
    return bool(pictured or drawn) or "file" in evidence.inputs.flags


def let_in(evidence: ToolFeatures) -> str | None:
    """`get_upload_url` gives a way in that was not there before."""
    if evidence.name.verb == "list":
        return None
    lets_in = bool(evidence.words & NOUNS["ticket"] and evidence.words & NOUNS["ticketed"])
    lets_in = lets_in or ({"presigned", "url"} <= evidence.prose.opening and evidence.name.words[-1:] == ("upload",))
    return "what it gives lets its holder in" if lets_in else None


def traced(evidence: ToolFeatures) -> str | None:
    """A read that marks, takes or makes what it reads."""
    if evidence.inputs.flags & {"traced", "emptying", "felling"}:
        return "a switch marks or takes what is read"
    opening = evidence.outset
    if "supplants" in opening or "loses" in opening:
        return "the description says that something is lost on the way"
    if "enacts" in opening or (evidence.name.verb == "explain" and "enacts" in evidence.prose.statements):
        return "it is looked at by being done"
    return "the description says that reading leaves a trace" if "traces" in evidence.prose.statements else None


def continued(evidence: ToolFeatures) -> str | None:
    """What is looked for is found by a job that goes on after the answer."""
    said = evidence.prose.statements
    going = "queues" in said or ("starts_job" in said and evidence.name.verb not in _FOLLOWING)
    return "a job goes on" if going and "status" not in evidence.words else None


def evaluated(evidence: ToolFeatures) -> str | None:
    """What is evaluated may be a call, what is explained with `analyze` is carried out, and a stage may write."""
    verb, names = evidence.name.verb, evidence.inputs.names
    if verb not in _CARRYING_OUT:
        return None
    around = evidence.words | evidence.prose.opening
    written = verb == "evaluate" and names & {"expr", "expression", "expressions"} and not around & NOUNS["arithmetic"]
    staged = verb == "aggregate" and "pipeline" in names and bool(around & {"collection", "database", "mongodb"})
    staged = staged and "reads_only" not in evidence.prose.statements
    carried = written or staged or (verb == "explain" and "analyze" in names)
    return "what is given is carried out" if carried else None


def ended(evidence: ToolFeatures) -> str | None:
    """`view_delete`, `list_delete`: what sounds like a look is the thing."""
    last = evidence.name.words[-1]
    return f"its name ends with {last}" if last in _LAST_WORDS and not is_planned(evidence) else None


def is_planned(evidence: ToolFeatures) -> bool:
    """`plan_delete`, where the text previews what would be done, says that it only reads, and nothing confirms it."""
    prose, names = evidence.prose, evidence.inputs.names
    planned = evidence.name.words[:1] in {("plan",), ("preview",)} and prose.verbs in {("preview",), ("show",)}
    told = planned and " would " in evidence.text.partition(".")[0] and only_reads(evidence)
    return told and "in_passing" not in prose.statements and not any(name.startswith(_CONFIRMING) for name in names)


def begun(evidence: ToolFeatures) -> str | None:
    """`monitor_voyage_start`, `audit_fix`: what stands last may be the deed, unless the description only looks."""
    last, said = evidence.name.words[-1], evidence.prose.kinds
    told = last not in DEEDS["opening"] and said and said <= READING
    deed = last != evidence.name.verb and VERBS.get(last) in ACTING and last not in NOUN_FIRST and not told
    return f"its name ends with {last}" if deed else None


def errand(evidence: ToolFeatures) -> str | None:
    """A page is read by pressing something on it, or after steps of the caller's."""
    prose = evidence.prose
    steps = "url" in evidence.inputs.flags and evidence.inputs.names & {"actions", "steps"}
    free = steps and not evidence.inputs.only_reads
    told = prose.kind == "run" and prose.verbs[0] == "perform" and prose.object & {"action", "actions"}
    alone = evidence.inputs.flags & {"task", "message"} and "autonomous" in evidence.outset
    pressed = "presses" in (evidence.prose.statements if evidence.name.verb == "answer" else evidence.outset)
    chosen = evidence.kind in {"none", "noun"} and "click" in evidence.inputs.names and "press" in evidence.text.lower()
    if free or told or alone or pressed or chosen:
        return "something is done before anything is read"
    return None


def renewed(evidence: ToolFeatures) -> str | None:
    """`get_new_key` makes one."""
    around = evidence.words | evidence.prose.object
    if evidence.name.verb == "list":
        return None
    return "what is got is new" if "new" in around and around & NOUNS["issued"] else None


def mended(evidence: ToolFeatures) -> str | None:
    plain = evidence.name.verb in _PLAIN and evidence.prose.kind == "read"
    sets = evidence.kind in {"none", "noun"} and " or set " in evidence.text[:200].lower()
    if sets and any(name.startswith("set_") for name in evidence.inputs.names):
        return "a parameter sets something"
    if "rehearse" in evidence.inputs.flags and not plain:
        return "it can be rehearsed"
    mends = "mend" in evidence.inputs.flags or does(evidence)
    return "it can put right or keep what it finds" if mends else None


def does(evidence: ToolFeatures) -> bool:
    """Whether a switch does something beside the look; of a list it chooses what is listed."""
    return "doing" in evidence.inputs.flags and evidence.name.verb not in DEEDS["fetching"] | {"extract", "parse"}


def statement(evidence: ToolFeatures) -> str | None:
    """`Run ANALYZE on a table`: the word is a statement that a store is given."""
    prose = evidence.prose
    if prose.kind == "run" and evidence.name.verb in DEEDS["trying"] and "returns" not in prose.statements:
        return "it is started, and what it gives is not said"
    if prose.kind == "run" and evidence.inputs.names & EXTRAS:
        return "it takes arguments of a command"
    if evidence.name.verb == "benchmark" and (evidence.words | prose.object) & NOUNS["script_file"]:
        return "what is measured is run"
    given = prose.kind == "run" and evidence.name.verb == "analyze" and prose.object >= {"analyze"}
    return "it is a statement that is run" if given else None


def shown_elsewhere(evidence: ToolFeatures) -> str | None:
    """`view_in_browser` opens something on somebody's screen."""
    words = evidence.name.words
    opened = len(words) > 2 and words[-2] == "in" and words[-1] in NOUNS["program_window"]
    if opened:
        return f"something is opened in the {words[-1]}"
    if evidence.prose.verbs[:1] == ("open",) and evidence.prose.object & _OPENED:
        return "a window is opened"
    return exhibited(evidence) or signalled(evidence)


def exhibited(evidence: ToolFeatures) -> str | None:
    """`display_text` shows somebody what its caller gives it."""
    verb, names = evidence.name.verb, evidence.inputs.names
    given = verb in {"display", "show", "tell"} and names & NOUNS["exhibit_input"]
    put = verb == "show" and evidence.words & NOUNS["exhibited"] and evidence.prose.kinds <= {"read", "change", "look"}
    put = put or (verb == "show" and names >= {"representation", "selection"})
    told = evidence.prose.verbs[:1] in {(), ("show",), ("hide",)} or "display" in evidence.prose.verbs
    put = (
        put
        and told
        and not evidence.prose.object & {"details", "info", "information"}
        and "returns" not in evidence.prose.statements
    )
    return "it puts something before somebody" if given or put else None


def signalled(evidence: ToolFeatures) -> str | None:
    """`look_at` a point turns a head, `locate_device` for a minute makes it blink."""
    verb, names = evidence.name.verb, evidence.inputs.names
    turned = verb == "look" and "at" in evidence.words and names & NOUNS["aim_input"]
    lit = verb in {"identify", "locate", "ping"} and names & {"duration", "seconds"} and not names & {"host", "url"}
    taught = verb == "learn" and names & NOUNS["content_input"]
    noted = evidence.prose.verbs[:1] == ("record",) and verb not in DEEDS["fetching"]
    return "something is moved, lit or kept" if turned or lit or taught or noted else None


def dispatched(evidence: ToolFeatures) -> str | None:
    """One tool for whichever operation is named, with whatever that one takes."""
    names = evidence.inputs.names
    free = names & {"action", "command", "operation"} and not evidence.inputs.choices and names & NOUNS["parcel"]
    return "it does whichever operation is named" if free else None


def consulted(evidence: ToolFeatures) -> str | None:
    """An agent that is asked may do something about it."""
    asked = evidence.name.verb in DEEDS["consulting"] and evidence.words & _AGENTS
    told = bool(evidence.prose.verbs) and evidence.prose.verbs[0] in DEEDS["consulting"]
    given = told and evidence.inputs.flags & {"task", "message"} and evidence.prose.object & _AGENTS
    able = told and "may_act" in evidence.outset
    leashes = evidence.inputs.names & NOUNS["leash"]
    unleashed = leashes and (evidence.inputs.flags & {"task", "message"} or leashes != {"permission_mode"})
    return "an agent is asked" if asked or given or able or unleashed else None


def made(evidence: ToolFeatures) -> str | None:
    """`infer` that generates an image keeps it somewhere, unless it says that it gives it back."""
    prose = evidence.prose
    makes = prose.kind == "make" and prose.verbs[0] in {"generate", "produce"} and "returns" not in prose.statements
    pictured = makes and prose.object & {"image", "images", "video", "videos", "audio", "music", "speech"}
    return f"the description says {prose.verbs[0]}" if pictured else None


def rehearsed(evidence: ToolFeatures) -> str | None:
    verb, prose = evidence.name.verb, evidence.prose
    if evidence.inputs.flags & {"rehearse", "force"} and verb not in _VALIDATING:
        return "it can be rehearsed or forced"
    if "mend" in evidence.inputs.flags or does(evidence):
        return "it can put right or keep what it finds"
    if prose.kind == "read" or "reads_only" in prose.statements:
        return None
    if verb == "test" and not evidence.words & NOUNS["tested"]:
        return "a test may do anything"
    marks = verb == "verify" and evidence.words & NOUNS["verified"] and "returns" not in prose.statements
    return "it may be marked as verified" if marks else None
