"""Which deeds lose something only because of the words, parameters or warnings around them?"""

import re
from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import DEEDS, INPUTS, LOSING, NOUNS, VAGUE, VERBS
from assent.infer.rules.screen_input import judge_press

_CHANGING: Final = frozenset({"change", "manage", "none", "noun", "run", "session"})
_HELD: Final = frozenset(
    {"all", "data", "database", "existing", "history", "index", "log", "queue", "storage", "table"}
)
_CLEARING: Final = (INPUTS["emptying"] - {"clear"}) | {"remove"}
_EMPTYING: Final = frozenset({"add", "change", "look", "manage", "none", "noun", "read", "run"})
_WARNED: Final = _CHANGING | {"add", "look", "read"}
_DATABASE: Final = frozenset({"database", "db", "ddl", "postgres", "schema", "sql", "supabase", "table", "tables"})
# One leaves a page or a tab as one came.
_VISITED: Final = frozenset({"browser", "page", "tab", "tabs"})
_SCHEMA: Final = frozenset({"ddl", "migration", "migrations"})
_KEEPING: Final = frozenset({"download", "export", "save", "upload"})
_COPIED = re.compile(r"\s*restores? [^.]*\b(?:backup|snapshot)\b")
_COPY: Final = frozenset(
    {
        "snapshot",
        "backup",
        "database",
        "db",
        "cluster",
        "table",
        "collection",
        "volume",
        "checkpoint",
        "revision",
        "version",
    }
)
_PROTECTED = re.compile(r"\bdelet(?:e|ion)[- ](?:and \w+ )?protection\b")

_OPENED: Final = frozenset(
    {"browser", "browsers", "documents", "orders", "sessions", "tabs", "terminals", "trades", "windows"}
)
_TRADED: Final = frozenset(
    (
        *("asset", "futures", "market", "order", "orders", "qty", "quantity", "sell", "sells", "size", "symbol"),
        *("ticket", "trade", "trades", "trading", "volume"),
    )
)


def judge_circumstances(evidence: ToolFeatures) -> str | None:
    """The first rule that finds a loss tells it."""
    if "protection" in evidence.words and _PROTECTED.search(evidence.text[:120].lower()):
        return None  # what something is protected against
    for rule in _RULES:
        because = rule(evidence)
        if because:
            return because
    return None


def _interrupted(evidence: ToolFeatures) -> str | None:
    """To restart, to power off or to put into another state ends what was running."""
    verb, words, said = evidence.name.verb, evidence.words, evidence.prose
    felled = "down" in words and words & DEEDS["felling"]
    if felled or ("power" in words and words & {"off", "cycle", "down"}) or {"write", "off"} <= words:
        return "what runs or stands is cut off"
    for deed in (verb, *evidence.name.beside, *(said.verbs if evidence.kind in VAGUE else ())):
        if deed in DEEDS["interrupting"] and not (words | said.object) & NOUNS["restarted"]:
            return f"{deed} interrupts what runs"
    out = words & {"log", "sign"} and words & {"off", "out"}
    if out or verb in {"logout", "signout"}:
        return "others are signed out" if words & NOUNS["everybody"] else None
    if verb == "scale" and "zero" in words:
        return "nothing runs any more"
    state = "state" in words and (words | said.object) & {"power", "running"}
    return "the state may be one in which nothing runs" if state else None


def _kept_apart(text: str) -> bool:
    """Whether what is restored becomes a version beside the others."""
    said = text.lower()
    return "creates a new version" in said and "drop" not in said and "replac" not in said


def _restored(evidence: ToolFeatures) -> str | None:
    verb, words = evidence.name.verb, evidence.words
    copied = words & _COPY or (evidence.confirmed and _COPIED.match(evidence.text.lower()))
    put_back = verb == "deploy" and "restore" in evidence.prose.verbs
    if (verb == "restore" or put_back) and copied and not _kept_apart(evidence.text):
        return "restoring a copy replaces what is there now"
    if verb in {"upgrade", "downgrade"} and "version" in words:
        return "a change of version is hard to take back"
    return "the last change is lost" if verb == "undo" else None


