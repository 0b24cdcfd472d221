"""Reads from a tool's parameters what they tell about its effect."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from assent.contract.infer.features.name import read_name
from assent.contract.infer.features.schema import is_short, is_switch, list_steps, list_values, read_properties
from assent.contract.infer.features.words import split_name, word_set
from assent.contract.infer.lexicon import INPUTS, MIXED, NOUN_TOO, NOUNS, READING, VERB_GROUPS, VERBS

_OPERATION: Final = word_set("action actions operation operations op command subcommand verb")
_CHOOSING: Final = _OPERATION | {"method", "mode", "task"}
_LOOSE: Final = _CHOOSING - _OPERATION
# Parameters that choose how something is done. They count as operations only if one value loses data.
_MANNER: Final = word_set("mode strategy disposition behavior behaviour exists conflict")
_STATE: Final = frozenset({"status", "state", "lifecycle"})
_AFTERWARDS: Final = frozenset({"auto", "force", "then"})
_KEEPING: Final = frozenset({"persist", "save", "store"})
# Content that is downloaded as part of the call.
_FETCHED: Final = word_set("assets attachments files images media pdf pdfs photos videos")
_LOST_AFTERWARDS: Final = VERB_GROUPS["certain_losses"] | {"archive", "clear", "disable", "prune", "remove"}
# Deletes later, and only what was made for one use: `delete_after_run`.
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
_EXPELLED: Final = word_set("ban_members ban_users remove_admins remove_members remove_participants remove_users")
_ADDRESS: Final = ("_url", "_uri", "_endpoint")
_PROGRAMS: Final = frozenset({"code", "command", "sql"})
# Names that matter only as booleans: `fix` as a switch, but not the text of a fix.
_SWITCHES: Final = word_set(
    """
    extra_action ends_found ends_found_first follow_up_action output_name resetting truncating keeps_or_fixes
    emptying marks_read removable allows_overwrite may_delete
    """
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
    """An operation that a parameter offers; uncertain if its verb can be a noun, as in `merge_requests`.

    `deep` is an operation inside another parameter, such as a step of a list or a field of a filter.
    """

    verb: str
    kind: str
    certain: bool
    deep: bool = False


class Parameters(NamedTuple):
    """Parameter names in snake case, the flags they raise, and the operations they offer."""

    names: frozenset[str]
    flags: frozenset[str]
    choices: tuple[Choice, ...]
    only_reads: bool


class _Meaning(NamedTuple):
    """Meaning of a parameter name: snake-case form, and the flags it raises always, as a boolean, or by its values."""

    plain: str
    flags: frozenset[str]
    switched: frozenset[str]
    ends: bool
    role: str | None


def read_parameters(schema: Any, text: str = "") -> Parameters:
    """Read an input schema with one level of nested objects; `text` is the tool's description."""
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
            choices += offered or _listed_operations(text, plain)
            described, outer = plain in _OPERATION and 2 * len(offered) >= len(values) > 0, place < len(own)
            only_reads |= described and (outer or not chosen)
            chosen |= outer
        if below_it and (place >= len(own) or list_steps(definition, schema)):
            choices[before:] = [choice._replace(deep=True) for choice in choices[before:]]
    if "method" in names and names & {"body", "data", "payload"} and names & {"endpoint", "path", "url"}:
        flags.add("http")
    if flags & {"query", "sql"} and "SELECT" in text:
        choices = [
            choice for choice in choices if choice.verb != "select"
        ]  # `select` is a keyword of the query language
    if any(choice.verb == "multiply" for choice in choices) and _WORKED_OUT.search(text):
        choices = [choice for choice in choices if choice.verb != "add"]
    only_reads = (
        only_reads and all(choice.kind in READING for choice in choices) and any(choice.certain for choice in choices)
    )
    return Parameters(frozenset(names), frozenset(flags), tuple(choices), only_reads)


def _flags(meaning: _Meaning, definition: Mapping[str, Any], *, own: bool) -> set[str]:
    """Return the flags of a parameter; a nested parameter raises fewer."""
    plain, meant, switched, ends, _ = meaning
    flags = set(meant)
    if flags & _PROGRAMS and is_short(definition):
        flags -= _PROGRAMS
    if definition.get("type") in ("integer", "number"):
        flags.discard("code")
    if definition.get("type") == "boolean":
        flags -= _PROGRAMS | {"page_script"}  # only decides whether the page's own scripts run
    if plain in INPUTS["output_name"] and (
        _is_filename(definition.get("default")) or "file" in list_values(definition)
    ):
        flags.add("file")
    if own and plain.endswith(_PLACES) and _is_for_saving(definition.get("description")):
        flags.add("file")
    if own and "file" not in flags and _mentions_file_output(definition.get("description")):
        flags.add("file")
    if own and switched and is_switch(definition):
        flags |= switched
    if ends and own:
        flags |= _end_states(definition)
    return flags


@lru_cache(maxsize=65536)
def _meaning(name: str) -> _Meaning:
    plain = _snake_case(name)
    flags = set(_FLAGS.get(plain, ()))
    if plain.endswith(_ADDRESS):
        flags.add("address")
    if plain.startswith(_OUTWARD) and plain.endswith(_FILED):
        flags.add("file")
    if plain in _FELLED or (plain.startswith("delete_") and plain.endswith(("_id", "_ids"))):
        flags.add("deleted_items")
    if plain in _EXPELLED:
        flags.add("deleted_items")
    if plain.startswith(("sql_st", "sql_quer", "sql_text")) or plain.endswith("_sql"):
        flags.add("sql")
    return _Meaning(
        plain,
        frozenset(flags),
        frozenset(_switch_meanings(plain)),
        plain.rpartition("_")[2] in _STATE,
        _choice_role(plain),
    )


