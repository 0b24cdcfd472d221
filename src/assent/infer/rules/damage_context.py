"""Rules for damage that depends on nearby words, parameters or warnings."""

import re
from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import DEEDS, INPUTS, LOSING, NOUNS, VAGUE, VERBS
from assent.infer.rules.screen_input import find_screen_input

_CHANGING: Final = frozenset({"change", "manage", "none", "noun", "run", "session"})
_CONTAINERS: Final = frozenset(
    {"all", "data", "database", "existing", "history", "index", "log", "queue", "storage", "table"}
)
_CLEARING: Final = (INPUTS["emptying"] - {"clear"}) | {"remove"}
_EMPTYING: Final = frozenset({"add", "change", "look", "manage", "none", "noun", "read", "run"})
_WARNED: Final = _CHANGING | {"add", "look", "read"}
_DATABASE: Final = frozenset({"database", "db", "ddl", "postgres", "schema", "sql", "supabase", "table", "tables"})
# Closing a page or tab loses nothing.
_PAGES: Final = frozenset({"browser", "page", "tab", "tabs"})
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

_OPEN_ITEMS: Final = frozenset(
    {"browser", "browsers", "documents", "orders", "sessions", "tabs", "terminals", "trades", "windows"}
)
_TRADED: Final = frozenset(
    (
        *("asset", "futures", "market", "order", "orders", "qty", "quantity", "sell", "sells", "size", "symbol"),
        *("ticket", "trade", "trades", "trading", "volume"),
    )
)


def find_contextual_damage(tool: ToolFeatures) -> str | None:
    """Return the reason of the first matching rule, or None."""
    if "protection" in tool.words and _PROTECTED.search(tool.text[:120].lower()):
        return None  # it is about protection against deletion
    for rule in _RULES:
        because = rule(tool)
        if because:
            return because
    return None


def _interrupts(tool: ToolFeatures) -> str | None:
    """Restarting, powering off or changing a state ends running work."""
    verb, words, said = tool.name.verb, tool.words, tool.prose
    felled = "down" in words and words & DEEDS["felling"]
    if felled or ("power" in words and words & {"off", "cycle", "down"}) or {"write", "off"} <= words:
        return "what runs or stands is cut off"
    for deed in (verb, *tool.name.beside, *(said.verbs if tool.kind in VAGUE else ())):
        if deed in DEEDS["interrupting"] and not (words | said.object) & NOUNS["restarted"]:
            return f"{deed} interrupts what runs"
    out = words & {"log", "sign"} and words & {"off", "out"}
    if out or verb in {"logout", "signout"}:
        return "others are signed out" if words & NOUNS["everybody"] else None
    if verb == "scale" and "zero" in words:
        return "nothing runs any more"
    state = "state" in words and (words | said.object) & {"power", "running"}
    return "the state may be one in which nothing runs" if state else None


def _keeps_old_version(text: str) -> bool:
    """Whether the restored copy becomes an additional version."""
    said = text.lower()
    return "creates a new version" in said and "drop" not in said and "replac" not in said


def _restores_copy(tool: ToolFeatures) -> str | None:
    verb, words = tool.name.verb, tool.words
    copied = words & _COPY or (tool.confirmed and _COPIED.match(tool.text.lower()))
    put_back = verb == "deploy" and "restore" in tool.prose.verbs
    if (verb == "restore" or put_back) and copied and not _keeps_old_version(tool.text):
        return "restoring a copy replaces what is there now"
    if verb in {"upgrade", "downgrade"} and "version" in words:
        return "a change of version is hard to take back"
    return "the last change is lost" if verb == "undo" else None


def _applies_plan(tool: ToolFeatures) -> str | None:
    """Applying a plan or a schema, or synchronising, can remove what it no longer contains."""
    verb, words, prose = tool.name.verb, tool.words, tool.prose
    if verb in {"sync", "synchronize", "synchronise"} and "deletes" in prose.statements:
        return "what is missing on one side is deleted on the other"
    if (verb == "apply" or "up" in words) and (words | prose.object) & {"terraform", "pulumi"}:
        return "applying a plan may destroy what it no longer names"
    if verb in DEEDS["applying"] and (words | prose.object) & _SCHEMA and (words | prose.opening) & _DATABASE:
        return "a change of the schema may lose what it no longer holds"
    return None


def _closes_for_good(tool: ToolFeatures) -> bool:
    """Whether it closes all windows, or a market position."""
    words, said = tool.words, tool.words | tool.prose.opening
    if "all" in words and (said & _OPEN_ITEMS or "positions" in words):
        return True
    return bool(words & {"position", "positions"} and (said & _TRADED or tool.inputs.names & _TRADED))


def _destroys_object(tool: ToolFeatures) -> str | None:
    """The verb is destructive for certain objects, in the name or, if the name says little, in the text."""
    verb, words, prose = tool.name.verb, tool.words, tool.prose
    done_to = words | prose.object if verb == "transfer" else words
    lost = frozenset() if words & NOUNS["own"] else done_to & LOSING.get(verb or "", frozenset())
    if not lost and tool.kind in VAGUE:
        verb = prose.verbs[0] if prose.verbs else None
        lost = (words | prose.object) & LOSING.get(verb or "", frozenset())
    if lost:
        return f"{verb} of {min(lost)} loses it or what it holds"
    if verb == "close" and _closes_for_good(tool):
        return "what is closed cannot be opened again as it was"
    if words | prose.object >= {"process", "signal"} and prose.kind == "send":
        return "a signal may end the process"
    binned = verb in DEEDS["placing"] and words & {"bin", "trash", "recycle", "junk"}
    return "what is moved there is thrown away" if binned else None


