"""What do a tool's parameters give away about its effect?"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from assent.infer.features.name import read_name
from assent.infer.features.schema import is_short, is_switch, list_steps, list_values, read_properties
from assent.infer.features.words import split_name
from assent.infer.lexicon import DEEDS, INPUTS, MIXED, NOUN_TOO, NOUNS, READING, VERBS

_OPERATION: Final = frozenset({"action", "actions", "operation", "operations", "op", "command", "subcommand", "verb"})
_CHOOSING: Final = _OPERATION | {"method", "mode", "task"}
_LOOSE: Final = _CHOOSING - _OPERATION
# How something is done: a deed only where one of the ways loses what was there.
_MANNER: Final = frozenset({"mode", "strategy", "disposition", "behavior", "behaviour", "exists", "conflict"})
_STATE: Final = frozenset({"status", "state", "lifecycle"})
_AFTERWARDS: Final = frozenset({"auto", "force", "then"})
_KEEPING: Final = frozenset({"persist", "save", "store"})
# What is downloaded on the way.
_FETCHED: Final = frozenset({"assets", "attachments", "files", "images", "media", "pdf", "pdfs", "photos", "videos"})
_LOST_AFTERWARDS: Final = DEEDS["strong"] | {"archive", "clear", "disable", "prune", "remove"}
# `delete_after_run`: not now, and what was made for one time only.
_LATER: Final = frozenset({"after_run", "after_use", "each_iteration"})
_LONGEST: Final = 4000
_METHOD: Final = frozenset({"http_method", "request_method"})
_OUTWARD: Final = ("dest_", "destination_", "download_", "export_", "out_", "output_", "save_")
_FILED: Final = ("_dir", "_directory", "_disk", "_file", "_filename", "_folder", "_location", "_path")
_PLACES: Final = ("directory", "file", "filename", "folder", "path")
_SAVING = re.compile(r"\bsav(?:e|ed|ing)\b")
_TO_FILE = re.compile(r"\b(?:dumps|saves|writes)\b(?: \w+){0,4} to (?:(?:a|an|the|your|local) ){0,2}(?:disk|file)\b")
_FILENAME = re.compile(r"[\w./-]+\.[a-z]\w{1,4}")
_WORKED_OUT = re.compile(r"\b(?:[Aa]rithmetic|[Cc]alculat|[Cc]omput|[Mm]ath)")
_CAPITALS = re.compile(r"\b[A-Z][A-Z_]{4,}\b")
_FELLED: Final = frozenset({"delete", "deletes", "deletions", "to_delete"})
_EXPELLED: Final = frozenset(
    {"ban_members", "ban_users", "remove_admins", "remove_members", "remove_participants", "remove_users"}
)
_ADDRESS: Final = ("_url", "_uri", "_endpoint")
_PROGRAMS: Final = frozenset({"code", "command", "sql"})
# They mean something only as a switch: `fix`, but not the text of a fix; `clear_values`, but not what to clear.
_SWITCHES: Final = frozenset(
    {
        "doing",
        "felling",
        "felling_first",
        "followed_by",
        "outcome",
        "resetting",
        "truncating",
        "mend",
        "emptying",
        "traced",
        "unlisted",
        "overwriting",
        "fate",
        "pressing",
        "backup",
    }
)
_LINED = re.compile(r"^[ \t*-]*[`'\"]?([a-z]+(?:_[a-z]+)*)[`'\"]?[ \t]+[\u2014\u2013][ \t]", re.MULTILINE)
_LISTED = re.compile(
    r"['\"`]([a-z][a-z_-]+)['\"`]"
    r"|\b([a-z]+(?:[-_][a-z]+)+)\b"
    r"|(?:[:,(]|\bor|\band|/|\|)\s*([a-z]+)(?=\s*(?:,|\.|;|\||/|:|[()]|$|\bor\b|\band\b))"
)
_FLAGS: Final = {
    name: {flag for flag, members in INPUTS.items() if name in members} - _SWITCHES
    for name in set().union(*INPUTS.values())
}
_HTTP_WRITES: Final = ("POST", "PUT", "PATCH", "DELETE")
_TYPED: Final = frozenset({"action_type", "operation_type", "operation_mode", "command_type", "task_action"})


class Choice(NamedTuple):
    """An operation a parameter offers; uncertain where its verb could be a thing, as in `merge_requests`.

    `deep` is one inside another parameter, such as the steps of a list or a field of a filter.
    """

    verb: str
    kind: str
    certain: bool
    deep: bool = False


class Parameters(NamedTuple):
    """Parameter names in plain form, what they amount to, and the operations they choose between."""

    names: frozenset[str]
    flags: frozenset[str]
    choices: tuple[Choice, ...]
    only_reads: bool


class _Meaning(NamedTuple):
    """What a parameter's name alone says: its plain form, and what it amounts to anyhow, as a switch, by its values."""

    plain: str
    flags: frozenset[str]
    switched: frozenset[str]
    ends: bool
    role: str | None