def _snake_case(name: str) -> str:
    """Convert `dryRun`, `dry-run` and `DryRun` to `dry_run`."""
    return "_".join(split_name(name[:64])) or name[:64].lower()


def _switch_meanings(plain: str) -> Iterator[str]:
    """Yield the flags of a name that is a boolean."""
    yield from (
        flag
        for flag in ("extra_action", "keeps_or_fixes", "marks_read", "may_delete", "truncating")
        if plain in INPUTS[flag]
    )
    if plain in {"destroy", "is_destroy"}:
        yield "deleted_items"
    if plain in INPUTS["allows_overwrite"]:
        yield "allows_overwrite"
    first, _, rest = plain.partition("_")
    if plain in INPUTS["ends_found"] or first in INPUTS["ends_found_first"] or _is_after(plain):
        yield "ends_found"
    if first in _AFTERWARDS and rest.partition("_")[0] in _LOST_AFTERWARDS:
        yield "ends_found"
    if (
        first in {"create", "toggle"}
        or (first == "trigger" and rest != "only")
        or (first == "confirm" and VERBS.get(rest) in MIXED)
        or plain.startswith("apply_to_")
        or (first in _KEEPING and rest.startswith(("in_", "to_")))
        or (first == "download" and rest in _FETCHED)
        or (first in _AFTERWARDS and rest.partition("_")[0] in INPUTS["follow_up_action"])
    ):
        yield "keeps_or_fixes"
    trivial = not NOUNS["trivial"].isdisjoint(rest.split("_")) or rest == "markers" or rest in _LATER
    empties = (first in INPUTS["emptying"] and not trivial) or plain in INPUTS["resetting"]
    if empties or (first == "remove" and rest in INPUTS["removable"]):
        yield "emptying"


def _is_after(plain: str) -> bool:
    """Whether the name says when or to what: `reset_after_read`, `reset_to_default`."""
    return plain.startswith(("reset_after_", "reset_to_")) or plain.endswith("_after_read")


def _choice_role(plain: str) -> str | None:
    """Return what a name chooses: `action`, `taskAction` and `operation_type` choose an operation."""
    last = plain.rpartition("_")[2]
    if plain in _CHOOSING or last in _OPERATION or plain in _TYPED:
        return "operation"
    if plain in _METHOD:
        return "method"
    return "manner" if last in _MANNER else None


def _is_for_saving(described: Any) -> bool:
    """Whether the description says that the path is for the result: `Path to save the snapshot to`."""
    return isinstance(described, str) and _SAVING.search(described[:120].lower()) is not None


def _mentions_file_output(described: Any) -> bool:
    """Whether the description says that a file is written: `'json_file' writes to file`."""
    told = isinstance(described, str) and ("file" in described or "disk" in described) and " to " in described
    return told and _TO_FILE.search(described[:400].lower()) is not None


def _is_filename(value: Any) -> bool:
    return isinstance(value, str) and _FILENAME.fullmatch(value) is not None


def _grave(choice: Choice) -> bool:
    return choice.verb in VERB_GROUPS["certain_losses"] or choice.verb == "clear"


def _end_states(definition: Mapping[str, Any]) -> set[str]:
    """Return the flag of a parameter that offers an end state: deleted, stopped."""
    values = list_values(definition)
    described = definition.get("description")
    if not values and isinstance(described, str):
        listed = _CAPITALS.findall(described[:200])
        values = listed if len(listed) > 1 else []
    return {"may_delete"} if any(_snake_case(value) in NOUNS["ended_state"] for value in values) else set()


def _choices(values: list[str], parameter: str, *, listed: bool) -> Iterator[Choice]:
    """Yield the operations among the values; reading modes and removing a label are left out."""
    little = not NOUNS["trivial"].isdisjoint(parameter.split("_"))
    for value in values:
        reading = read_name(value[:64])
        if (
            reading.verb is None
            or reading.kind == "noun"
            or (little and reading.verb in VERB_GROUPS["clear_or_remove"])
        ):
            continue
        certain = len(reading.words) == 1 or reading.verb not in NOUN_TOO
        stated = parameter != "mode" and (listed or parameter not in _LOOSE)
        yield Choice(reading.verb, reading.kind, certain and stated)


def _values(definition: Mapping[str, Any], name: str, text: str, root: Any) -> list[str]:
    values = list_values(definition) or list_steps(definition, root)
    described = definition.get("description")
    if described is None and not values:
        described = _parameter_line(name, text)
    if values or not isinstance(described, str) or "filter" in described.lower():
        return values
    return [next(filter(None, groups)) for groups in _LISTED.findall(described[:500])]


def _listed_operations(text: str, parameter: str) -> list[Choice]:
    """Return the operations that the tool's description lists, one per line: `erase — entity_id`."""
    dashed = parameter in _OPERATION and ("\u2014" in text or "\u2013" in text)
    lined = _LINED.findall(text[:_LONGEST]) if dashed else []
    acts = [choice for choice in _choices(lined, parameter, listed=True) if choice.kind not in READING]
    return acts if len(lined) > 1 else []


def _parameter_line(name: str, text: str) -> str | None:
    """Return the line of the tool's description about a parameter: `action: What to do (move, delete)`."""
    if name not in text:
        return None
    match = re.search(rf"^[ \t*-]*`?{re.escape(name)}`?(?: \([^)\n]*\))?:(.+)", text[:_LONGEST], re.MULTILINE)
    return match.group(1) if match else None


def _is_http(definition: Mapping[str, Any]) -> bool:
    text = definition.get("description")
    described = text if isinstance(text, str) else ""
    values = list_values(definition)
    return any(method in (values or described) for method in _HTTP_WRITES)
