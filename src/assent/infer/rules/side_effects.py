"""Rules that doubt a read-only verdict. Each returns its reason, or None."""

from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import ACTING, DEEDS, NOUN_FIRST, NOUNS, READING, VERBS
from assent.infer.rules.programs import EXTRAS, only_reads

_VALIDATING: Final = frozenset({"check", "lint", "validate", "verify"})
# At the end of a name these are the action, whatever the description says.
_LAST_WORDS: Final = (DEEDS["strong"] | {"remove"}) - {"drop", "empty", "kill", "trash"}
_CARRYING_OUT: Final = frozenset({"aggregate", "evaluate", "explain"})
_CONFIRMING: Final = ("apply", "confirm", "execute", "force")
_PLAIN: Final = frozenset({"describe", "fetch", "get", "list", "read", "retrieve", "search"})
_OPENED: Final = frozenset({"dialog", "editor", "panel", "viewer", "window"})
# Verbs that ask for the state of a job.
_POLLING: Final = DEEDS["fetching"] | {"check", "describe", "poll", "query", "read", "view", "wait"}
_OUT: Final = frozenset({"out", "out_file", "outfile"})
_LISTING: Final = frozenset({"count", "describe", "find", "list", "search", "validate", "verify"})
_SENT: Final = frozenset({"body", "data", "json", "payload"})
_AGENTS: Final = frozenset({"agent", "agents", "assistant", "bot"})


def sends_any_request(tool: ToolFeatures) -> str | None:
    """It sends any HTTP method with a body; tools that list or test requests do not."""
    names = tool.inputs.names
    if "http" not in tool.inputs.flags or tool.name.verb in _LISTING:
        return None
    sends = "url" in tool.inputs.flags or bool(names & _SENT and names & NOUNS["target"])
    return "it sends any method" if sends else None


def saves_result(tool: ToolFeatures) -> str | None:
    """It saves its result, by its name, a parameter or its text."""
    named = tool.name.words[-2:] == ("to", "file")
    said = tool.prose.statements
    stays = named or _takes_output_file(tool) or ("saves" in said and "writes_no_file" not in said)
    return "the result may be saved" if stays else None


def writes_result_to_file(tool: ToolFeatures) -> str | None:
    """A parameter or the first lines say that the result goes to a file."""
    filed = _takes_output_file(tool) or {"file_name", "overwrite"} <= tool.inputs.names
    return "the result may be saved" if filed or "files" in tool.outset else None


def _takes_output_file(tool: ToolFeatures) -> bool:
    """Whether a parameter names a file for the result; for a screenshot any path counts."""
    if tool.prose.kind == "make" and "command" in tool.prose.object:
        return False
    pictured = tool.words & {"screenshot", "screenshots"} and tool.inputs.names & NOUNS["path_input"]
    names = tool.inputs.names
    drawn = tool.kind == "make" and bool(names & _OUT)
    rendered = tool.prose.verbs[:1] == ("render",) and tool.name.verb not in DEEDS["fetching"]
    drawn = drawn or (rendered and "path" in names)
    return bool(pictured or drawn) or "file" in tool.inputs.flags


def grants_access(tool: ToolFeatures) -> str | None:
    """It returns a new way in, such as an upload URL."""
    if tool.name.verb == "list":
        return None
    lets_in = bool(tool.words & NOUNS["ticket"] and tool.words & NOUNS["ticketed"])
    lets_in = lets_in or ({"presigned", "url"} <= tool.prose.opening and tool.name.words[-1:] == ("upload",))
    return "what it gives lets its holder in" if lets_in else None


def leaves_trace(tool: ToolFeatures) -> str | None:
    """Reading marks, removes or creates something."""
    if tool.inputs.flags & {"traced", "emptying", "felling"}:
        return "a switch marks or takes what is read"
    opening = tool.outset
    if "supplants" in opening or "loses" in opening:
        return "the description says that something is lost on the way"
    if "enacts" in opening or (tool.name.verb == "explain" and "enacts" in tool.prose.statements):
        return "it is looked at by being done"
    return "the description says that reading leaves a trace" if "traces" in tool.prose.statements else None


def starts_background_job(tool: ToolFeatures) -> str | None:
    """It starts a job that continues after the answer."""
    said = tool.prose.statements
    going = "queues" in said or ("starts_job" in said and tool.name.verb not in _POLLING)
    return "a job goes on" if going and "status" not in tool.words else None


