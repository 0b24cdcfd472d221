"""Finds member names that differ only in case from the names that a reader expects.

Some JSON readers ignore case, such as Go's `encoding/json`: they accept `Amount` as `amount`. Nothing was checked
under that other name, so a call that uses it is refused. See ADR 0049.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from assent.contract.pointers import MISSING, local_target

# Keywords whose schemas describe the same value, a member of it, or an item of it.
_SAME = ("$ref", "$dynamicRef", "$recursiveRef", "if", "then", "else", "not")
_SAME_LISTS = ("allOf", "anyOf", "oneOf")
_SAME_NAMED = ("dependentSchemas", "dependencies")
_OTHER_MEMBERS = ("additionalProperties", "unevaluatedProperties")
_ITEMS = ("items", "additionalItems", "unevaluatedItems", "contains")
_ITEM_LISTS = ("prefixItems", "items")
_ANCHORS = ("$anchor", "$dynamicAnchor")
_CONTAINERS = (dict, list)


def fold(name: str) -> str:
    """The form that all spellings of a name share for a reader that ignores case.

    Besides ASCII letters, readers take `ſ`, `K` (Kelvin), `ı` and `İ` for s, k and i.
    """
    return name.lower() if name.isascii() else name.upper().casefold().replace("i\u0307", "i")


class Misspelt(NamedTuple):
    """A member whose name differs only in case from a name of the schema."""

    pointer: str
    name: str
    meant: str
    both: bool
    """Whether the member under the schema's name is present too; then readers disagree about the value."""


class Spelling:
    """The member names that the schemas of one tool use, by position."""

    def __init__(self, schemas: Iterable[Any], names: Iterable[str] = ()) -> None:
        roots = [_Root(schema) for schema in schemas if isinstance(schema, Mapping)]
        self._place = _Place([(root, root.schema) for root in roots], {}, names)

    def find(self, arguments: Mapping[str, Any]) -> Iterator[Misspelt]:
        """Every misspelt member of the arguments, one by one."""
        return iter(()) if self._place.is_right(arguments) else self._place.find(arguments, "")


