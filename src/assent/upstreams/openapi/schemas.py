"""Converts schemas of an OpenAPI document to JSON Schema 2020-12."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

from assent.upstreams.openapi.document import DocumentPlace, DocumentSet, Unresolved

Schema = dict[str, Any] | bool
Direction = Literal["input", "output"]

_ONE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_ONE_MORE = ("unevaluatedItems", "unevaluatedProperties", "contentSchema")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPS = ("properties", "patternProperties", "dependentSchemas")
_SINGLE = frozenset((*_ONE, *_ONE_MORE))
_NESTED = _SINGLE.union(_LISTS, _MAPS)
_LIMITS = frozenset({
    "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength", "pattern",
    "maxItems", "minItems", "uniqueItems", "maxContains", "minContains", "maxProperties", "minProperties",
    "required", "dependentRequired",
})  # fmt: skip
NOTES = frozenset(["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"])
_KEPT = _LIMITS | NOTES | frozenset(["type", "enum", "const", "format", "contentEncoding", "contentMediaType"])


def subschemas(schema: Schema) -> Iterator[Schema]:
    """The schemas directly inside a schema, but not lookalikes in a default or an example."""
    if isinstance(schema, bool):
        return
    for word, value in schema.items():
        if word in _SINGLE:
            yield value
        elif word in _LISTS:
            yield from value
        elif word in _MAPS:
            yield from value.values()


def mapped(schema: dict[str, Any], change: Callable[[Schema], Schema]) -> dict[str, Any]:
    """The schema with every schema directly inside it changed."""
    made: dict[str, Any] = {}
    for word, value in schema.items():
        if word in _SINGLE:
            made[word] = change(value)
        elif word in _LISTS:
            made[word] = [change(one) for one in value]
        elif word in _MAPS:
            made[word] = {name: change(one) for name, one in value.items()}
        else:
            made[word] = value
    return made


class Schemas:
    """The schemas of a document set for requests (without read-only properties) or responses (without write-only
    ones).

    A converted schema refers to others by their addresses; `bundle` turns those into self-contained schemas.
    """

    def __init__(self, library: DocumentSet, direction: Direction) -> None:
        self.library = library
        self.hidden = "readOnly" if direction == "input" else "writeOnly"
        self._by_address: dict[str, Schema] = {}
        self._references: dict[str, tuple[str, ...]] = {}
        self._places: dict[str, DocumentPlace] = {}

    def convert(self, place: DocumentPlace) -> Schema:
        """The schema at a place; raises Unresolved if it refers outside the set or is not a schema."""
        given = place.value
        if isinstance(given, bool):
            return given
        if not isinstance(given, dict):
            raise Unresolved(f"there is no schema at {place.pointer or '/'}")
        made = self._reference(place) if "$ref" in given else {}
        if not (made and self.library.is_30):  # OpenAPI 3.0 ignores keywords beside a reference.
            self._add_words(made, place)
        return self._with_null(made, given) if given.get("nullable") is True else made

    def schema_at(self, address: str) -> Schema:
        """The schema at an address that a converted schema refers to."""
        if address not in self._by_address:
            self._by_address[address] = self.convert(self._places[address])
        return self._by_address[address]

    def references(self, address: str) -> tuple[str, ...]:
        """The addresses that the schema at an address refers to, in document order."""
        if address not in self._references:
            self._references[address] = references_in(self.schema_at(address))
        return self._references[address]

    def through(self, schema: Schema) -> Schema:
        """The schema that a bare reference names, or the schema itself."""
        seen: set[str] = set()
        while isinstance(schema, dict) and "$ref" in schema and schema.keys() <= {"$ref", *NOTES}:
            if schema["$ref"] in seen:
                raise Unresolved("its references form a cycle")
            seen.add(schema["$ref"])
            schema = self.schema_at(schema["$ref"])
        return schema

    def _reference(self, place: DocumentPlace) -> dict[str, Any]:
        target = self.library.find(place.value["$ref"], place.document)
        self._places.setdefault(target.address, target)
        return {"$ref": target.address}

    def _add_words(self, made: dict[str, Any], place: DocumentPlace) -> None:
        for word, value in place.value.items():
            if word in _NESTED:
                made[word] = self._nested(word, place.at(word))
            elif word in _KEPT:
                made[word] = value
        if "example" in place.value and "examples" not in made:
            made["examples"] = [place.value["example"]]
        elif not isinstance(made.get("examples", []), list):
            del made["examples"]
        _correct_limits(made)
        self._drop_hidden(made, place)

    def _nested(self, word: str, place: DocumentPlace) -> Any:
        value = place.value
        if word in _MAPS and isinstance(value, dict):
            return {name: self.convert(place.at(name)) for name in value}
        if word in _LISTS and isinstance(value, list):
            return [self.convert(place.at(str(index))) for index in range(len(value))]
        if word in _SINGLE:
            return self.convert(place)
        raise Unresolved(f"`{word}` at {place.pointer} is not valid in a schema")

    def _drop_hidden(self, made: dict[str, Any], place: DocumentPlace) -> None:
        """Leave out the properties that are never sent in this direction."""
        given = place.value.get("properties")
        if not isinstance(given, dict):
            return
        gone = {name for name, one in given.items() if self._is_hidden(one, place)}
        for name in gone:
            del made["properties"][name]
        if gone and isinstance(made.get("required"), list):
            made["required"] = [name for name in made["required"] if name not in gone]

    def _is_hidden(self, given: Any, place: DocumentPlace) -> bool:
        if not isinstance(given, dict):
            return False
        if "$ref" in given and self.hidden not in given:
            target = self.library.find(given["$ref"], place.document).value
            return isinstance(target, dict) and target.get(self.hidden) is True
        return given.get(self.hidden) is True

    def _with_null(self, made: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
        kind = made.get("type")
        if isinstance(kind, str) and "$ref" not in made:
            made["type"] = [kind, "null"]
            if isinstance(made.get("enum"), list) and None not in made["enum"]:
                made["enum"] = [*made["enum"], None]
            return made
        if kind is None and made.keys() & {"$ref", "allOf", "anyOf", "oneOf"}:
            notes = {word: made.pop(word) for word in list(made) if word in NOTES}
            return {"anyOf": [made, {"type": "null"}], **notes}
        return made


def references_in(schema: Schema) -> tuple[str, ...]:
    """The addresses that a converted schema refers to, each once."""
    found: dict[str, None] = {}
    waiting = [schema]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict) and "$ref" in here:
            found[here["$ref"]] = None
        waiting.extend(reversed(list(subschemas(here))))
    return tuple(found)


def _correct_limits(made: dict[str, Any]) -> None:
    """Convert OpenAPI 3.0's `exclusiveMinimum: true` beside `minimum` to JSON Schema's number."""
    for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        flag = made.get(exclusive)
        if not isinstance(flag, bool):
            continue
        del made[exclusive]
        if flag and limit in made:
            made[exclusive] = made.pop(limit)
    if isinstance(made.get("required"), bool):  # A relic of OpenAPI 2 parameters.
        del made["required"]


MOST_INLINE = 2_000
MOST_REFERENCED = 4_000
DEEPEST_INLINE = 40


class Bundler:
    """Bundles schemas; results for one schema are reused for the next."""

    def __init__(self, schemas: Schemas) -> None:
        self.schemas = schemas
        self._recursive = _Recursion(schemas)
        self._inlined: dict[str, tuple[Schema, int, int]] = {}

    def bundle(self, schema: dict[str, Any], most: int = MOST_REFERENCED) -> tuple[dict[str, Any], bool]:
        """The schema with its definitions, and whether all of them had room."""
        reached = self._reachable(references_in(schema))
        recursive = [address for address in reached if self._recursive.holds(address)]
        self._inline_new()
        names = _names(recursive)
        parts = [self._inline(schema), *(self._inlined[address] for address in recursive)]
        if sum(size for _, size, _ in parts) <= min(MOST_INLINE, most) and all(
            d <= DEEPEST_INLINE for _, _, d in parts
        ):
            bodies = {
                names[a]: _rename_references(body, names) for a, (body, _, _) in zip(recursive, parts[1:], strict=True)
            }
            return _with_definitions(_rename_references(parts[0][0], names), bodies), True
        return self._keep_references(schema, reached, most)

    def _keep_references(self, schema: dict[str, Any], reached: list[str], most: int) -> tuple[dict[str, Any], bool]:
        """Keep every reference, with the nearest definitions first, as many as there is room for."""
        room, kept = most - _count(schema), []
        for address in reached:
            room -= _count(self.schemas.schema_at(address))
            if room < 0:
                break
            kept.append(address)
        names = _names(kept)
        bodies = {names[address]: _rename_references(self.schemas.schema_at(address), names) for address in kept}
        return _with_definitions(_rename_references(schema, names), bodies), len(kept) == len(reached)

    def _reachable(self, first: Iterable[str]) -> list[str]:
        """Every address that is reached, nearest first."""
        found = dict.fromkeys(first)
        waiting = list(found)
        for address in waiting:
            for following in self.schemas.references(address):
                if following not in found:
                    found[following] = None
                    waiting.append(following)
        return waiting

    def _inline_new(self) -> None:
        """Inline new schemas, each after those it refers to, so that nothing recurses deeply."""
        for address in self._recursive.closed[len(self._inlined) :]:
            self._inlined[address] = self._inline(self.schemas.schema_at(address))

    def _inline(self, schema: Schema) -> tuple[Schema, int, int]:
        """The schema with non-recursive references inlined, the number of schemas in it, and its depth."""
        if isinstance(schema, bool):
            return schema, 1, 1
        size, depth = 1, 0

        def write(inner: Schema) -> Schema:
            nonlocal size, depth
            made, inner_size, inner_depth = self._inline(inner)
            size, depth = size + inner_size, max(depth, inner_depth)
            return made

        made: Schema = mapped(schema, write)
        address = schema.get("$ref")
        if address is None or self._recursive.holds(address):
            return made, size, depth + 1
        target, target_size, target_depth = self._inlined[address]
        return _merge(target, made), size + target_size, max(depth, target_depth) + 1


class _Recursion:
    """Finds recursive schemas: Tarjan's strongly connected components, computed on demand."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._known: dict[str, bool] = {}
        self.closed: list[str] = []
        """Every visited schema, each after those it refers to."""

    def holds(self, address: str) -> bool:
        if address not in self._known:
            self._search(address)
        return self._known[address]

    def _search(self, start: str) -> None:
        order: dict[str, int] = {start: 0}
        low: dict[str, int] = {start: 0}
        open_, held = [start], {start}
        work = [(start, iter(self._schemas.references(start)))]
        while work:
            here, rest = work[-1]
            following = next((one for one in rest if one not in self._known), None)
            if following is None:
                work.pop()
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[here])
                if low[here] == order[here]:
                    self._close(here, open_, held)
            elif following in held:
                low[here] = min(low[here], order[following])
            else:
                order[following] = low[following] = len(order)
                open_.append(following)
                held.add(following)
                work.append((following, iter(self._schemas.references(following))))

    def _close(self, first: str, open_: list[str], held: set[str]) -> None:
        component: list[str] = []
        while not component or component[-1] != first:
            component.append(open_.pop())
            held.discard(component[-1])
        recursive = len(component) > 1 or first in self._schemas.references(first)
        self._known.update(dict.fromkeys(component, recursive))
        self.closed.extend(component)


