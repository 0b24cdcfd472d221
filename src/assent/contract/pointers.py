"""JSON pointers (RFC 6901), with `*` for every item."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import unquote

from pydantic import AfterValidator, WithJsonSchema

MISSING: Any = object()
_FORM = r"^(?:/(?:[^~/]|~[01])*)+$"
_MOST = 1000
_INDEX = re.compile(r"(?:0|[1-9][0-9]{0,15})\Z")


def _check(pointer: str) -> str:
    if len(pointer) < 2 or len(pointer) > _MOST or re.fullmatch(_FORM, pointer, re.DOTALL) is None:
        raise ValueError(f"{pointer[:60]!r} is not a JSON pointer; write /field or /outer/inner")
    return pointer


Pointer = Annotated[
    str,
    AfterValidator(_check),
    WithJsonSchema({"type": "string", "pattern": _FORM, "minLength": 2, "maxLength": _MOST}),
]


def tokens(pointer: str) -> tuple[str, ...]:
    """The reference tokens of an RFC 6901 pointer."""
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:])


def escaped(token: str) -> str:
    """A name as a reference token."""
    return token.replace("~", "~0").replace("/", "~1")


def pointer_to(path: Iterable[object]) -> str:
    """The pointer that leads along these names and indexes."""
    return "".join(f"/{escaped(str(step))}" for step in path)


def follow(document: Any, pointer: str) -> Any:
    """The value at a pointer, or MISSING. Every token is a name or an index here, `*` too."""
    for token in tokens(pointer):
        if isinstance(document, Mapping) and token in document:
            document = document[token]
        elif isinstance(document, list) and _INDEX.match(token) and int(token) < len(document):
            document = document[int(token)]
        else:
            return MISSING
    return document


def local_target(reference: Any, root: Any) -> Any:
    """What a reference within a document (`#/$defs/Order`) leads to, or MISSING. No other reference is followed."""
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        return MISSING
    return follow(root, unquote(reference[1:]))


def resolve(document: Any, pointer: str) -> Any:
    """The value at a pointer, or MISSING. `*` matches every item of a list and takes the first."""
    here = document
    for token in tokens(pointer):
        found = _children(here, token)
        if not found:
            return MISSING
        here = found[0][0][found[0][1]]
    return here


def places(document: Any, pointer: str) -> list[tuple[Any, Any]]:
    """Every (container, key) that a pointer matches in a document; `*` matches each item of a list or object."""
    spots: list[tuple[Any, Any]] = [(None, None)]
    here = [document]
    for token in tokens(pointer):
        spots = [spot for node in here for spot in _children(node, token)]
        here = [container[key] for container, key in spots]
    return spots


def _children(node: Any, token: str) -> list[tuple[Any, Any]]:
    if isinstance(node, Mapping):
        if token == "*":
            return [(node, key) for key in node]
        return [(node, token)] if token in node else []
    if isinstance(node, Sequence) and not isinstance(node, str | bytes):
        if token == "*":
            return [(node, index) for index in range(len(node))]
        if _INDEX.match(token) and int(token) < len(node):
            return [(node, int(token))]
    return []
