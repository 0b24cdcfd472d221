"""Checks whether a filled-in path belongs to another operation than the one that was called."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote

from assent.upstreams.openapi.operations import ApiOperation

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