def _merge(target: Schema, beside: Any) -> Schema:
    """Merge the target of a reference with the keywords beside the reference."""
    keywords = {word: value for word, value in beside.items() if word != "$ref"}
    if not keywords:
        return target
    if isinstance(target, dict) and keywords.keys() <= NOTES:
        return {**target, **keywords}
    return {"allOf": [target], **keywords}


def _rename_references(schema: Schema, names: dict[str, str]) -> Schema:
    """Replace addresses by `$defs` references; an address without a definition becomes an empty schema."""
    if isinstance(schema, bool):
        return schema
    made = mapped(schema, lambda inner: _rename_references(inner, names))
    if "$ref" in made:
        name = names.get(made["$ref"])
        if name is None:
            return {}
        made["$ref"] = f"#/$defs/{name}"
    return made


def _with_definitions(schema: Schema, bodies: dict[str, Schema]) -> dict[str, Any]:
    whole = dict(schema) if isinstance(schema, dict) else {}
    return {**whole, "$defs": bodies} if bodies else whole


def _names(addresses: Iterable[str]) -> dict[str, str]:
    """A short name for every address; the same names for the same document in any order."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for address in sorted(addresses):
        short = (
            re.sub(r"[^A-Za-z0-9_.-]+", "_", address.rsplit("/", 1)[-1].rsplit("#", 1)[-1])[:80].strip("_") or "Schema"
        )
        name, number = short, 2
        while name in taken:
            name, number = f"{short}_{number}", number + 1
        taken.add(name)
        names[address] = name
    return names


def _count(schema: Schema) -> int:
    found, waiting = 0, [schema]
    while waiting:
        found += 1
        waiting.extend(subschemas(waiting.pop()))
    return found