def evaluates_input(tool: ToolFeatures) -> str | None:
    """It carries out its input: an expression, `explain` with `analyze`, or a pipeline that can write."""
    verb, names = tool.name.verb, tool.inputs.names
    if verb not in _CARRYING_OUT:
        return None
    around = tool.words | tool.prose.opening
    written = verb == "evaluate" and names & {"expr", "expression", "expressions"} and not around & NOUNS["arithmetic"]
    staged = verb == "aggregate" and "pipeline" in names and bool(around & {"collection", "database", "mongodb"})
    staged = staged and "reads_only" not in tool.prose.statements
    carried = written or staged or (verb == "explain" and "analyze" in names)
    return "what is given is carried out" if carried else None


def name_ends_with_destruction(tool: ToolFeatures) -> str | None:
    """The name ends with a destructive verb: `view_delete`, `list_delete`."""
    last = tool.name.words[-1]
    return f"its name ends with {last}" if last in _LAST_WORDS and not is_preview(tool) else None


def is_preview(tool: ToolFeatures) -> bool:
    """Whether it only previews: the text says "would" and read-only, and no parameter confirms."""
    prose, names = tool.prose, tool.inputs.names
    planned = tool.name.words[:1] in {("plan",), ("preview",)} and prose.verbs in {("preview",), ("show",)}
    told = planned and " would " in tool.text.partition(".")[0] and only_reads(tool)
    return told and "in_passing" not in prose.statements and not any(name.startswith(_CONFIRMING) for name in names)


def name_ends_with_action(tool: ToolFeatures) -> str | None:
    """The name ends with an action, such as `monitor_voyage_start`, and the description does more than read."""
    last, said = tool.name.words[-1], tool.prose.kinds
    told = last not in DEEDS["opening"] and said and said <= READING
    deed = last != tool.name.verb and VERBS.get(last) in ACTING and last not in NOUN_FIRST and not told
    return f"its name ends with {last}" if deed else None


def acts_before_reading(tool: ToolFeatures) -> str | None:
    """It presses something or runs the caller's steps before it reads."""
    prose = tool.prose
    steps = "url" in tool.inputs.flags and tool.inputs.names & {"actions", "steps"}
    free = steps and not tool.inputs.only_reads
    told = prose.kind == "run" and prose.verbs[0] == "perform" and prose.object & {"action", "actions"}
    alone = tool.inputs.flags & {"task", "message"} and "autonomous" in tool.outset
    pressed = "presses" in (tool.prose.statements if tool.name.verb == "answer" else tool.outset)
    chosen = tool.kind in {"none", "noun"} and "click" in tool.inputs.names and "press" in tool.text.lower()
    if free or told or alone or pressed or chosen:
        return "something is done before anything is read"
    return None


def issues_new_secret(tool: ToolFeatures) -> str | None:
    """It issues a new secret: `get_new_key`."""
    around = tool.words | tool.prose.object
    if tool.name.verb == "list":
        return None
    return "what is got is new" if "new" in around and around & NOUNS["issued"] else None


def can_fix(tool: ToolFeatures) -> str | None:
    """It can fix, set or keep something."""
    plain = tool.name.verb in _PLAIN and tool.prose.kind == "read"
    sets = tool.kind in {"none", "noun"} and " or set " in tool.text[:200].lower()
    if sets and any(name.startswith("set_") for name in tool.inputs.names):
        return "a parameter sets something"
    if "rehearse" in tool.inputs.flags and not plain:
        return "it can be rehearsed"
    mends = "mend" in tool.inputs.flags or has_action_switch(tool)
    return "it can put right or keep what it finds" if mends else None


def has_action_switch(tool: ToolFeatures) -> bool:
    """Whether a boolean parameter adds an action; for a list it only filters."""
    return "doing" in tool.inputs.flags and tool.name.verb not in DEEDS["fetching"] | {"extract", "parse"}


def runs_statement(tool: ToolFeatures) -> str | None:
    """It runs a statement or a command: `Run ANALYZE on a table`."""
    prose = tool.prose
    if prose.kind == "run" and tool.name.verb in DEEDS["trying"] and "returns" not in prose.statements:
        return "it is started, and what it gives is not said"
    if prose.kind == "run" and tool.inputs.names & EXTRAS:
        return "it takes arguments of a command"
    if tool.name.verb == "benchmark" and (tool.words | prose.object) & NOUNS["script_file"]:
        return "what is measured is run"
    given = prose.kind == "run" and tool.name.verb == "analyze" and prose.object >= {"analyze"}
    return "it is a statement that is run" if given else None


