"""Which texts of a definition does a model read, and where does each of them stand?

All of a schema goes to the model, so a text can hide in the description of a list's items, in a default or in an
enumeration as well as in the description of the tool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from assent.lint.fields import escaped

_MOST = 20_000
_DEEPEST = 40
# Words of the language of schemas, not of whoever wrote one.
_GRAMMAR = frozenset(("$ref", "$schema", "$id", "$anchor", "type", "format", "pattern", "required"))
_NAMING = frozenset(("properties", "$defs", "definitions", "patternProperties"))


def texts_in(definition: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every text for people or models, by its JSON pointer; names of tools and fields are not among them."""
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
