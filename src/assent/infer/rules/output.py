"""Rules for tools that make something: stored, or only returned."""

import re
from collections.abc import Callable
from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import ACTING, NOUNS, READING
from assent.infer.rules.programs import PROGRAM
from assent.infer.rules.side_effects import has_action_switch, saves_result
from assent.infer.verdict import ACTS, FINAL, LOOKS, SURE, UNCLEAR, WEAK, ReadOnlyVerdict, claims_reading

# Parameters that name the stored output.
_OUTPUT_NAMES: Final = frozenset({"output_name", "output_file_name", "report_name", "save_name"})
_TEXT: Final = frozenset({"command", "commands", "locator", "selector", "regex"})
_FORMS: Final = frozenset({"csv", "json", "jsonl", "markdown", "xml", "yaml"})
_FILED: Final = frozenset({"directory", "file", "files", "folder", "project"})
_AT_HOME: Final = _FILED | {"disk", "local", "locally"}
_PLACES: Final = ("dir", "directory", "file", "filename", "folder", "path")
_REPORTED: Final = frozenset({"feedback", "outcome", "severity", "status", "success"})
# Media is usually stored, whatever the text says.
_MEDIA: Final = frozenset(
    (
        *("audio", "image", "images", "music", "photo", "photos", "picture", "pictures", "song", "songs", "speech"),
        *("video", "videos", "voice"),
    )
)
_FOUND_BY: Final = ("id", "ids", "key", "uid", "uuid")
_SOURCES: Final = frozenset({"link", "magnet", "source", "torrent"})
# Downloads that are used on the machine of the tool.
_INSTALLED: Final = frozenset(
    (
        *("dataset", "model", "models", "package", "packages", "phone", "release", "remote", "subtitle", "subtitles"),
        *("torrent", "update", "updates", "weights"),
    )
)
# `health_check` reports a state; `report_bug` does not.
_REPORTS: Final = frozenset({("check",), ("report",), ("status",), ("summary",)})
_TELLING = re.compile(
    r"\s*reports? (?:expected \w+,|how|progress|this (?:mcp )?server|what|whether|which|why)\b(?![^.]* (?:as|to) )"
)
_SPAN: Final = ("date", "end", "from", "since", "start")
_MEASURED: Final = frozenset({"coordinates", "currencies", "currency", "temperature", "timezone", "units"})
_HELD: Final = frozenset({"document", "funds", "wallet", "wallets"})
_HANDING_OUT: Final = frozenset({"export", "download", "dump"})


def judge_output(tool: ToolFeatures) -> ReadOnlyVerdict:
    """Judge stored output as an act and returned output as read-only; without evidence it is unclear."""
    prose = tool.prose
    verb = prose.verbs[0] if tool.kind != "make" and prose.kind == "make" else tool.name.verb or ""
    if verb == "report" and tool.kind == "noun" and not tool.inputs.names and not saves_result(tool):
        return ReadOnlyVerdict(LOOKS, f"{verb} of how something is")
    if prose.kind == "run" and tool.inputs.flags & PROGRAM and not claims_reading(tool):
        return ReadOnlyVerdict(ACTS, f"{verb} of what is run")
    stored = _stored_output(tool, verb)
    if stored:
        return ReadOnlyVerdict(ACTS, f"{verb}, and {stored}")
    back = next(filter(None, (rule(tool, verb) for rule in _GIVEN_BACK)), None)
    if back:
        return ReadOnlyVerdict(LOOKS, f"{verb}{back}", WEAK if verb in _HANDING_OUT else FINAL)
    pictured = (tool.words | prose.object) & _MEDIA
    return ReadOnlyVerdict(UNCLEAR, f"{verb}: whether the result is kept is not said", FINAL if pictured else SURE)


def _stored_output(tool: ToolFeatures, verb: str) -> str | None:
    if saves_result(tool):
        return "the result is saved"
    if "mend" in tool.inputs.flags or has_action_switch(tool):
        return "a switch keeps the result"
    if "shared" in tool.outset:
        return "others can see the result"
    if "gives_id" in tool.prose.statements:
        return "the result gets an id to be found by"
    if verb == "report" and tool.inputs.names & _REPORTED:
        return "what is reported is given"
    if tool.inputs.names & {*_OUTPUT_NAMES, f"{verb}_title", f"{verb}_name", f"{verb}_id"}:
        return "the result gets a name to be found by"
    return f"the description says {tool.prose.verbs[0]}" if tool.prose.kinds & ACTING else None


def _reads_only(tool: ToolFeatures, verb: str) -> str | None:
    """The description only reads, or says so."""
    prose = tool.prose
    if prose.kind in READING:
        return f", but the description says {prose.verbs[0]}"
    says = verb != "download" and "avows" in prose.statements and "file" not in tool.inputs.flags
    return ", but says that it only reads" if says or (prose.kind == "run" and claims_reading(tool)) else None


