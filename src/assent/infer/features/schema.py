"""Which properties does an input schema have, and which values does it list, through references and unions?"""

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
# The description of something that is found by its name.
_IDENTIFIED: Final = re.compile(
    r"^(?:the |an? )?(?:\w+ ){0,2}(?:id|identifier|uuid|slug)\b(?!,? (?:of|and) \w+ code)", re.IGNORECASE
)
_NOTHING: Final[Mapping[str, Any]] = {}


def read_properties(schema: Any) -> tuple[list[Property], list[Property]]:
    """The schema's own properties, and those one level further down: in objects, lists and alternatives."""
    own = _properties(schema, schema, 0)
    composed = [definition for _, definition in own if not _COMPOSED.isdisjoint(definition)]
    return own, [found for one in composed for part in _parts(one, schema) for found in _own(part, schema)]


def list_values(definition: Any, depth: int = 0) -> list[str]:
    """The values an enumeration allows, through unions and lists, no deeper than anybody writes by hand."""
    if not isinstance(definition, dict) or depth > _DEEPEST:
        return []
    constant = definition.get("const")
    values = [constant] if isinstance(constant, str) else []
    values += [value for value in _listed(definition, "enum") if isinstance(value, str)]
    for key in _UNIONS:
        for part in _listed(definition, key):
            values += list_values(part, depth + 1)
    return values + list_values(definition.get("items"), depth + 1)


def list_steps(definition: Mapping[str, Any], root: Any) -> list[str]:
    """The kinds of objects that are allowed, one or in a list: `actions: [{type: click}, {type: wait}]`."""
    parts = [*_alternatives(definition, root, 0), *_alternatives(definition.get("items"), root, 0)]
    steps = [part for part in parts if isinstance(part.get("properties"), dict)]
    kinds = [step["properties"].get(key) for step in steps for key in _KIND]
    return [value for kind in kinds for value in list_values(kind)]


def is_switch(definition: Mapping[str, Any]) -> bool:
    """Whether it is yes or no, be it that it may be left open."""
    kind = definition.get("type")
    if kind is None:
        return any(isinstance(part, dict) and part.get("type") == "boolean" for part in _listed(definition, "anyOf"))
    return kind == "boolean" or (isinstance(kind, list) and "boolean" in kind)


def is_short(definition: Mapping[str, Any]) -> bool:
    """Whether it is no program: the code of a country, one of a few words, the id of a script."""
    longest, said = definition.get("maxLength"), definition.get("description")
    if (isinstance(longest, int) and longest <= _SHORT) or "enum" in definition:
        return True
    return isinstance(said, str) and _IDENTIFIED.search(said[:80]) is not None


def _alternatives(definition: Any, root: Any, depth: int) -> Iterator[Mapping[str, Any]]:
    if isinstance(definition, dict) and depth < _DEEPEST:
        one = _resolve(definition, root)
        yield one
        for key in _UNIONS:
            for part in _listed(one, key):
                yield from _alternatives(part, root, depth + 1)


def _properties(schema: Any, root: Any, depth: int) -> list[Property]:
    """A schema's properties, and those of the alternatives it is a union of."""
    found = _own(schema, root)
    if isinstance(schema, dict) and depth < _DEEPEST and not _COMPOSING.isdisjoint(schema):
        for key in _UNIONS:
            for part in _listed(schema, key):
                found += _properties(_resolve(part, root), root, depth + 1)
    return found


def _own(schema: Any, root: Any) -> list[Property]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return []
    return [
        (name, definition if _is_plain(definition) else _resolve(definition, root))
        for name, definition in properties.items()
        if isinstance(name, str)
    ]


def _parts(definition: Mapping[str, Any], root: Any) -> Iterator[Mapping[str, Any]]:
    """The object a property is, or a list of, or an alternative of."""
    yield definition
    if "items" in definition:
        yield _resolve(definition["items"], root)
    for key in _UNIONS:
        if key in definition:
            for part in _listed(definition, key):
                yield _resolve(part, root)


def _is_plain(definition: Any) -> bool:
    return isinstance(definition, dict) and "$ref" not in definition and "allOf" not in definition


def _resolve(definition: Any, root: Any) -> Mapping[str, Any]:
    """A definition, or the one its local reference points at; a reference elsewhere says nothing."""
    if not isinstance(definition, dict):
        return _NOTHING
    reference = definition.get("$ref")
    if reference is None and "allOf" in definition:
        parts = _listed(definition, "allOf")
        reference = parts[0].get("$ref") if len(parts) == 1 and isinstance(parts[0], dict) else None
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return definition
    found = root
    for key in reference[2:].split("/")[:_DEEPEST]:
        found = found.get(key) if isinstance(found, dict) else None
    return {**found, **definition} if isinstance(found, dict) else definition


def _listed(definition: Mapping[str, Any], key: str) -> list[Any]:
    value = definition.get(key)
    return value if isinstance(value, list) else []
