"""A table of the keys of a JSON Schema: name, type, default and one sentence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from assent.contract.fields import format_duration
from assent.contract.profiles import profile_names

REQUIRED = "required"


class ReferenceKey(NamedTuple):
    """One key of a file."""

    path: str
    type: str
    default: str
    sentence: str

    def row(self) -> str:
        """The row of a Markdown table."""
        default = f"`{self.default}`" if self.default not in ("", REQUIRED) else self.default
        cells = (f"`{self.path}`", self.type, default, self.sentence)
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def keys_table(schema: Mapping[str, Any]) -> str:
    """The keys of an object's schema as a Markdown table, nested ones below theirs."""
    return _table(keys_of(schema, schema.get("$defs", {})))


def keys_sections(schema: Mapping[str, Any], sections: Mapping[str, tuple[str, tuple[str, ...]]]) -> str:
    """The keys in sections, each with a sentence and the keys at the top of the file that belong to it."""
    every = list(keys_of(schema, schema.get("$defs", {})))
    parts = []
    for title, (sentence, tops) in sections.items():
        small = [key for top in tops if len(below := _below(top, every)) <= SMALL for key in below]
        large = [top for top in tops if len(_below(top, every)) > SMALL]
        parts += [f"## {title}", sentence, *([_table(small)] if small else [])]
        parts += [part for top in large for part in _subsections(top, every)]
    return "\n\n".join(parts)


SMALL = 5
"""An object with more keys than these has a table of its own."""


def _below(path: str, every: list[ReferenceKey]) -> list[ReferenceKey]:
    """A key and those below it."""
    return [key for key in every if key.path == path or key.path.startswith((f"{path}.", f"{path}[]"))]


def _subsections(path: str, every: list[ReferenceKey]) -> Iterator[str]:
    """A table for an object with many keys, then one for each large object in it; keys are relative to theirs."""
    own, *rest = _below(path, every)
    prefix = next(start for start in (f"{path}[].", f"{path}.NAME.", f"{path}.") if rest[0].path.startswith(start))
    inner = [key.path for key in rest if "." not in key.path[len(prefix) :]]
    large = [one for one in inner if len(_below(one, every)) > SMALL]
    inline = [key for key in rest if not any(key in _below(one, every) for one in large)]
    yield f"### `{prefix.rstrip('.')}`"
    yield own.sentence
    if inline:
        yield _table(key._replace(path=key.path[len(prefix) :]) for key in inline)
    for one in large:
        yield from _subsections(one, every)


def _table(keys: Iterable[ReferenceKey]) -> str:
    return "\n".join(["| key | type | default | meaning |", "|---|---|---|---|", *(key.row() for key in keys)])


def keys_of(
    schema: Mapping[str, Any], shared: Mapping[str, Any], path: str = "", depth: int = 0
) -> Iterator[ReferenceKey]:
    """Every key below a schema, in the order of its file."""
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        here = f"{path}{name}"
        default = REQUIRED if name in required else _default(field, shared)
        sentence = field.get("description") or _resolved(field, shared).get("description", "")
        yield ReferenceKey(here, _type(field, shared), default, " ".join(sentence.split()))
        suffix, inner = _inner(field, shared)
        if inner is not None and depth < 6:
            yield from keys_of(inner, shared, f"{here}{suffix}.", depth + 1)


def _resolved(field: Mapping[str, Any], shared: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = field.get("$ref")
    return shared[reference.rpartition("/")[2]] if reference else field


def _choices(field: Mapping[str, Any], shared: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The forms that a value may have, without null."""
    options = field.get("anyOf") or field.get("allOf") or [field]
    return [_resolved(one, shared) for one in options if one.get("type") != "null"]


def _inner(field: Mapping[str, Any], shared: Mapping[str, Any]) -> tuple[str, Mapping[str, Any] | None]:
    """The object below a key, and what stands for its name: an entry of a list, or a name."""
    for one in _choices(field, shared):
        if "properties" in one:
            return "", one
        items, named = one.get("items"), _named(one)
        if isinstance(items, Mapping) and "properties" in (inner := _resolved(items, shared)):
            return "[]", inner
        if isinstance(named, Mapping) and "properties" in (inner := _resolved(named, shared)):
            return ".NAME", inner
    return "", None


def _named(schema: Mapping[str, Any]) -> Any:
    patterns = schema.get("patternProperties")
    return next(iter(patterns.values())) if patterns else schema.get("additionalProperties")


def _type(field: Mapping[str, Any], shared: Mapping[str, Any]) -> str:
    return " or ".join(dict.fromkeys(_one_type(one, shared) for one in _choices(field, shared)))


def _one_type(one: Mapping[str, Any], shared: Mapping[str, Any]) -> str:
    if one.get("enum") == profile_names():
        return "[profile](profiles.md)"
    if "enum" in one:
        return ", ".join(f"`{value}`" for value in one["enum"])
    if "const" in one:
        return f"`{one['const']}`"
    if one.get("examples") == ["15m"]:
        return "duration"
    if one.get("type") == "array":
        items = one.get("items")
        return f"list of {_type(items, shared)}" if isinstance(items, Mapping) and items else "list"
    if one.get("type") == "object" or "properties" in one:
        return "keys"
    names = {"string": "text", "boolean": "true or false", "integer": "whole number", "number": "number"}
    kind = one.get("type")
    return names.get(kind, "any value") if isinstance(kind, str) else "any value"


def _default(field: Mapping[str, Any], shared: Mapping[str, Any]) -> str:
    """The default as it would be written; empty if there is none, or if its parts are listed below."""
    default = field.get("default")
    if default is None or isinstance(default, Mapping):
        return ""
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, int) and _type(field, shared) == "duration":
        return format_duration(default)
    return default if isinstance(default, str) else json.dumps(default)
