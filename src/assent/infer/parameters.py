"""What do a tool's parameters give away about its effect?"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from assent.infer.lexicon import INPUTS, NOUN_TOO, READING
from assent.infer.naming import read_name
from assent.infer.words import split_name

_OPERATION: Final = frozenset({"action", "actions", "operation", "operations", "op", "command", "subcommand", "verb"})
_CHOOSING: Final = _OPERATION | {"method", "mode", "task"}
_METHOD: Final = frozenset({"http_method", "request_method"})
_ADDRESS: Final = ("_url", "_uri", "_endpoint")
# They mean something only as a switch: `fix`, but not the text of a fix; `clear_values`, but not what to clear.
_SWITCHES: Final = frozenset({"mend", "emptying"})
_LISTED = re.compile(
    r"['\"`]([a-z][a-z_-]+)['\"`]"
    r"|\b([a-z]+(?:[-_][a-z]+)+)\b"
    r"|(?:[:,]|\bor|\band|/|\|)\s*([a-z]+)(?=\s*(?:,|\.|;|\||/|:|\(|$|\bor\b|\band\b))"
)
_FLAGS: Final = {
    name: tuple(flag for flag, members in INPUTS.items() if name in members) for name in set().union(*INPUTS.values())
}
_HTTP_WRITES: Final = ("POST", "PUT", "PATCH", "DELETE")
_DEEPEST: Final = 4


@dataclass(frozen=True, slots=True)
class Choice:
    """An operation a parameter offers; uncertain where its verb could be a thing, as in `merge_requests`."""

    verb: str
    kind: str
    certain: bool


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameter names in plain form, what they amount to, and the operations they choose between."""

    names: frozenset[str]
    flags: frozenset[str]
    choices: tuple[Choice, ...]
    only_reads: bool


def read_parameters(schema: Any) -> Parameters:
    """Read an input schema, one level of nested objects included."""
    found = list(_properties(schema, 0))
    names = frozenset([_plain(name) for name, _ in found])
    flags = {flag for name in names if name in _FLAGS for flag in _FLAGS[name]} - _SWITCHES
    flags |= {
        flag for name, definition in _top(schema) if definition.get("type") == "boolean" for flag in _switched(name)
    }
    if any(name.endswith(_ADDRESS) for name in names):
        flags.add("address")
    choices: list[Choice] = []
    only_reads = False
    for name, definition in found:
        if _plain(name) in _METHOD and _is_http(definition):
            flags.add("http")
        if name.lower() not in _CHOOSING:
            continue
        if _is_http(definition):
            flags.add("http")
            continue
        values = _values(definition)
        offered = list(_choices(values))
        choices += offered
        only_reads |= name.lower() in _OPERATION and 2 * len(offered) >= len(values) > 0
    only_reads = only_reads and all(choice.kind in READING for choice in choices)
    return Parameters(names, frozenset(flags), tuple(choices), only_reads)


@lru_cache(maxsize=65536)
def _plain(name: str) -> str:
    """`dryRun`, `dry-run` and `DryRun` are all `dry_run`."""
    return "_".join(split_name(name[:64])) or name[:64].lower()


def _switched(name: str) -> Iterator[str]:
    plain = _plain(name)
    if plain in INPUTS["mend"]:
        yield "mend"
    if plain.partition("_")[0] in INPUTS["emptying"]:
        yield "emptying"


def _top(schema: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    return _properties(schema, _DEEPEST)


def _properties(schema: Any, depth: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return
    for name, definition in properties.items():
        if isinstance(name, str):
            plain = definition if isinstance(definition, dict) else {}
            yield name, plain
            if depth == 0 and "properties" in plain:
                yield from _properties(plain, depth + 1)


def _choices(values: list[str]) -> Iterator[Choice]:
    for value in values:
        reading = read_name(value[:64])
        if reading.verb is not None and reading.kind != "noun":
            yield Choice(reading.verb, reading.kind, len(reading.words) == 1 or reading.verb not in NOUN_TOO)


def _values(definition: Mapping[str, Any]) -> list[str]:
    values = _enumerated(definition, 0)
    text = definition.get("description")
    if values or not isinstance(text, str) or "filter" in text.lower():
        return values
    return [next(filter(None, groups)) for groups in _LISTED.findall(text[:500])]


def _enumerated(definition: Any, depth: int) -> list[str]:
    """The values an enumeration allows, through unions and lists, no deeper than anybody writes by hand."""
    if not isinstance(definition, dict) or depth > _DEEPEST:
        return []
    constant = definition.get("const")
    values = [constant] if isinstance(constant, str) else []
    values += [value for value in _listed(definition, "enum") if isinstance(value, str)]
    for key in ("anyOf", "oneOf", "allOf"):
        for part in _listed(definition, key):
            values += _enumerated(part, depth + 1)
    return values + _enumerated(definition.get("items"), depth + 1)


def _listed(definition: Mapping[str, Any], key: str) -> list[Any]:
    value = definition.get(key)
    return value if isinstance(value, list) else []


def _is_http(definition: Mapping[str, Any]) -> bool:
    text = definition.get("description")
    described = text if isinstance(text, str) else ""
    values = _enumerated(definition, 0)
    return any(method in values or method in described for method in _HTTP_WRITES)