def _applied(evidence: ToolFeatures) -> str | None:
    """A plan, a side or a schema that is put into effect may lose what it no longer names."""
    verb, words, prose = evidence.name.verb, evidence.words, evidence.prose
    if verb in {"sync", "synchronize", "synchronise"} and "deletes" in prose.statements:
        return "what is missing on one side is deleted on the other"
    if (verb == "apply" or "up" in words) and (words | prose.object) & {"terraform", "pulumi"}:
        return "applying a plan may destroy what it no longer names"
    if verb in DEEDS["applying"] and (words | prose.object) & _SCHEMA and (words | prose.opening) & _DATABASE:
        return "a change of the schema may lose what it no longer holds"
    return None


def _is_ended(evidence: ToolFeatures) -> bool:
    """All windows at once, or a position in a market."""
    words, said = evidence.words, evidence.words | evidence.prose.opening
    if "all" in words and (said & _OPENED or "positions" in words):
        return True
    return bool(words & {"position", "positions"} and (said & _TRADED or evidence.inputs.names & _TRADED))


def _beside(evidence: ToolFeatures) -> str | None:
    """A verb that loses beside certain words, in the name or, where the name says little, in the text."""
    verb, words, prose = evidence.name.verb, evidence.words, evidence.prose
    done_to = words | prose.object if verb == "transfer" else words
    lost = frozenset() if words & NOUNS["own"] else done_to & LOSING.get(verb or "", frozenset())
    if not lost and evidence.kind in VAGUE:
        verb = prose.verbs[0] if prose.verbs else None
        lost = (words | prose.object) & LOSING.get(verb or "", frozenset())
    if lost:
        return f"{verb} of {min(lost)} loses it or what it holds"
    if verb == "close" and _is_ended(evidence):
        return "what is closed cannot be opened again as it was"
    if words | prose.object >= {"process", "signal"} and prose.kind == "send":
        return "a signal may end the process"
    binned = verb in DEEDS["placing"] and words & {"bin", "trash", "recycle", "junk"}
    return "what is moved there is thrown away" if binned else None


def _replaced(evidence: ToolFeatures) -> str | None:
    verb, words, prose = evidence.name.verb, evidence.words, evidence.prose
    if verb == "recreate" and "deletes" in prose.statements:
        return "what is made anew is removed first"
    if (verb == "replace" and "all" in words and "text" not in words) or (verb == "update" and "full" in words):
        return "everything that was there is replaced"
    if verb in DEEDS["writing"] and "discards" in prose.statements:
        return "what was there before is discarded"
    if verb in DEEDS["writing"] and verb != "replace" and "supplants" in prose.statements:
        return "what was there before is replaced"
    if verb == "generate" and words & NOUNS["issued"] | words & {"secret"} and "supplants" in prose.statements:
        return "the one there was no longer holds"
    if verb in DEEDS["writing"] and "backup" in evidence.inputs.flags:
        return "what is replaced can be kept as a copy, hence lost without one"
    revised = verb in DEEDS["revising"] or evidence.kind in {"none", "noun", "manage"}
    if revised and not words & NOUNS["trivial"] and "discards" in evidence.outset:
        return "what was there before is discarded"
    return _rewritten(evidence)


def _rewritten(evidence: ToolFeatures) -> str | None:
    """A whole file that is written goes over the one that was there, unless the text says otherwise."""
    names, prose = evidence.inputs.names, evidence.prose
    if evidence.name.verb == "save" and prose.opening >= {"back", "file"}:
        return "what was there before is replaced"
    whole = evidence.name.verb in {"write", "overwrite"} and (evidence.words | prose.object) & {"file", "files"}
    given = whole and names & NOUNS["path_input"] and names & NOUNS["content_input"]
    lost = given and "append" not in prose.verbs and "keeps" not in prose.statements
    return "a file that is written goes over the one that was there" if lost else None


