"""Does the tool set something going that does whatever it holds: a program, a playbook, an action, a raw command?"""

from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import DEEDS, NOUNS, READING, VAGUE

_COMMAND: Final = frozenset({"cli", "cmd", "command", "commands"})
_ARGUMENTS: Final = frozenset({"args", "arguments", "argv", "command_args", "program_args"})
_WIRE: Final = frozenset({"apdu", "bytes", "command", "commands", "frame", "frames", "packet", "packets", "pdu"})
# What a file with one of these endings holds is data.
_ROWS: Final = frozenset({"csv", "spreadsheet", "tsv", "xls", "xlsx"})
_BEGINNING: Final = DEEDS["launching"] | {"add", "create", "new", "schedule"}
_CONTAINED: Final = frozenset({"job", "jobs"})
_SENDING: Final = frozenset({"send", "add", "run"})


def judge_calls(evidence: ToolFeatures) -> str | None:
    """The sentence that says why the deed is somebody else's to choose, or nothing."""
    if evidence.kind == "destroy":
        return None
    return (
        _raw(evidence)
        or _launched(evidence)
        or _begun(evidence)
        or _held(evidence)
        or _named(evidence)
        or _scripted(evidence)
    )


def _verbs(evidence: ToolFeatures) -> frozenset[str | None]:
    """The deed of the name and, where the name says little, those of the description."""
    said = evidence.prose.verbs if evidence.kind in VAGUE and evidence.kind != "read" else ()
    return frozenset((evidence.name.verb, *said))


def _raw(evidence: ToolFeatures) -> str | None:
    """`mail_command`, `chart_cli`, raw bytes on a wire."""
    prose, names, flags = evidence.prose, evidence.inputs.names, evidence.inputs.flags
    ends = evidence.name.words[-1:] and evidence.name.words[-1] in _COMMAND
    told = prose.kind == "run" or evidence.kind == "send" or evidence.kind in VAGUE
    if ends and told and evidence.kind not in READING and ("command" in flags or names & _ARGUMENTS):
        return "runs the command it is given"
    around = evidence.words | prose.object
    wire = "raw" in around and around & _WIRE and prose.kind in _SENDING and evidence.kind not in READING
    return "sends whatever is written, as it is" if wire else None


def _launched(evidence: ToolFeatures) -> str | None:
    """Any program, with any arguments; an app or an editor that is opened by its name is none."""
    if not _verbs(evidence) & DEEDS["launching"] or evidence.words & {"browser", "chrome", "editor"}:
        return None
    names, around = evidence.inputs.names, evidence.words | evidence.prose.object
    given = names & _ARGUMENTS and around & NOUNS["executable"]
    free = given or names & NOUNS["program_input"] or any(name.endswith("_arguments") for name in names)
    return "starts any program" if free else None


def _begun(evidence: ToolFeatures) -> str | None:
    """A session, a job of the clock or a process that begins with the command it is given."""
    starts = evidence.name.verb in _BEGINNING
    around = evidence.words | evidence.prose.opening
    begun = starts and (evidence.name.verb in {"launch", "spawn"} or around & NOUNS["host_process"])
    timed = evidence.words & {"cron", "crontab"} and evidence.kind in {"add", "change"}
    entered = "entrypoint" in evidence.inputs.names and evidence.name.verb == "submit"
    entered = entered or ("image" in evidence.inputs.names and bool(around & _CONTAINED))
    given = "command" in evidence.inputs.flags and (begun or timed or entered)
    return "begins with the command it is given" if given else None


def _held(evidence: ToolFeatures) -> str | None:
    """What a playbook, a notebook or a stored procedure holds is not said."""
    around = evidence.words | evidence.prose.object
    runs = evidence.kind == "run" or evidence.prose.kind == "run" or _verbs(evidence) & DEEDS["enacting"]
    if not runs or evidence.kind in READING:
        return None
    if "run" in _verbs(evidence) and evidence.inputs.names & NOUNS["image_input"] and around & NOUNS["vessel"]:
        return "runs any image"
    written = around & NOUNS["script_file"] if evidence.inputs.names & NOUNS["script_path"] else frozenset()
    rows = evidence.prose.opening & _ROWS and (
        evidence.name.verb == "import" or evidence.prose.verbs[:1] == ("upload",)
    )
    held = around & NOUNS["holder"] or (frozenset() if rows else written)
    if held:
        return f"does whatever the {min(held)} holds"
    adhoc = around & {"ad-hoc", "adhoc", "hoc"} and around & {"command", "commands", "host", "hosts", "module"}
    return "does whatever the module holds" if adhoc else None


def _named(evidence: ToolFeatures) -> str | None:
    """`call_service`, `run_action`: the caller names what is done, and no list says what there is."""
    inputs, prose = evidence.inputs, evidence.prose
    calls = evidence.kind == "run" or evidence.name.verb in DEEDS["enacting"]
    listed = any(choice.certain for choice in inputs.choices)
    if (
        listed
        or evidence.name.verb == "start"
        or not (calls or (evidence.kind in {"none", "noun"} and prose.kind == "run"))
    ):
        return None
    around = evidence.words | (prose.object if prose.kind == "run" else frozenset())
    if around & NOUNS["begun"]:
        return None
    for noun in sorted(around & NOUNS["callable"]):
        if inputs.names & {noun, f"{noun}_name", f"{noun}_id", f"{noun}_path", f"{noun}_type", "approval_id", "name"}:
            return f"does whichever {noun} is named"
    return None


def _scripted(evidence: ToolFeatures) -> str | None:
    """A page is read after a script of the caller's has run in it."""
    looked = evidence.kind == "make" or evidence.kind in VAGUE
    scripted = looked and evidence.inputs.flags >= {"page_script", "url"}
    return "runs the script it is given in the page" if scripted else None