def opens_on_screen(tool: ToolFeatures) -> str | None:
    """It opens something on a person's screen: `view_in_browser`."""
    words = tool.name.words
    opened = len(words) > 2 and words[-2] == "in" and words[-1] in NOUNS["program_window"]
    if opened:
        return f"something is opened in the {words[-1]}"
    if tool.prose.verbs[:1] == ("open",) and tool.prose.object & _OPENED:
        return "a window is opened"
    return shows_to_someone(tool) or moves_or_records(tool)


def shows_to_someone(tool: ToolFeatures) -> str | None:
    """It shows the caller's content to a person: `display_text`."""
    verb, names = tool.name.verb, tool.inputs.names
    given = verb in {"display", "show", "tell"} and names & NOUNS["exhibit_input"]
    put = verb == "show" and tool.words & NOUNS["exhibited"] and tool.prose.kinds <= {"read", "change", "look"}
    put = put or (verb == "show" and names >= {"representation", "selection"})
    told = tool.prose.verbs[:1] in {(), ("show",), ("hide",)} or "display" in tool.prose.verbs
    put = (
        put
        and told
        and not tool.prose.object & {"details", "info", "information"}
        and "returns" not in tool.prose.statements
    )
    return "it puts something before somebody" if given or put else None


def moves_or_records(tool: ToolFeatures) -> str | None:
    """It moves, lights or records something: `look_at` a point, `locate_device` for a minute."""
    verb, names = tool.name.verb, tool.inputs.names
    turned = verb == "look" and "at" in tool.words and names & NOUNS["aim_input"]
    lit = verb in {"identify", "locate", "ping"} and names & {"duration", "seconds"} and not names & {"host", "url"}
    taught = verb == "learn" and names & NOUNS["content_input"]
    noted = tool.prose.verbs[:1] == ("record",) and verb not in DEEDS["fetching"]
    return "something is moved, lit or kept" if turned or lit or taught or noted else None


def runs_named_operation(tool: ToolFeatures) -> str | None:
    """It runs whichever operation the caller names, with free parameters."""
    names = tool.inputs.names
    free = names & {"action", "command", "operation"} and not tool.inputs.choices and names & NOUNS["parcel"]
    return "it does whichever operation is named" if free else None


def asks_agent(tool: ToolFeatures) -> str | None:
    """It asks an agent, which can act."""
    asked = tool.name.verb in DEEDS["consulting"] and tool.words & _AGENTS
    told = bool(tool.prose.verbs) and tool.prose.verbs[0] in DEEDS["consulting"]
    given = told and tool.inputs.flags & {"task", "message"} and tool.prose.object & _AGENTS
    able = told and "may_act" in tool.outset
    leashes = tool.inputs.names & NOUNS["leash"]
    unleashed = leashes and (tool.inputs.flags & {"task", "message"} or leashes != {"permission_mode"})
    return "an agent is asked" if asked or given or able or unleashed else None


def generates_media(tool: ToolFeatures) -> str | None:
    """It generates media that is stored, unless the text says that it is returned."""
    prose = tool.prose
    makes = prose.kind == "make" and prose.verbs[0] in {"generate", "produce"} and "returns" not in prose.statements
    pictured = makes and prose.object & {"image", "images", "video", "videos", "audio", "music", "speech"}
    return f"the description says {prose.verbs[0]}" if pictured else None


def tests_or_marks(tool: ToolFeatures) -> str | None:
    """It can do a real or forced run, a test can do anything, or it marks something as verified."""
    verb, prose = tool.name.verb, tool.prose
    if tool.inputs.flags & {"rehearse", "force"} and verb not in _VALIDATING:
        return "it can be rehearsed or forced"
    if "mend" in tool.inputs.flags or has_action_switch(tool):
        return "it can put right or keep what it finds"
    if prose.kind == "read" or "reads_only" in prose.statements:
        return None
    if verb == "test" and not tool.words & NOUNS["tested"]:
        return "a test may do anything"
    marks = verb == "verify" and tool.words & NOUNS["verified"] and "returns" not in prose.statements
    return "it may be marked as verified" if marks else None