def _returned_export(tool: ToolFeatures, verb: str) -> str | None:
    """An export, download or dump that is returned in the answer."""
    prose, names = tool.prose, tool.inputs.names
    filed = verb == "export" and prose.object & {"file", "files"}
    if verb in _HANDING_OUT and "returns" in prose.statements and not filed:
        return ", and the result is returned"
    if verb == "download" and _is_returned_download(tool):
        return " of what is found by its id, to no place"
    if verb != "export" or not prose.opening & _FORMS:
        return None
    placed = (tool.words | prose.opening) & _AT_HOME or any(map(_is_place, names))
    return None if placed else " in a form that is returned"


def _is_place(name: str) -> bool:
    return name.endswith(_PLACES)


def _is_returned_download(tool: ToolFeatures) -> bool:
    """Whether a download takes only an id, so that no target path exists, unless the text names one."""
    names, around = tool.inputs.names, tool.words | tool.prose.opening
    found = any(name.endswith(_FOUND_BY) for name in names)
    placed = any(map(_is_place, names)) or names & _SOURCES or tool.inputs.flags & {"url", "address"}
    return found and not placed and not around & (_AT_HOME - {"file", "files"}) and not around & _INSTALLED


def _returned_conversion(tool: ToolFeatures, verb: str) -> str | None:
    prose = tool.prose
    if verb not in {"convert", "transform"} or "makes_another" in prose.statements:
        return None
    if any(name.endswith(_FOUND_BY) for name in tool.inputs.names) or prose.object & _HELD:
        return None
    formed = prose.verbs[:1] == (verb,) and prose.object & NOUNS["formed"] and not prose.object & {"file", "files"}
    valued = tool.words & NOUNS["value"] or prose.object & _MEASURED
    return " of a value" if valued or formed else None


def _returned_report(tool: ToolFeatures, verb: str) -> str | None:
    """A report that is returned, such as a summary or a version."""
    told = tool.kind == "noun" and tool.words & NOUNS["told"] and verb in {"produce", "build", "generate"}
    reported = verb == "report" and tool.name.words[-1:] in _REPORTS and _TELLING.match(tool.text.lower())
    printed = verb == "print" and tool.prose.object & {"info", "information", "status", "version"}
    return " of how something is" if told or reported or printed else None


def _returned_text(tool: ToolFeatures, verb: str) -> str | None:
    """Generated text, a model's answer, advice, or a report of a past period."""
    words, prose = tool.words, tool.prose
    if verb in {"build", "compose"} and prose.object & {"queries", "query"}:
        return ", and the result is a piece of text"
    if verb != "generate":
        return None
    if words & NOUNS["wording"] or prose.opening & _TEXT or prose.object & {"queries", "query"}:
        return ", and the result is a piece of text"
    if (words | prose.object) & NOUNS["answered"]:
        return " of a model's answer"
    if prose.object & NOUNS["counsel"]:
        return ", and the result is advice"
    reported = (words | prose.object) & {"report", "summary"}
    dated = reported and any(name.endswith(_SPAN) for name in tool.inputs.names)
    if dated and "file" not in tool.inputs.flags:
        return " of a span of time"
    returned = "returns" in prose.statements and not (words | prose.opening) & NOUNS["kept"]
    return ", and the result is returned" if returned else None


def _claims_read_only(tool: ToolFeatures, verb: str) -> str | None:
    merely = "merely_makes" in tool.prose.statements and not tool.prose.opening & _FILED
    return ", and it says that nothing else comes of it" if merely and verb not in {"export", "download"} else None


def _returned_chart(tool: ToolFeatures, verb: str) -> str | None:
    """A chart or graph that is returned; one with an own name may be stored."""
    around = tool.words | tool.prose.object
    rendered = verb in {"render", "plot"} and around & {"graph", "graphs", "image", "preview"}
    mapped = around & {"map", "maps"} and (around | tool.prose.opening) & NOUNS["mapped"]
    pictured = around & NOUNS["drawn"] or rendered or mapped or {"qr", "code"} <= around
    names = tool.inputs.names
    stays = around & NOUNS["canvas"] or names & NOUNS["canvas_id"] or any(name.startswith("save") for name in names)
    return " of a picture of what is given" if pictured and not stays else None


_GIVEN_BACK: Final[tuple[Callable[[ToolFeatures, str], str | None], ...]] = (
    _reads_only,
    _returned_export,
    _returned_conversion,
    _returned_report,
    _returned_text,
    _claims_read_only,
    _returned_chart,
)
