"""Finds named fields in JSON that names them by values: `{columns, rows}`, rows below a header, `{name, value}`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from assent.core.member_names import fold

Names = Callable[[str], bool]
"""Whether a field of this name is meant."""
VALUES = frozenset({"value", "values", "val", "content", "text", "data", "answer", "string_value", "stringvalue", "v"})
_LABELS = ("name", "key", "k", "field", "column", "label", "property", "attribute", "header", "id", "title", "type")


class Columns(NamedTuple):
    """The places of named columns in each row of a table, and the list that names them."""

    header: list[Any]
    places: frozenset[int]


def is_labelled(value: Mapping[str, Any], names: Names) -> bool:
    """Whether an object says in one member which field its other member is the value of."""
    return any(isinstance(item, str) and names(item) and fold(key) in _LABELS for key, item in value.items())


def columns_of(value: Mapping[str, Any], names: Names) -> Columns | None:
    """The named columns of an object that has a list of names beside lists of values."""
    lists = [item for item in value.values() if isinstance(item, list)]
    return next((found for one in lists if (found := _named_places(one, names)) is not None), None) if lists else None


def is_pair(item: list[Any], names: Names) -> bool:
    """Whether a list is the name of a field and its value."""
    return len(item) == 2 and isinstance(item[0], str) and names(item[0])


def header_of(rows: list[Any], names: Names) -> Columns | None:
    """The named columns of rows whose first one is a header."""
    return _named_places(rows[0], names) if len(rows) > 1 and isinstance(rows[0], list) else None


def _named_places(header: list[Any], names: Names) -> Columns | None:
    titles = [_title(one) for one in header]
    if not titles or None in titles:
        return None
    places = frozenset(place for place, title in enumerate(titles) if title is not None and names(title))
    return Columns(header, places) if places else None


def _title(column: Any) -> str | None:
    """What a column is called: a text, or an object that names it."""
    if isinstance(column, Mapping):
        return next((item for key, item in column.items() if fold(key) in _LABELS and isinstance(item, str)), None)
    return column if isinstance(column, str) else None