def read_parameters(schema: Any, text: str = "") -> Parameters:
    """Read an input schema, one level of nested objects included; `text` may say what its parameters mean."""
    own, below = read_properties(schema)
    names: set[str] = set()
    flags: set[str] = set()
    choices: list[Choice] = []
    only_reads = chosen = False
    for place, (name, definition) in enumerate([*own, *below]):
        meaning = _meaning(name)
        plain, role = meaning.plain, meaning.role
        names.add(plain)
        flags |= _flags(meaning, definition, own=place < len(own))
        if role is None:
            continue
        below_it = place >= len(own) or (role == "operation" and not list_values(definition))
        before = len(choices)
        if role == "manner":
            choices += [choice for choice in _choices(list_values(definition), "mode", listed=True) if _grave(choice)]
        elif _is_http(definition):
            flags.add("http")
        elif role == "operation":
            values = _values(definition, name, text, schema)
            offered = list(_choices(values, plain, listed=bool(list_values(definition))))
            choices += offered or _list_acts(text, plain)
            said, outer = plain in _OPERATION and 2 * len(offered) >= len(values) > 0, place < len(own)
            only_reads |= said and (outer or not chosen)
            chosen |= outer
        if below_it and (place >= len(own) or list_steps(definition, schema)):
            choices[before:] = [choice._replace(deep=True) for choice in choices[before:]]
    if "method" in names and names & {"body", "data", "payload"} and names & {"endpoint", "path", "url"}:
        flags.add("http")
    if flags & {"query", "sql"} and "SELECT" in text:
        choices = [choice for choice in choices if choice.verb != "select"]  # a word of the query's language
    if any(choice.verb == "multiply" for choice in choices) and _WORKED_OUT.search(text):
        choices = [choice for choice in choices if choice.verb != "add"]
    only_reads = (
        only_reads and all(choice.kind in READING for choice in choices) and any(choice.certain for choice in choices)
    )
    return Parameters(frozenset(names), frozenset(flags), tuple(choices), only_reads)


def _flags(meaning: _Meaning, definition: Mapping[str, Any], *, own: bool) -> set[str]:
    """What a parameter amounts to; one further down says less, since it is about a part."""
    plain, meant, switched, ends, _ = meaning
    flags = set(meant)
    if flags & _PROGRAMS and is_short(definition):
        flags -= _PROGRAMS
    if definition.get("type") in ("integer", "number"):
        flags.discard("code")
    if definition.get("type") == "boolean":
        flags -= _PROGRAMS | {"page_script"}  # whether those of a page are run
    if plain in INPUTS["outcome"] and (_is_filename(definition.get("default")) or "file" in list_values(definition)):
        flags.add("file")
    if own and plain.endswith(_PLACES) and _is_for_saving(definition.get("description")):
        flags.add("file")
    if own and "file" not in flags and _leads_to_file(definition.get("description")):
        flags.add("file")
    if switched and is_switch(definition):
        flags |= switched if own else switched & {"backup"}
    if ends and own:
        flags.update(_ends(definition))
    return flags


@lru_cache(maxsize=65536)
def _meaning(name: str) -> _Meaning:
    plain = _plain(name)
    flags = set(_FLAGS.get(plain, ()))
    if plain.endswith(_ADDRESS):
        flags.add("address")
    if plain.startswith(_OUTWARD) and plain.endswith(_FILED):
        flags.add("file")
    if plain in _FELLED or (plain.startswith("delete_") and plain.endswith(("_id", "_ids"))):
        flags.add("felled")
    if plain in _EXPELLED:
        flags.add("felled")
    if plain.startswith(("sql_st", "sql_quer", "sql_text")) or plain.endswith("_sql"):
        flags.add("sql")
    return _Meaning(
        plain, frozenset(flags), frozenset(_switched(plain)), plain.rpartition("_")[2] in _STATE, _role(plain)
    )


def _plain(name: str) -> str:
    """`dryRun`, `dry-run` and `DryRun` are all `dry_run`."""
    return "_".join(split_name(name[:64])) or name[:64].lower()


