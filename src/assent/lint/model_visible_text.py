"""Texts of a definition that a model reads, with their positions.

A model gets the whole schema, so text can hide in the description of list items, in a default or in an enum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from assent.contract.pointers import escaped

_MOST = 20_000
_DEEPEST = 40
# Keywords of JSON Schema, which the author did not write.
_GRAMMAR = frozenset(("$ref", "$schema", "$id", "$anchor", "type", "format", "pattern", "required"))
_NAMING = frozenset(("properties", "$defs", "definitions", "patternProperties"))


def texts_in(definition: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield every text for people or models with its JSON pointer; names of tools and fields are left out."""
    for key in ("title", "description"):
        if isinstance(definition.get(key), str):
            yield f"/{key}", definition[key]
    annotations = definition.get("annotations")
    title = annotations.get("title") if isinstance(annotations, Mapping) else None
    if isinstance(title, str):
        yield "/annotations/title", title
    for key in ("inputSchema", "outputSchema"):
        yield from islice(_within(definition.get(key), f"/{key}", 0), _MOST)


def _within(value: Any, at: str, depth: int) -> Iterator[tuple[str, str]]:
    if depth > _DEEPEST:
        return
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _within(inner, f"{at}/{index}", depth + 1)
    elif isinstance(value, Mapping):
        named = at.rpartition("/")[2] in _NAMING
        for key, inner in value.items():
            if named or key not in _GRAMMAR:
                yield from _within(inner, f"{at}/{escaped(str(key))}", depth + 1)