class _Root:
    """A schema document and the parts that references point to."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema
        self._anchors: dict[str, Any] | None = None

    def resolve(self, reference: Any) -> Any:
        """The target of a local reference; None for any other reference, which is never fetched."""
        target = local_target(reference, self.schema)
        if target is not MISSING:
            return target
        if self._anchors is None:
            self._anchors = {f"#{name}": part for name, part in _find_anchors(self.schema)}
        return self._anchors.get(reference) if isinstance(reference, str) else None


_Part = tuple[_Root, Mapping[str, Any]]
_Places = dict[frozenset[int], "_Place"]
MOST_PLACES = 10_000
"""How many places of one tool are kept; a schema that refers to itself has few, however deep its values are."""


class _Place:
    """One position in the arguments: the names known there, and the positions below it, created on first use.

    Places that the same schemas describe are one place, so that a caller cannot make ever more of them.
    """

    __slots__ = ("_below", "_folded", "_parts", "_places", "is_open", "names")

    def __init__(self, parts: Sequence[_Part], places: _Places, names: Iterable[str] = ()) -> None:
        self._places = places
        self._parts = _closure(parts)
        self.names = frozenset(names).union(*(_mapping_of(part, "properties") for _, part in self._parts))
        self._folded = {fold(name): name for name in self.names}
        self._below: dict[str | None, _Place] = {}
        """The places of members by name, "" for all unknown ones; None is the place of items."""
        self.is_open = not self.names and not any(_describes_more(part) for _, part in self._parts)
        """Whether no schema names anything here or below."""

    def is_right(self, value: Any) -> bool:
        """Whether a quick look shows that nothing here or below is misspelt, as nearly always."""
        if value.__class__ is dict:
            if not self.names >= value.keys() and any(self._misspelt(value, "")):
                return False
            for name, below in value.items():
                if isinstance(below, _CONTAINERS):
                    place = self._below.get(name if name in self.names else "") or self._member(name)
                    if not (place.is_open or place.is_right(below)):
                        return False
            return True
        if value.__class__ is list:
            place = self._item()
            return place.is_open or all(place.is_right(below) for below in value if isinstance(below, _CONTAINERS))
        return False

    def find(self, value: Any, pointer: str) -> Iterator[Misspelt]:
        if isinstance(value, dict):
            if not self.names >= value.keys():
                yield from self._misspelt(value, pointer)
            for name, below in value.items():
                if isinstance(below, _CONTAINERS) and not (place := self._member(name)).is_open:
                    yield from place.find(below, f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}")
        elif isinstance(value, list) and not (place := self._item()).is_open:
            for index, below in enumerate(value):
                if isinstance(below, _CONTAINERS):
                    yield from place.find(below, f"{pointer}/{index}")

    def _misspelt(self, value: Mapping[str, Any], pointer: str) -> Iterator[Misspelt]:
        for name in value.keys() - self.names:
            if (meant := self._folded.get(fold(name))) is not None:
                yield Misspelt(pointer, name, meant, meant in value)

    def _member(self, name: str) -> _Place:
        known = name if name in self.names else ""  # All unknown members share one position.
        if (place := self._below.get(known)) is None:
            place = self._keep(known, [*self._member_parts(known)])
        return place

    def _member_parts(self, name: str) -> Iterator[_Part]:
        for root, part in self._parts:
            if name in _mapping_of(part, "properties"):
                yield from _schemas(root, [part["properties"][name]])
            else:
                yield from _schemas(root, [part.get(keyword) for keyword in _OTHER_MEMBERS])
                yield from _schemas(root, _mapping_of(part, "patternProperties").values())

    def _item(self) -> _Place:
        if (place := self._below.get(None)) is None:
            place = self._keep(None, [*self._item_parts()])
        return place

    def _keep(self, key: str | None, parts: list[_Part]) -> _Place:
        """The place that these schemas describe, kept for the next call."""
        same = frozenset(id(part) for _, part in parts)
        place = self._places.get(same) or _Place(parts, self._places)
        if len(self._places) < MOST_PLACES:
            self._places[same] = self._below[key] = place
        return place

    def _item_parts(self) -> Iterator[_Part]:
        for root, part in self._parts:
            yield from _schemas(root, [part.get(keyword) for keyword in _ITEMS])
            for keyword in _ITEM_LISTS:
                yield from _schemas(root, _list_of(part, keyword))


def _closure(parts: Sequence[_Part]) -> list[_Part]:
    """The given schemas and all that describe the same value, each once, because references may be circular."""
    found: dict[int, _Part] = {}
    waiting = list(parts)
    while waiting:
        root, part = waiting.pop()
        if id(part) not in found:
            found[id(part)] = (root, part)
            waiting += _same_value(root, part)
    return list(found.values())


def _same_value(root: _Root, part: Mapping[str, Any]) -> Iterator[_Part]:
    for keyword in _SAME:
        value = part.get(keyword)
        yield from _schemas(root, [root.resolve(value) if keyword.startswith("$") else value])
    for keyword in _SAME_LISTS:
        yield from _schemas(root, _list_of(part, keyword))
    for keyword in _SAME_NAMED:
        yield from _schemas(root, _mapping_of(part, keyword).values())


def _schemas(root: _Root, values: Iterable[Any]) -> Iterator[_Part]:
    return ((root, value) for value in values if isinstance(value, Mapping))


def _describes_more(part: Mapping[str, Any]) -> bool:
    """Whether a schema describes anything inside the value."""
    keywords = ("properties", "patternProperties", *_OTHER_MEMBERS, *_ITEMS, *_ITEM_LISTS)
    return any(isinstance(part.get(keyword), Mapping | list) for keyword in keywords)


def _mapping_of(part: Mapping[str, Any], keyword: str) -> Mapping[str, Any]:
    value = part.get(keyword)
    return value if isinstance(value, Mapping) else {}


def _list_of(part: Mapping[str, Any], keyword: str) -> list[Any]:
    value = part.get(keyword)
    return value if isinstance(value, list) else []


def _find_anchors(schema: Any) -> Iterator[tuple[str, Any]]:
    """Every part of a schema that has an anchor, with its name."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            yield from ((part[keyword], part) for keyword in _ANCHORS if isinstance(part.get(keyword), str))
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
