"""Is what a tool makes kept, or only given back?"""

import re
from collections.abc import Callable
from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import ACTING, NOUNS, READING
from assent.infer.rules.programs import PROGRAM
from assent.infer.rules.side_effects import does, saved
from assent.infer.verdict import ACTS, FINAL, LOOKS, SURE, UNCLEAR, WEAK, ReadOnlyVerdict, claims_reading

# Parameters by which what was made is found again.
_NAMED: Final = frozenset({"output_name", "output_file_name", "report_name", "save_name"})
_TEXT: Final = frozenset({"command", "commands", "locator", "selector", "regex"})
_FORMS: Final = frozenset({"csv", "json", "jsonl", "markdown", "xml", "yaml"})
_FILED: Final = frozenset({"directory", "file", "files", "folder", "project"})
_AT_HOME: Final = _FILED | {"disk", "local", "locally"}
_PLACES: Final = ("dir", "directory", "file", "filename", "folder", "path")
_REPORTED: Final = frozenset({"feedback", "outcome", "severity", "status", "success"})
# They are mostly kept where they are made, whatever the words say.
_PICTURED: Final = frozenset(
    (
        *("audio", "image", "images", "music", "photo", "photos", "picture", "pictures", "song", "songs", "speech"),
        *("video", "videos", "voice"),
    )
)
_FOUND_BY: Final = ("id", "ids", "key", "uid", "uuid")
_SOURCES: Final = frozenset({"link", "magnet", "source", "torrent"})
# What is downloaded to be used where the tool runs.
_INSTALLED: Final = frozenset(
    (
        *("dataset", "model", "models", "package", "packages", "phone", "release", "remote", "subtitle", "subtitles"),
        *("torrent", "update", "updates", "weights"),
    )
)
# `health_check` that reports tells something; `report_bug` does not.
_REPORTS: Final = frozenset({("check",), ("report",), ("status",), ("summary",)})
_TELLING = re.compile(
    r"\s*reports? (?:expected \w+,|how|progress|this (?:mcp )?server|what|whether|which|why)\b(?![^.]* (?:as|to) )"
)
_SPAN: Final = ("date", "end", "from", "since", "start")
_MEASURED: Final = frozenset({"coordinates", "currencies", "currency", "temperature", "timezone", "units"})
_HELD: Final = frozenset({"document", "funds", "wallet", "wallets"})
_HANDING_OUT: Final = frozenset({"export", "download", "dump"})


def judge_product(evidence: ToolFeatures) -> ReadOnlyVerdict:
    """What is kept is an act, what is only given back a look; where nothing says which, it is unclear."""
    prose = evidence.prose
    verb = prose.verbs[0] if evidence.kind != "make" and prose.kind == "make" else evidence.name.verb or ""
    if verb == "report" and evidence.kind == "noun" and not evidence.inputs.names and not saved(evidence):
        return ReadOnlyVerdict(LOOKS, f"{verb} of how something is")
    if prose.kind == "run" and evidence.inputs.flags & PROGRAM and not claims_reading(evidence):
        return ReadOnlyVerdict(ACTS, f"{verb} of what is run")
    kept = _kept(evidence, verb)
    if kept:
        return ReadOnlyVerdict(ACTS, f"{verb}, and {kept}")
    back = next(filter(None, (rule(evidence, verb) for rule in _GIVEN_BACK)), None)
    if back:
        return ReadOnlyVerdict(LOOKS, f"{verb}{back}", WEAK if verb in _HANDING_OUT else FINAL)
    pictured = (evidence.words | prose.object) & _PICTURED
    return ReadOnlyVerdict(UNCLEAR, f"{verb}: whether the result is kept is not said", FINAL if pictured else SURE)


def _kept(evidence: ToolFeatures, verb: str) -> str | None:
    if saved(evidence):
        return "the result is saved"
    if "mend" in evidence.inputs.flags or does(evidence):
        return "a switch keeps the result"
    if "shared" in evidence.outset:
        return "others can see the result"
    if "gives_id" in evidence.prose.statements:
        return "the result gets an id to be found by"
    if verb == "report" and evidence.inputs.names & _REPORTED:
        return "what is reported is given"
    if evidence.inputs.names & {*_NAMED, f"{verb}_title", f"{verb}_name", f"{verb}_id"}:
        return "the result gets a name to be found by"
    return f"the description says {evidence.prose.verbs[0]}" if evidence.prose.kinds & ACTING else None


