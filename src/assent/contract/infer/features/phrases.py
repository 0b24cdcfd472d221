"""Finds explicit statements in a text: only reads, cannot be undone, overwrites, saves a file, runs anything."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from assent.contract.infer.features.words import read_data

_BODY: Final = 2500
# Maximum distance between a marker word and the start or end of a match.
_REACH: Final = 160
# A line that continues on the next line.
_WRAPPED = re.compile(r"\n(?<=[a-z,]\n)[ \t]*(?=[a-z]+[ ,.])")


class _Group:
    """Patterns, and the marker words near which they are searched. Compiled at first use: most never are."""

    __slots__ = ("_patterns", "_search", "marks")

    def __init__(self, marks: Iterable[str], patterns: Sequence[str]) -> None:
        self.marks, self._patterns = tuple(marks), patterns
        self._search: Callable[[str, int, int], re.Match[str] | None] | None = None

    @property
    def search(self) -> Callable[[str, int, int], re.Match[str] | None]:
        if self._search is None:
            self._search = re.compile("|".join(self._patterns)).search
        return self._search


# A marker word, and the pattern groups to try where it occurs.
_Statement = tuple[tuple[str, tuple[_Group, ...]], ...]


@cache
def _statement(name: str) -> _Statement:
    """The groups of one statement, arranged at first use."""
    return _arrange([one for row in _TABLE[name] for one in _rows(row, _TABLE)])


def _rows(row: Mapping[str, Any], table: Mapping[str, Any]) -> Sequence[Mapping[str, Sequence[str]]]:
    """Return a group's rows, or those of the statement that it copies."""
    return table[row["like"]] if "like" in row else [row]


def _arrange(rows: Sequence[Mapping[str, Sequence[str]]]) -> _Statement:
    """Arrange the groups by their marker words; a marker that contains another one is left out."""
    groups = tuple(_Group(row["marks"], row["patterns"]) for row in rows)
    marks = {mark for group in groups for mark in group.marks}
    fewest = sorted(mark for mark in marks if not any(other in mark for other in marks - {mark}))
    return tuple((mark, tuple(group for group in groups if _is_for(mark, group))) for mark in fewest)


def _is_for(mark: str, group: _Group) -> bool:
    return any(mark in other for other in group.marks)


_TABLE: Final = read_data("statements.toml")
STATEMENT_NAMES: Final = frozenset(_TABLE)


class Statements:
    """Statements of one text. Each one is searched at first use, because most are never asked for."""

    __slots__ = ("_body", "_matched")

    def __init__(self, text: str) -> None:
        self._body = (_WRAPPED.sub(" ", text[:_BODY]) if "\n" in text else text[:_BODY]).lower()
        self._matched: dict[str, bool] = {}

    def __contains__(self, name: str) -> bool:
        found = self._matched.get(name)
        if found is None:
            found = self._matched[name] = self._find(_statement(name))
        return found

    def _find(self, statement: _Statement) -> bool:
        body = self._body
        for mark, groups in statement:
            if mark in body:
                for group in groups:
                    if _matches(body, group):
                        return True
        return False


def _matches(body: str, group: _Group) -> bool:
    """Whether a pattern of the group matches; patterns run only near a marker word."""
    search = group.search
    return any(search(body, start, end) is not None for start, end in _surroundings(body, group.marks))


def _surroundings(body: str, marks: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the text around marker words."""
    start = end = 0
    for place in sorted(place for mark in marks for place in _places(body, mark)):
        if place - _REACH > end:
            if end:
                yield start, end
            start = place - _REACH
        end = place + _REACH
    if end:
        yield start, end


def _places(body: str, mark: str) -> Iterator[int]:
    place = body.find(mark)
    while place >= 0:
        yield place
        place = body.find(mark, place + 1)