def _replaces_content(tool: ToolFeatures) -> str | None:
    verb, words, prose = tool.name.verb, tool.words, tool.prose
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
    if verb in DEEDS["writing"] and "backup" in tool.inputs.flags:
        return "what is replaced can be kept as a copy, hence lost without one"
    revised = verb in DEEDS["revising"] or tool.kind in {"none", "noun", "manage"}
    if revised and not words & NOUNS["trivial"] and "discards" in tool.outset:
        return "what was there before is discarded"
    return _overwrites_file(tool)


def _overwrites_file(tool: ToolFeatures) -> str | None:
    """Writing a whole file replaces the old one, unless the text says otherwise."""
    names, prose = tool.inputs.names, tool.prose
    if tool.name.verb == "save" and prose.opening >= {"back", "file"}:
        return "what was there before is replaced"
    whole = tool.name.verb in {"write", "overwrite"} and (tool.words | prose.object) & {"file", "files"}
    given = whole and names & NOUNS["path_input"] and names & NOUNS["content_input"]
    lost = given and "append" not in prose.verbs and "keeps" not in prose.statements
    return "a file that is written goes over the one that was there" if lost else None


def _has_dangerous_switch(tool: ToolFeatures) -> str | None:
    verb, words, flags = tool.name.verb, tool.words, tool.inputs.flags
    if "force" in words and verb in DEEDS["forceable"]:
        return f"a forced {verb} does not ask what it replaces"
    if "force" in flags and verb in DEEDS["forcing"]:
        return f"{verb} can be forced over what is there"
    if "felled" in flags and tool.kind in _CHANGING | {"add"}:
        return "a parameter names what is deleted"
    if "felling" in flags and tool.kind in VAGUE:
        return "a switch ends what is found"
    if "overwriting" in flags and tool.kind in {"add", "change"} and words.isdisjoint(_KEEPING):
        return "a switch lets it go over what was there"
    cut = "truncating" in flags and tool.kind not in VAGUE
    if cut or (tool.kind in _EMPTYING and "emptying" in flags and not _clears_one_field(tool)):
        return "a switch empties what was there"
    return None


def _clears_one_field(tool: ToolFeatures) -> bool:
    """Whether only single fields are cleared: `clear_due`; `clear_rows` empties a table and does not count."""
    names = tool.inputs.names
    clearing = [name for name in names if name.partition("_")[0] == "clear"]
    others = any(name.partition("_")[0] in _CLEARING for name in names) or names & INPUTS["resetting"]
    return tool.kind == "change" and bool(clearing) and all(map(_is_field, clearing)) and not others


def _is_field(name: str) -> bool:
    what = name.removeprefix("clear").removeprefix("_")
    return what in {"", "notes"} or ("_" not in what and not what.endswith("s") and what not in _CONTAINERS)


def _may_end_by_update(tool: ToolFeatures) -> str | None:
    """An update can move it to the bin, end it, or stop it."""
    flags = tool.inputs.flags
    if tool.kind not in _CHANGING:
        return None
    if "fate" in flags:
        return "a parameter can throw it away or end it"
    called_off = "called_off" in flags and tool.words & NOUNS["booked"]
    return "a parameter can call it off" if called_off else None


def _closes_session(tool: ToolFeatures) -> str | None:
    """Closing a session ends what runs in it, if the text says so."""
    closing = tool.name.verb in DEEDS["closing"] and not (tool.words | tool.prose.object) & _PAGES
    return "what runs in it is ended" if closing and "ends" in tool.prose.statements else None


def _warns(tool: ToolFeatures) -> str | None:
    if tool.kind in _WARNED and "loses" in tool.outset:
        return "the description says that something is lost on the way"
    warned = tool.kind in _CHANGING and "interrupts" in tool.prose.statements
    return "the description warns that what runs is interrupted" if warned else None


def _runs_destructive(tool: ToolFeatures) -> str | None:
    """Runs something destructive: a rollback, a clean-up, or an action that it warns about."""
    if tool.kind != "run" and not (tool.kind in {"none", "noun"} and tool.prose.kind == "run"):
        return "begins an attack" if tool.name.verb in DEEDS["beginning"] and tool.words & NOUNS["attack"] else None
    lost = sorted(word for word in tool.words if VERBS.get(word) == "destroy" or word in NOUNS["attack"])
    if lost:
        return f"runs a {lost[0]}"
    if (tool.words | tool.prose.object) & {"remediation", "remediations", "remedial"}:
        return "a remedy changes what it finds"
    return "runs something it warns of" if "cautions" in tool.prose.statements else None


_RULES: Final = (
    _interrupts,
    _restores_copy,
    _applies_plan,
    _destroys_object,
    _replaces_content,
    _has_dangerous_switch,
    _may_end_by_update,
    _closes_session,
    _warns,
    find_screen_input,
    _runs_destructive,
)