def _switched(plain: str) -> Iterator[str]:
    """What a parameter of this name means as a switch."""
    yield from (
        flag
        for flag in ("doing", "mend", "traced", "fate", "pressing", "backup", "truncating")
        if plain in INPUTS[flag]
    )
    if plain in {"destroy", "is_destroy"}:
        yield "felled"
    if plain in INPUTS["overwriting"]:
        yield "overwriting"
    first, _, rest = plain.partition("_")
    if plain in INPUTS["felling"] or first in INPUTS["felling_first"] or _is_after(plain):
        yield "felling"
    if first in _AFTERWARDS and rest.partition("_")[0] in _LOST_AFTERWARDS:
        yield "felling"
    if (
        first in {"create", "toggle"}
        or (first == "trigger" and rest != "only")
        or (first == "confirm" and VERBS.get(rest) in MIXED)
        or plain.startswith("apply_to_")
        or (first in _KEEPING and rest.startswith(("in_", "to_")))
        or (first == "download" and rest in _FETCHED)
        or (first in _AFTERWARDS and rest.partition("_")[0] in INPUTS["followed_by"])
    ):
        yield "mend"
    trivial = not NOUNS["trivial"].isdisjoint(rest.split("_")) or rest == "markers" or rest in _LATER
    empties = (first in INPUTS["emptying"] and not trivial) or plain in INPUTS["resetting"]
    if empties or (first == "remove" and rest in INPUTS["unlisted"]):
        yield "emptying"


def _is_after(plain: str) -> bool:
    """`reset_after_read`, `reset_to_default`, `delete_after_read`."""
    return plain.startswith(("reset_after_", "reset_to_")) or plain.endswith("_after_read")


def _role(plain: str) -> str | None:
    """What a parameter of this name chooses: `action` an operation, and so do `taskAction` and `operation_type`."""
    last = plain.rpartition("_")[2]
    if plain in _CHOOSING or last in _OPERATION or plain in _TYPED:
        return "operation"
    if plain in _METHOD:
        return "method"
    return "manner" if last in _MANNER else None


def _is_for_saving(said: Any) -> bool:
    """Whether a place is said to be where the result goes: `Path to save the snapshot to`."""
    return isinstance(said, str) and _SAVING.search(said[:120].lower()) is not None


def _leads_to_file(said: Any) -> bool:
    """Whether it is said that something is written to a file: `'json_file' writes to file`."""
    told = isinstance(said, str) and ("file" in said or "disk" in said) and " to " in said
    return told and _TO_FILE.search(said[:400].lower()) is not None


def _is_filename(value: Any) -> bool:
    return isinstance(value, str) and _FILENAME.fullmatch(value) is not None


def _grave(choice: Choice) -> bool:
    return choice.verb in DEEDS["strong"] or choice.verb == "clear"


def _ends(definition: Mapping[str, Any]) -> Iterator[str]:
    """The ends among the states a parameter offers: gone, halted, called off."""
    values = list_values(definition)
    said = definition.get("description")
    if not values and isinstance(said, str):
        listed = _CAPITALS.findall(said[:200])
        values = listed if len(listed) > 1 else []
    states = {_plain(value) for value in values}
    for flag, ends in (("fate", NOUNS["gone"]), ("called_off", NOUNS["called_off"])):
        if states & ends:
            yield flag


def _choices(values: list[str], parameter: str, *, listed: bool) -> Iterator[Choice]:
    """The operations among the values; a mode of a read is none, and to remove a label loses nothing."""
    little = not NOUNS["trivial"].isdisjoint(parameter.split("_"))
    for value in values:
        reading = read_name(value[:64])
        if reading.verb is None or reading.kind == "noun" or (little and reading.verb in DEEDS["sparing"]):
            continue
        certain = len(reading.words) == 1 or reading.verb not in NOUN_TOO
        stated = parameter != "mode" and (listed or parameter not in _LOOSE)
        yield Choice(reading.verb, reading.kind, certain and stated)


def _values(definition: Mapping[str, Any], name: str, text: str, root: Any) -> list[str]:
    values = list_values(definition) or list_steps(definition, root)
    said = definition.get("description")
    if said is None and not values:
        said = _told_of(name, text)
    if values or not isinstance(said, str) or "filter" in said.lower():
        return values
    return [next(filter(None, groups)) for groups in _LISTED.findall(said[:500])]


def _list_acts(text: str, parameter: str) -> list[Choice]:
    """The acts among operations that the description of a tool lists, one to a line: `erase — entity_id`."""
    dashed = parameter in _OPERATION and ("\u2014" in text or "\u2013" in text)
    lined = _LINED.findall(text[:_LONGEST]) if dashed else []
    acts = [choice for choice in _choices(lined, parameter, listed=True) if choice.kind not in READING]
    return acts if len(lined) > 1 else []


def _told_of(name: str, text: str) -> str | None:
    """What the description of a tool says of a parameter, one to a line: `action: What to do (move, delete)`."""
    if name not in text:
        return None
    match = re.search(rf"^[ \t*-]*`?{re.escape(name)}`?(?: \([^)\n]*\))?:(.+)", text[:_LONGEST], re.MULTILINE)
    return match.group(1) if match else None


def _is_http(definition: Mapping[str, Any]) -> bool:
    text = definition.get("description")
    described = text if isinstance(text, str) else ""
    values = list_values(definition)
    return any(method in (values or described) for method in _HTTP_WRITES)
