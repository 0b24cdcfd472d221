"""What does a text say outright: reads only, cannot be undone, overwrites, saves a file, runs anything?"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any, Final, NamedTuple

_BODY: Final = 2500
# How far before a mark a pattern may begin, and how far after it one may end.
_REACH: Final = 160
# A line that goes on in the next one.
_WRAPPED = re.compile(r"\n(?<=[a-z,]\n)[ \t]*(?=[a-z]+[ ,.])")


class _Group(NamedTuple):
    marks: tuple[str, ...]
    pattern: re.Pattern[str]


# A mark, and the groups that may hold where it occurs.
_Statement = tuple[tuple[str, tuple[_Group, ...]], ...]


def _load() -> Mapping[str, _Statement]:
    text = resources.files("assent.infer").joinpath("statements.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    return {name: _compile([one for row in rows for one in _rows(row, table)]) for name, rows in table.items()}


def _rows(row: Mapping[str, Any], table: Mapping[str, Any]) -> Sequence[Mapping[str, Sequence[str]]]:
    """A group, or those of the statement it is like."""
    return table[row["like"]] if "like" in row else [row]


def _compile(rows: Sequence[Mapping[str, Sequence[str]]]) -> _Statement:
    """The marks of all groups but those that another mark is part of, each with the groups it is for."""
    groups = tuple(_Group(tuple(row["marks"]), re.compile("|".join(row["patterns"]))) for row in rows)
    marks = {mark for group in groups for mark in group.marks}
    fewest = sorted(mark for mark in marks if not any(other in mark for other in marks - {mark}))
    return tuple((mark, tuple(group for group in groups if _is_for(mark, group))) for mark in fewest)


def _is_for(mark: str, group: _Group) -> bool:
    return any(mark in other for other in group.marks)


_STATEMENTS: Final = _load()


class Statements:
    """The statements of one text, each looked for when it is first asked about: most never are."""

    __slots__ = ("_body", "_found")

    def __init__(self, text: str) -> None:
        self._body = (_WRAPPED.sub(" ", text[:_BODY]) if "\n" in text else text[:_BODY]).lower()
        self._found: dict[str, bool] = {}

    def __contains__(self, name: str) -> bool:
        found = self._found.get(name)
        if found is None:
            found = self._found[name] = self._find(_STATEMENTS[name])
        return found

    def _find(self, statement: _Statement) -> bool:
        body = self._body
        for mark, groups in statement:
            if mark in body:
                for group in groups:
                    if _holds(body, group):
                        return True
        return False


def _holds(body: str, group: _Group) -> bool:
    """Whether one of its patterns matches: each has a mark in what it matches, so that only there it is looked for."""
    search = group.pattern.search
    return any(search(body, start, end) is not None for start, end in _surroundings(body, group.marks))


def _surroundings(body: str, marks: Iterable[str]) -> Iterator[tuple[int, int]]:
    """The stretches of a text in which there are marks, each with what is around them."""
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
