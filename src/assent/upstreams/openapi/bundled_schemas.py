"""Bundles a schema with the schemas it refers to, so that it is self-contained.

Small, non-recursive schemas are inlined, because many hosts do not read references. Recursive or large ones stay
definitions under `$defs`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from assent.upstreams.openapi.schemas import NOTES, Schema, Schemas, mapped, references_in, subschemas

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
            room -= _count(self.schemas.named(address))
            if room < 0:
                break
            kept.append(address)
        names = _names(kept)
        bodies = {names[address]: _rename_references(self.schemas.named(address), names) for address in kept}
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
            self._inlined[address] = self._inline(self.schemas.named(address))

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
