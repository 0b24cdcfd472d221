"""Rules for tools that start something with unknown content: a program, a playbook, an action, a raw command."""

from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import DEEDS, NOUNS, READING, VAGUE

_COMMAND: Final = frozenset({"cli", "cmd", "command", "commands"})
_ARGUMENTS: Final = frozenset({"args", "arguments", "argv", "command_args", "program_args"})
_WIRE: Final = frozenset({"apdu", "bytes", "command", "commands", "frame", "frames", "packet", "packets", "pdu"})
# Files with these extensions hold data.
_ROWS: Final = frozenset({"csv", "spreadsheet", "tsv", "xls", "xlsx"})
_BEGINNING: Final = DEEDS["launching"] | {"add", "create", "new", "schedule"}
_CONTAINED: Final = frozenset({"job", "jobs"})
_SENDING: Final = frozenset({"send", "add", "run"})


def find_launch(tool: ToolFeatures) -> str | None:
    """Return the reason why someone else chooses the action, or None."""
    if tool.kind == "destroy":
        return None
    return (
        _sends_raw_command(tool)
        or _launches_program(tool)
        or _starts_with_command(tool)
        or _runs_stored_content(tool)
        or _runs_named_action(tool)
        or _runs_page_script(tool)
    )


def _verbs(tool: ToolFeatures) -> frozenset[str | None]:
    """Return the verb of the name and, if the name says little, those of the description."""
    said = tool.prose.verbs if tool.kind in VAGUE and tool.kind != "read" else ()
    return frozenset((tool.name.verb, *said))


def _sends_raw_command(tool: ToolFeatures) -> str | None:
    """It passes on a raw command: `mail_command`, `chart_cli`, raw bytes."""
    prose, names, flags = tool.prose, tool.inputs.names, tool.inputs.flags
    ends = tool.name.words[-1:] and tool.name.words[-1] in _COMMAND
    told = prose.kind == "run" or tool.kind == "send" or tool.kind in VAGUE
    if ends and told and tool.kind not in READING and ("command" in flags or names & _ARGUMENTS):
        return "runs the command it is given"
    around = tool.words | prose.object
    wire = "raw" in around and around & _WIRE and prose.kind in _SENDING and tool.kind not in READING
    return "sends whatever is written, as it is" if wire else None


def _launches_program(tool: ToolFeatures) -> str | None:
    """It starts any program with any arguments; opening an app by name does not count."""
    if not _verbs(tool) & DEEDS["launching"] or tool.words & {"browser", "chrome", "editor"}:
        return None
    names, around = tool.inputs.names, tool.words | tool.prose.object
    given = names & _ARGUMENTS and around & NOUNS["executable"]
    free = given or names & NOUNS["program_input"] or any(name.endswith("_arguments") for name in names)
    return "starts any program" if free else None


def _starts_with_command(tool: ToolFeatures) -> str | None:
    """It starts a session, a scheduled job or a process with a given command."""
    starts = tool.name.verb in _BEGINNING
    around = tool.words | tool.prose.opening
    name_ends_with_action = starts and (tool.name.verb in {"launch", "spawn"} or around & NOUNS["host_process"])
    timed = tool.words & {"cron", "crontab"} and tool.kind in {"add", "change"}
    entered = "entrypoint" in tool.inputs.names and tool.name.verb == "submit"
    entered = entered or ("image" in tool.inputs.names and bool(around & _CONTAINED))
    given = "command" in tool.inputs.flags and (name_ends_with_action or timed or entered)
    return "begins with the command it is given" if given else None


def _runs_stored_content(tool: ToolFeatures) -> str | None:
    """It runs a playbook, a notebook or a stored procedure with unknown content."""
    around = tool.words | tool.prose.object
    runs = tool.kind == "run" or tool.prose.kind == "run" or _verbs(tool) & DEEDS["enacting"]
    if not runs or tool.kind in READING:
        return None
    if "run" in _verbs(tool) and tool.inputs.names & NOUNS["image_input"] and around & NOUNS["vessel"]:
        return "runs any image"
    written = around & NOUNS["script_file"] if tool.inputs.names & NOUNS["script_path"] else frozenset()
    rows = tool.prose.opening & _ROWS and (tool.name.verb == "import" or tool.prose.verbs[:1] == ("upload",))
    held = around & NOUNS["holder"] or (frozenset() if rows else written)
    if held:
        return f"does whatever the {min(held)} holds"
    adhoc = around & {"ad-hoc", "adhoc", "hoc"} and around & {"command", "commands", "host", "hosts", "module"}
    return "does whatever the module holds" if adhoc else None


def _runs_named_action(tool: ToolFeatures) -> str | None:
    """The caller names the action and no list limits it: `call_service`, `run_action`."""
    inputs, prose = tool.inputs, tool.prose
    calls = tool.kind == "run" or tool.name.verb in DEEDS["enacting"]
    listed = any(choice.certain for choice in inputs.choices)
    if listed or tool.name.verb == "start" or not (calls or (tool.kind in {"none", "noun"} and prose.kind == "run")):
        return None
    around = tool.words | (prose.object if prose.kind == "run" else frozenset())
    if around & NOUNS["begun"]:
        return None
    for noun in sorted(around & NOUNS["callable"]):
        if inputs.names & {noun, f"{noun}_name", f"{noun}_id", f"{noun}_path", f"{noun}_type", "approval_id", "name"}:
            return f"does whichever {noun} is named"
    return None


def _runs_page_script(tool: ToolFeatures) -> str | None:
    """A script of the caller runs in the page before the page is read."""
    looked = tool.kind == "make" or tool.kind in VAGUE
    scripted = looked and tool.inputs.flags >= {"page_script", "url"}
    return "runs the script it is given in the page" if scripted else None
