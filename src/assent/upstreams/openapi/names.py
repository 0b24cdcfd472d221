"""Names the tools of operations, and checks whether a path belongs to another operation.

A name must not move to another operation when the document is reordered, so nothing here counts.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

from assent.errors import Fault
from assent.upstreams.openapi.operations import ApiOperation

LONGEST = 128
_ODD = re.compile(r"[^A-Za-z0-9_.-]+")


def name_operations(operations: Sequence[ApiOperation], most: int = LONGEST) -> tuple[list[str], list[Fault]]:
    """A unique tool name per operation, and a finding for every name that is not the operation's own id."""
    wanted = [_tidy(one.identifier) for one in operations]
    uses = Counter(wanted)
    derived = Counter(_derive_name(one) for one, name in zip(operations, wanted, strict=True) if not _owns(name, uses))
    names: list[str] = []
    findings: list[Fault] = []
    for one, name in zip(operations, wanted, strict=True):
        names.append(_name(one, name, uses, derived, most))
        if names[-1] != one.identifier:
            findings.append(_finding(one, names[-1], _reason(one, name, uses[name])))
    return names, findings


def _name(operation: ApiOperation, wanted: str, uses: Counter[str], derived: Counter[str], most: int) -> str:
    if _owns(wanted, uses):
        return wanted if len(wanted) <= most else _with_digest(wanted, operation, most)
    name = _derive_name(operation)
    if len(name) > most or derived[name] > 1 or name in uses:
        return _with_digest(name, operation, most)
    return name


def _owns(name: str, uses: Counter[str]) -> bool:
    return bool(name) and uses[name] == 1


def _derive_name(operation: ApiOperation) -> str:
    """`get_orders_id` for `GET /orders/{id}`."""
    return _tidy(f"{operation.method} {operation.path}")


def _tidy(text: str) -> str:
    return _ODD.sub("_", text).strip("_") if _ODD.search(text) else text


def _with_digest(name: str, operation: ApiOperation, most: int) -> str:
    digest = hashlib.sha256(operation.place.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[: most - 9]}_{digest}"


def _reason(operation: ApiOperation, name: str, uses: int) -> str:
    if not operation.identifier:
        return "has no operationId"
    if not name:
        return f"has the operationId {operation.identifier[:80]!r}, which has no letter"
    if uses > 1:
        return f"shares the operationId {operation.identifier[:80]!r} with another"
    return f"has the operationId {operation.identifier[:80]!r}, which is not a tool name"


def _finding(operation: ApiOperation, name: str, reason: str) -> Fault:
    return Fault(f"{reason}; its tool is called {name!r}", "Give it an operationId of its own", operation.place)


Segments = tuple[str | None, ...]
"""The segments of a path template, decoded, in lower case; None for one with a placeholder."""


class Routes:
    """The paths of a document, as a server would match them.

    With `/orders/{id}` and `/orders/all` in one document, the id `all` is the other operation. An approval for one
    must not reach the other.
    """

    def __init__(self, operations: Iterable[ApiOperation]) -> None:
        self._known = {(one.method, one.path): _segments(one.path) for one in operations}
        self._neighbours: dict[tuple[str, str], list[re.Pattern[str]]] = {}

    def is_neighbours(self, operation: ApiOperation, path: str, *, spans: bool) -> bool:
        """Whether a path matches another operation of the same method. `spans`: a value may have several segments."""
        place = (operation.method, operation.path)
        if place not in self._neighbours:
            self._neighbours[place] = [_pattern(other) for other in self._overlapping(place, spans)]
        if not self._neighbours[place]:
            return False
        decoded = unquote(path).lower()
        return any(pattern.fullmatch(decoded) for pattern in self._neighbours[place])

    def _overlapping(self, place: tuple[str, str], spans: bool) -> list[Segments]:
        """The templates that a filled-in path could also match, with literal text where ours takes a value."""
        ours = self._known[place]
        if None not in ours:
            return []
        others = [other for key, other in self._known.items() if key[0] == place[0] and key != place]
        if spans:
            first = ours.index(None)
            return [other for other in others if len(other) >= len(ours) and any(other[first:])]
        return [other for other in others if _overlap(ours, other)]


def _overlap(ours: Segments, other: Segments) -> bool:
    if len(ours) != len(other):
        return False
    pairs = list(zip(ours, other, strict=True))
    return all(a is None or b is None or a == b for a, b in pairs) and any(a is None and b for a, b in pairs)


def _segments(path: str) -> Segments:
    return tuple(None if "{" in segment else unquote(segment).lower() for segment in path.split("/"))


def _pattern(segments: Segments) -> re.Pattern[str]:
    return re.compile("/".join("[^/]+" if segment is None else re.escape(segment) for segment in segments))