def _forced(evidence: ToolFeatures) -> str | None:
    verb, words, flags = evidence.name.verb, evidence.words, evidence.inputs.flags
    if "force" in words and verb in DEEDS["forceable"]:
        return f"a forced {verb} does not ask what it replaces"
    if "force" in flags and verb in DEEDS["forcing"]:
        return f"{verb} can be forced over what is there"
    if "felled" in flags and evidence.kind in _CHANGING | {"add"}:
        return "a parameter names what is deleted"
    if "felling" in flags and evidence.kind in VAGUE:
        return "a switch ends what is found"
    if "overwriting" in flags and evidence.kind in {"add", "change"} and words.isdisjoint(_KEEPING):
        return "a switch lets it go over what was there"
    cut = "truncating" in flags and evidence.kind not in VAGUE
    if cut or (evidence.kind in _EMPTYING and "emptying" in flags and not _unsets(evidence)):
        return "a switch empties what was there"
    return None


def _unsets(evidence: ToolFeatures) -> bool:
    """`clear_due` of a task takes back one field; `clear_rows` empties, and so does any other such word."""
    names = evidence.inputs.names
    clearing = [name for name in names if name.partition("_")[0] == "clear"]
    others = any(name.partition("_")[0] in _CLEARING for name in names) or names & INPUTS["resetting"]
    return evidence.kind == "change" and bool(clearing) and all(map(_is_field, clearing)) and not others


def _is_field(name: str) -> bool:
    what = name.removeprefix("clear").removeprefix("_")
    return what in {"", "notes"} or ("_" not in what and not what.endswith("s") and what not in _HELD)


def _ended(evidence: ToolFeatures) -> str | None:
    """What an update may put it into: the bin, an end, a state in which it no longer runs."""
    flags = evidence.inputs.flags
    if evidence.kind not in _CHANGING:
        return None
    if "fate" in flags:
        return "a parameter can throw it away or end it"
    called_off = "called_off" in flags and evidence.words & NOUNS["booked"]
    return "a parameter can call it off" if called_off else None


def _closed(evidence: ToolFeatures) -> str | None:
    """A session that is closed takes what runs in it along, when it says so."""
    closing = evidence.name.verb in DEEDS["closing"] and not (evidence.words | evidence.prose.object) & _VISITED
    return "what runs in it is ended" if closing and "ends" in evidence.prose.statements else None


def _warned(evidence: ToolFeatures) -> str | None:
    if evidence.kind in _WARNED and "loses" in evidence.outset:
        return "the description says that something is lost on the way"
    warned = evidence.kind in _CHANGING and "interrupts" in evidence.prose.statements
    return "the description warns that what runs is interrupted" if warned else None


def _run_loss(evidence: ToolFeatures) -> str | None:
    """Running something that is itself a loss: a rollback, a clean-up, an action it warns of."""
    if evidence.kind != "run" and not (evidence.kind in {"none", "noun"} and evidence.prose.kind == "run"):
        return (
            "begins an attack"
            if evidence.name.verb in DEEDS["beginning"] and evidence.words & NOUNS["attack"]
            else None
        )
    lost = sorted(word for word in evidence.words if VERBS.get(word) == "destroy" or word in NOUNS["attack"])
    if lost:
        return f"runs a {lost[0]}"
    if (evidence.words | evidence.prose.object) & {"remediation", "remediations", "remedial"}:
        return "a remedy changes what it finds"
    return "runs something it warns of" if "cautions" in evidence.prose.statements else None


_RULES: Final = (
    _interrupted,
    _restored,
    _applied,
    _beside,
    _replaced,
    _forced,
    _ended,
    _closed,
    _warned,
    judge_press,
    _run_loss,
)
