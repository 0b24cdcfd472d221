"""Lists the properties and enum values of an input schema, through references and unions."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

Property = tuple[str, Mapping[str, Any]]

_DEEPEST: Final = 4
_SHORT: Final = 32
_UNIONS: Final = ("anyOf", "oneOf", "allOf")
_COMPOSING: Final = frozenset(_UNIONS)
_COMPOSED: Final = frozenset({"properties", "items", *_UNIONS})
_KIND: Final = ("type", "action", "kind", "name")
# Descriptions of things that are identified by a name or a code.
_IDENTIFIED: Final = re.compile(
    r"^(?:the |an? )?(?:\w+ ){0,2}(?:id|identifier|uuid|slug)\b(?!,? (?:of|and) \w+ code)", re.IGNORECASE
)
_NOTHING: Final[Mapping[str, Any]] = {}


def read_properties(schema: Any) -> tuple[list[Property], list[Property]]:
    """Return the schema's own properties, and those one level deeper in objects, lists and alternatives."""
    own = _properties(schema, schema, 0)
    composed = [definition for _, definition in own if not _COMPOSED.isdisjoint(definition)]
    return own, [
        found for one in composed for part in _nested_objects(one, schema) for found in _own_properties(part, schema)
    ]


def list_values(definition: Any, depth: int = 0) -> list[str]:
    """Return the enum values, through unions and lists, up to a fixed depth."""
    if not isinstance(definition, dict) or depth > _DEEPEST:
        return []
    constant = definition.get("const")
    values = [constant] if isinstance(constant, str) else []
    values += [value for value in _list_at(definition, "enum") if isinstance(value, str)]
    for key in _UNIONS:
        for part in _list_at(definition, key):
            values += list_values(part, depth + 1)
    return values + list_values(definition.get("items"), depth + 1)


def list_steps(definition: Mapping[str, Any], root: Any) -> list[str]:
    """Return the kinds of objects that are allowed, alone or in a list: `actions: [{type: click}, {type: wait}]`."""
    parts = [*_alternatives(definition, root, 0), *_alternatives(definition.get("items"), root, 0)]
    steps = [part for part in parts if isinstance(part.get("properties"), dict)]
    kinds = [step["properties"].get(key) for step in steps for key in _KIND]
    return [value for kind in kinds for value in list_values(kind)]


def is_switch(definition: Mapping[str, Any]) -> bool:
    """Whether the parameter is a boolean, optional or not."""
    kind = definition.get("type")
    if kind is None:
        return any(isinstance(part, dict) and part.get("type") == "boolean" for part in _list_at(definition, "anyOf"))
    return kind == "boolean" or (isinstance(kind, list) and "boolean" in kind)


def is_short(definition: Mapping[str, Any]) -> bool:
    """Whether the value is too short for a program: a country code, an enum, the id of a script."""
    longest, said = definition.get("maxLength"), definition.get("description")
    if (isinstance(longest, int) and longest <= _SHORT) or "enum" in definition:
        return True
    return isinstance(said, str) and _IDENTIFIED.search(said[:80]) is not None


def _alternatives(definition: Any, root: Any, depth: int) -> Iterator[Mapping[str, Any]]:
    if isinstance(definition, dict) and depth < _DEEPEST:
        one = _resolve(definition, root)
        yield one
        for key in _UNIONS:
            for part in _list_at(one, key):
                yield from _alternatives(part, root, depth + 1)


def _properties(schema: Any, root: Any, depth: int) -> list[Property]:
    """Return a schema's properties with those of its alternatives."""
    found = _own_properties(schema, root)
    if isinstance(schema, dict) and depth < _DEEPEST and not _COMPOSING.isdisjoint(schema):
        for key in _UNIONS:
            for part in _list_at(schema, key):
                found += _properties(_resolve(part, root), root, depth + 1)
    return found


def _own_properties(schema: Any, root: Any) -> list[Property]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return []
    return [
        (name, definition if _is_plain(definition) else _resolve(definition, root))
        for name, definition in properties.items()
        if isinstance(name, str)
    ]


def _nested_objects(definition: Mapping[str, Any], root: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the object of a property, of its list items, or of its alternatives."""
    yield definition
    if "items" in definition:
        yield _resolve(definition["items"], root)
    for key in _UNIONS:
        if key in definition:
            for part in _list_at(definition, key):
                yield _resolve(part, root)


def _is_plain(definition: Any) -> bool:
    return isinstance(definition, dict) and "$ref" not in definition and "allOf" not in definition


def _resolve(definition: Any, root: Any) -> Mapping[str, Any]:
    """Follow a local reference; a remote one returns an empty mapping."""
    if not isinstance(definition, dict):
        return _NOTHING
    reference = definition.get("$ref")
    if reference is None and "allOf" in definition:
        parts = _list_at(definition, "allOf")
        reference = parts[0].get("$ref") if len(parts) == 1 and isinstance(parts[0], dict) else None
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return definition
    found = root
    for key in reference[2:].split("/")[:_DEEPEST]:
        found = found.get(key) if isinstance(found, dict) else None
    return {**found, **definition} if isinstance(found, dict) else definition


def _list_at(definition: Mapping[str, Any], key: str) -> list[Any]:
    value = definition.get(key)
    return value if isinstance(value, list) else []
