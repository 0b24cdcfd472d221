"""How do definitions come in, one per line or as one document, and inferences go out in the same order?"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

import orjson

from assent.errors import Fault, FaultsError
from assent.infer.judge import classify

_REMEDY = "Write one tool definition per line, or a tools/list result"
_UNREADABLE: Final = object()


def classify_lines(lines: Iterable[str], *, trust_annotations: bool = False) -> Iterator[str]:
    """One JSON object for each definition, in the order they come; a bad one ends it with a `FaultsError`."""
    for definition in read_definitions(lines):
        yield json.dumps(classify(definition, trust_annotations=trust_annotations).as_json())


def read_definitions(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """Definitions from JSON lines, read as they arrive, or from one document: a tools/list result or an array."""
    numbered = ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
    first = next(numbered, None)
    if first is None:
        return
    opening = _parse(first[1])
    if isinstance(opening, dict) and _listed(opening) is None:
        for number, line in chain([first], numbered):
            yield _definition(_parse(line), number)
    else:
        yield from _document(first, numbered)


def _document(first: tuple[int, str], rest: Iterable[tuple[int, str]]) -> Iterator[Mapping[str, Any]]:
    """A document over one or more lines; when it is none, its first line is what is wrong."""
    value = _parse("".join(line for _, line in chain([first], rest)))
    tools = value if isinstance(value, list) else _listed(value)
    if tools is None:
        tools = [value] if isinstance(value, dict) else []
        _definition(value, first[0])
    for position, tool in enumerate(tools, start=1):
        yield _definition(tool, position, "tool")


def _listed(value: Any) -> list[Any] | None:
    """The tools of a tools/list result, bare or inside a JSON-RPC answer."""
    if not isinstance(value, dict):
        return None
    result = value.get("result")
    tools = (result if isinstance(result, dict) else value).get("tools")
    return tools if isinstance(tools, list) else None


def _parse(text: str) -> Any:
    """The quick parser is the stricter one: what it refuses, such as half a surrogate pair, is tried again."""
    try:
        return orjson.loads(text)
    except ValueError:
        pass
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _UNREADABLE


def _definition(value: Any, number: int, place: str = "line") -> Mapping[str, Any]:
    if value is _UNREADABLE:
        raise _fault(number, "is not JSON", place)
    if not isinstance(value, dict):
        raise _fault(number, "is not a JSON object", place)
    if not isinstance(value.get("name"), str) or not value["name"]:
        raise _fault(number, "has no name", place)
    return value


def _fault(number: int, problem: str, place: str = "line") -> FaultsError:
    return FaultsError(Fault(f"{place} {number} {problem}", _REMEDY))
