"""What stands at a JSON pointer?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, WithJsonSchema

MISSING: Any = object()


def _check(pointer: str) -> str:
    if not pointer.startswith("/") or len(pointer) < 2:
        raise ValueError(f"{pointer!r} is not a JSON pointer; write /field or /outer/inner")
    return pointer


Pointer = Annotated[str, AfterValidator(_check), WithJsonSchema({"type": "string", "pattern": "^/.+"})]


def tokens(pointer: str) -> tuple[str, ...]:
    """The reference tokens of an RFC 6901 pointer."""
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:])


def resolve(document: Any, pointer: str) -> Any:
    """The value a pointer names, or MISSING. `*` stands for every item of a list and takes the first."""
    here = document
    for token in tokens(pointer):
        here = _step(here, token)
        if here is MISSING:
            return MISSING
    return here


def places(document: Any, pointer: str) -> list[tuple[Any, Any]]:
    """Every (container, key) a pointer names in a document; `*` walks each item of a list or object."""
    spots: list[tuple[Any, Any]] = [(None, None)]
    here = [document]
    for token in tokens(pointer):
        spots = [spot for node in here for spot in _children(node, token)]
        here = [container[key] for container, key in spots]
    return spots


def _step(node: Any, token: str) -> Any:
    found = _children(node, token)
    return found[0][0][found[0][1]] if found else MISSING


def _children(node: Any, token: str) -> list[tuple[Any, Any]]:
    if isinstance(node, Mapping):
        if token in node:
            return [(node, token)]
        return [(node, key) for key in node] if token == "*" else []
    if isinstance(node, Sequence) and not isinstance(node, str | bytes):
        if token == "*":
            return [(node, index) for index in range(len(node))]
        if token.isdecimal() and int(token) < len(node):
            return [(node, int(token))]
    return []