def _read(evidence: ToolFeatures, verb: str) -> str | None:
    """The description only looks, or says so outright."""
    prose = evidence.prose
    if prose.kind in READING:
        return f", but the description says {prose.verbs[0]}"
    says = verb != "download" and "avows" in prose.statements and "file" not in evidence.inputs.flags
    return ", but says that it only reads" if says or (prose.kind == "run" and claims_reading(evidence)) else None


def _handed_out(evidence: ToolFeatures, verb: str) -> str | None:
    """An export, a download or a dump that comes as the answer."""
    prose, names = evidence.prose, evidence.inputs.names
    filed = verb == "export" and prose.object & {"file", "files"}
    if verb in _HANDING_OUT and "returns" in prose.statements and not filed:
        return ", and the result is returned"
    if verb == "download" and _is_sent_back(evidence):
        return " of what is found by its id, to no place"
    if verb != "export" or not prose.opening & _FORMS:
        return None
    placed = (evidence.words | prose.opening) & _AT_HOME or any(map(_is_place, names))
    return None if placed else " in a form that is returned"


def _is_place(name: str) -> bool:
    return name.endswith(_PLACES)


def _is_sent_back(evidence: ToolFeatures) -> bool:
    """A download to which only an id is given: there is no place where it could go, unless the text knows one."""
    names, around = evidence.inputs.names, evidence.words | evidence.prose.opening
    found = any(name.endswith(_FOUND_BY) for name in names)
    placed = any(map(_is_place, names)) or names & _SOURCES or evidence.inputs.flags & {"url", "address"}
    return found and not placed and not around & (_AT_HOME - {"file", "files"}) and not around & _INSTALLED


def _converted(evidence: ToolFeatures, verb: str) -> str | None:
    prose = evidence.prose
    if verb not in {"convert", "transform"} or "makes_another" in prose.statements:
        return None
    if any(name.endswith(_FOUND_BY) for name in evidence.inputs.names) or prose.object & _HELD:
        return None
    formed = prose.verbs[:1] == (verb,) and prose.object & NOUNS["formed"] and not prose.object & {"file", "files"}
    valued = evidence.words & NOUNS["value"] or prose.object & _MEASURED
    return " of a value" if valued or formed else None


def _told(evidence: ToolFeatures, verb: str) -> str | None:
    """A summary that is produced, the version that is printed: how something is."""
    told = evidence.kind == "noun" and evidence.words & NOUNS["told"] and verb in {"produce", "build", "generate"}
    reported = verb == "report" and evidence.name.words[-1:] in _REPORTS and _TELLING.match(evidence.text.lower())
    printed = verb == "print" and evidence.prose.object & {"info", "information", "status", "version"}
    return " of how something is" if told or reported or printed else None


def _generated(evidence: ToolFeatures, verb: str) -> str | None:
    """A piece of text, a model's answer, advice, a report of a time that has passed."""
    words, prose = evidence.words, evidence.prose
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
    dated = reported and any(name.endswith(_SPAN) for name in evidence.inputs.names)
    if dated and "file" not in evidence.inputs.flags:
        return " of a span of time"
    returned = "returns" in prose.statements and not (words | prose.opening) & NOUNS["kept"]
    return ", and the result is returned" if returned else None


def _avowed(evidence: ToolFeatures, verb: str) -> str | None:
    merely = "merely_makes" in evidence.prose.statements and not evidence.prose.opening & _FILED
    return ", and it says that nothing else comes of it" if merely and verb not in {"export", "download"} else None


def _drawn(evidence: ToolFeatures, verb: str) -> str | None:
    """A chart that is generated, a graph that is rendered; one with a name of its own may stay."""
    around = evidence.words | evidence.prose.object
    rendered = verb in {"render", "plot"} and around & {"graph", "graphs", "image", "preview"}
    mapped = around & {"map", "maps"} and (around | evidence.prose.opening) & NOUNS["mapped"]
    pictured = around & NOUNS["drawn"] or rendered or mapped or {"qr", "code"} <= around
    names = evidence.inputs.names
    stays = around & NOUNS["canvas"] or names & NOUNS["canvas_id"] or any(name.startswith("save") for name in names)
    return " of a picture of what is given" if pictured and not stays else None


_GIVEN_BACK: Final[tuple[Callable[[ToolFeatures, str], str | None], ...]] = (
    _read,
    _handed_out,
    _converted,
    _told,
    _generated,
    _avowed,
    _drawn,
)
