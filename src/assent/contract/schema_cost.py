"""Bounds the cost of checking a value against a schema.

Because of references and combined schemas (`allOf`, `anyOf`, …), one value is checked many times. This module
unfolds a schema level by level, as a validator would, and counts how many checks one value can need at each depth.

See ADR 0052.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

from assent.contract.patterns import compile_pattern
from assent.contract.pointers import MISSING, follow

MOST_CHECKS = 10_000
"""The maximum number of checks for one value."""
MOST_WORK = 200_000
MOST_DEPTH = 200
"""The validator itself stops at 255."""
LEAST_DEPTH = 8
"""A schema that grows with every level may be used down to the depth at which it reaches the bound, if that is at
least this.
"""
_IN_PLACE = ("allOf", "anyOf", "oneOf")
_IN_PLACE_ONE = ("not", "if", "then", "else")
_META = "json-schema.org/"

State = tuple[tuple[int, int], ...]
"""The schemas that apply to one value, by id, and how often each applies."""


class Size(NamedTuple):
    """The number of values at each depth, and the number of characters in names and texts."""

    levels: list[int]
    names: int
    texts: int


@dataclass(frozen=True, slots=True)
class SchemaCost:
    """The maximum number of checks for a value at each depth; the last entry is for all depths below."""

    checks: tuple[int, ...]
    per_name_character: int
    deepest: int
    """The maximum number of levels of a value."""
    branches: bool
    """Whether one error can contain the errors of several branches."""

    def of(self, size: Size) -> int:
        """The maximum number of checks for a whole value."""
        last = len(self.checks) - 1
        found = sum(count * self.checks[min(depth, last)] for depth, count in enumerate(size.levels))
        return found + size.names * self.per_name_character


def size_of(value: Any, most: int) -> Size | None:
    """The size of a JSON value; None if it has more than `most` values."""
    levels, names, texts, level, total = [], 0, 0, [value], 0
    while level:
        total += len(level)
        if total > most:
            return None
        levels.append(len(level))
        below: list[Any] = []
        for one in level:
            kind = type(one)
            if kind is dict:
                below.extend(one.values())
                names += sum(map(len, one))
            elif kind is list:
                below.extend(one)
            elif kind is str:
                texts += len(one)
        level = below
    return Size(levels, names, texts)


def cost_of(schema: Any) -> SchemaCost:
    """The cost of checking against a schema; ValueError if it exceeds the accepted bound."""
    return _Unfolding(schema).cost()


class _Unfolding:
    """One schema, unfolded level by level."""

    def __init__(self, schema: Any) -> None:
        self._root = schema
        self._nodes: dict[int, Any] = {}
        self._bases: dict[int, str] = {}
        self._named: dict[str, list[Any]] = {}
        self._anchors: dict[str, list[Any]] = {}
        draft = schema.get("$schema") if isinstance(schema, Mapping) else None
        self._id = "id" if isinstance(draft, str) and "draft-04" in draft else "$id"
        self._work = 0
        self._branches = False
        self._per_name = 0
        self._index(schema)

    def cost(self) -> SchemaCost:
        checks: list[int] = []
        seen: set[State] = set()
        level = [self._state([self._root])]
        while level:
            try:
                most, below = self._unfold(level, seen)
            except _TooExpensive:
                if len(checks) < LEAST_DEPTH:
                    raise ValueError(
                        f"its references unfold to more than {MOST_CHECKS} checks of one value at depth {len(checks)}"
                    ) from None
                return SchemaCost(tuple(checks), self._per_name, min(len(checks), MOST_DEPTH), self._branches)
            checks.append(max(most, checks[-1] if checks else 1))
            level = below
        return SchemaCost(tuple(checks), self._per_name, MOST_DEPTH, self._branches)

    def _unfold(self, level: list[State], seen: set[State]) -> tuple[int, list[State]]:
        most, below = 0, []
        for state in level:
            if state in seen:
                continue
            seen.add(state)
            applied = self._applicable(state)
            most = max(most, sum(count * _own_checks(self._nodes[one]) for one, count in applied.items()))
            if most > MOST_CHECKS:
                raise _TooExpensive
            below += [child for child in self._children(applied) if child not in seen]
        return most, below

    def _applicable(self, state: State) -> Counter[int]:
        """Every schema that applies to the same value, following references and branches."""
        applied: Counter[int] = Counter()
        waiting, total = [(self._nodes[one], count) for one, count in state], 0
        while waiting:
            node, count = waiting.pop()
            applied[self._keep(node)] += count
            total += count
            self._work += 1
            if self._work > MOST_WORK or total > MOST_CHECKS or len(waiting) > MOST_CHECKS:
                raise _TooExpensive
            waiting += [(one, count) for one in self._in_place(node)]
        return applied

    def _in_place(self, node: Any) -> Iterator[Any]:
        if not isinstance(node, Mapping):
            return
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if isinstance(node.get(keyword), str):
                yield from self._targets(node, node[keyword], dynamic=keyword != "$ref")
        for keyword in _IN_PLACE:
            if isinstance(node.get(keyword), list):
                self._branches |= keyword != "allOf"
                yield from node[keyword]
        yield from (node[keyword] for keyword in _IN_PLACE_ONE if keyword in node)
        for keyword in ("dependentSchemas", "dependencies"):
            if isinstance(node.get(keyword), Mapping):
                yield from (one for one in node[keyword].values() if not isinstance(one, list))

    def _children(self, applied: Counter[int]) -> Iterator[State]:
        """The schemas that apply to each property and item below, when several describe the same one."""
        nodes = [(self._nodes[one], count) for one, count in applied.items() if isinstance(self._nodes[one], Mapping)]
        names = {name for node, _ in nodes for name in _mapping(node, "properties")}
        places = max((len(_prefix(node)) for node, _ in nodes), default=0)
        labels: list[Any] = [*names, None, *range(places), -1]
        for label in labels:
            found = [(child, count) for node, count in nodes for child in _below(node, label)]
            self._work += 1 + len(found)
            if self._work > MOST_WORK:
                raise _TooExpensive
            if found:
                yield self._state([child for child, _ in found], [count for _, count in found])
        for node, _ in nodes:
            if "propertyNames" in node:
                yield self._state([node["propertyNames"]])
        weighed = sum(count * _names_weight(node) for node, count in nodes)
        self._per_name = max(self._per_name, weighed)

    def _state(self, nodes: list[Any], counts: list[int] | None = None) -> State:
        found: Counter[int] = Counter()
        for node, count in zip(nodes, counts or [1] * len(nodes), strict=True):
            found[self._keep(node)] += count
        return tuple(sorted(found.items()))

    def _keep(self, node: Any) -> int:
        self._nodes[id(node)] = node
        return id(node)

    def _index(self, schema: Any) -> None:
        """Index every part of the document by the names that references can use."""
        waiting = [(schema, "")]
        while waiting:
            node, base = waiting.pop()
            if isinstance(node, Mapping):
                base = self._name(node, base)
                self._bases[id(node)] = base
            below = node.values() if isinstance(node, Mapping) else node if isinstance(node, list) else ()
            waiting += [(child, base) for child in below if isinstance(child, Mapping | list)]

    def _name(self, node: Mapping[str, Any], base: str) -> str:
        """Index the names that a part declares, and return the base address of its references."""
        if isinstance(given := node.get(self._id), str):
            place, fragment = urldefrag(urljoin(base, given))
            base = base if fragment else place
            self._named.setdefault(f"{place}#{fragment}", []).append(node)
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(given := node.get(keyword), str):
                self._named.setdefault(f"{base}#{given}", []).append(node)
                self._anchors.setdefault(given, []).append(node)
        return base

    def _targets(self, node: Any, reference: str, *, dynamic: bool) -> list[Any]:
        """The targets of a reference; a dynamic one may lead to each anchor of its name."""
        base = self._bases.get(id(node), "")
        place, fragment = urldefrag(urljoin(base, reference))
        place = base if reference.startswith("#") else place
        if fragment and not fragment.startswith("/"):
            found = self._named.get(f"{place}#{fragment}", []) + (self._anchors.get(fragment, []) if dynamic else [])
        else:
            documents = self._named.get(f"{place}#", []) + ([self._root] if not place else [])
            targets = [follow(document, unquote(fragment)) for document in documents]
            found = [one for one in targets if one is not MISSING]
        if not found and _META not in place:  # Every validator knows the meta-schemas.
            if reference.startswith("#"):
                raise ValueError(f"it is not a JSON Schema: the reference {reference[:100]} has no target")
            raise ValueError(
                f"it refers to {reference[:100]}, which is outside the document; references are not fetched"
            )
        return list({id(one): one for one in found}.values())


class _TooExpensive(Exception):
    """The schema unfolds beyond the bounds."""


def _mapping(node: Any, keyword: str) -> Mapping[str, Any]:
    found = node.get(keyword)
    return found if isinstance(found, Mapping) else {}


def _prefix(node: Any) -> list[Any]:
    found = node.get("prefixItems", node.get("items"))
    return found if isinstance(found, list) else []


def _below(node: Any, label: str | int | None) -> Iterator[Any]:
    """The schemas of a node for one property, one item (-1: any further one) or any other property (None)."""
    if isinstance(label, int):
        prefix = _prefix(node)
        yield from prefix[label : label + 1] if label >= 0 else ()
        further = (k for k in ("items", "additionalItems") if isinstance(node.get(k), Mapping | bool))
        if label < 0 or label >= len(prefix):
            yield from (node[keyword] for keyword in further)
        yield from (node[keyword] for keyword in ("contains", "unevaluatedItems") if keyword in node)
        return
    properties = _mapping(node, "properties")
    if label is not None and label in properties:
        yield properties[label]
    yield from _mapping(node, "patternProperties").values()
    if "additionalProperties" in node and label not in properties:
        yield node["additionalProperties"]
    if "unevaluatedProperties" in node:
        yield node["unevaluatedProperties"]


def _own_checks(node: Any) -> int:
    """The cost of a schema apart from those below it: equality of objects and arrays is found by comparing."""
    if not isinstance(node, Mapping):
        return 1
    compared = [node["const"]] if "const" in node else []
    if isinstance(node.get("enum"), list):
        compared += [one for one in node["enum"] if isinstance(one, dict | list)]
    required = node.get("required")
    return 1 + 20 * sum(map(_parts, compared)) + (len(required) if isinstance(required, list) else 0)


def _parts(value: Any) -> int:
    if isinstance(value, Mapping):
        return 1 + sum(map(_parts, value.values()))
    return 1 + sum(map(_parts, value)) if isinstance(value, list) else 1


def _names_weight(node: Any) -> int:
    """The cost of one character of a property name that patterns check."""
    return sum(1 + compile_pattern(one).size // 64 for one in _mapping(node, "patternProperties"))
