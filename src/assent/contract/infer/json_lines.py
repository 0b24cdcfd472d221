"""Reads tool definitions from JSON lines or one document, and writes inferences in the same order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

import orjson

from assent.contract.infer.classifier import classify
from assent.errors import Fault, FaultsError

_REMEDY = "Write one tool definition per line, or a tools/list result"
_UNREADABLE: Final = object()


def classify_lines(lines: Iterable[str], *, trust_annotations: bool = False) -> Iterator[str]:
    """Yield one JSON object per definition, in order; a bad definition raises `FaultsError`."""
    for definition in read_definitions(lines):
        yield json.dumps(classify(definition, trust_annotations=trust_annotations).as_json())


def read_definitions(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """Read definitions from JSON lines as they arrive, or from one document over several lines.

    Each line or document is a definition, an array of definitions, or a page of a tools/list result.
    """
    numbered = ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
    first = next(numbered, None)
    if first is None:
        return
    opening = _parse(first[1])
    if opening is _UNREADABLE:
        yield from _definitions_in(_parse("".join(line for _, line in chain([first], numbered))), first[0])
        return
    yield from _definitions_in(opening, first[0])
    for number, line in numbered:
        yield from _definitions_in(_parse(line), number)


def _definitions_in(value: Any, number: int) -> Iterator[Mapping[str, Any]]:
    tools = value if isinstance(value, list) else _tools_of_list_result(value)
    if tools is None:
        yield _definition(value, f"line {number}")
        return
    for position, tool in enumerate(tools, start=1):
        yield _definition(tool, f"tool {position}" if number == 1 else f"line {number}, tool {position}")


def _tools_of_list_result(value: Any) -> list[Any] | None:
    """Return the tools of a tools/list result, bare or inside a JSON-RPC response."""
    if not isinstance(value, dict):
        return None
    result = value.get("result")
    tools = (result if isinstance(result, dict) else value).get("tools")
    return tools if isinstance(tools, list) else None


def _parse(text: str) -> Any:
    """Parse JSON, with the standard parser if the fast one refuses, as it does for half a surrogate pair."""
    try:
        return orjson.loads(text)
    except ValueError:
        pass
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _UNREADABLE


def _definition(value: Any, place: str) -> Mapping[str, Any]:
    if value is _UNREADABLE:
        raise _fault(place, "is not JSON")
    if not isinstance(value, dict):
        raise _fault(place, "is not a JSON object")
    if not isinstance(value.get("name"), str) or not value["name"]:
        raise _fault(place, "has no name")
    return value


def _fault(place: str, problem: str) -> FaultsError:
    return FaultsError(Fault(f"{place} {problem}", _REMEDY))
