"""Values in the arguments of a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assent.rules.flow.result_values import MOST_IN_RESULT
from assent.rules.flow.values import Readings, Value, number_of

MOST_LEAVES = 1_000
"""How many values of a call are looked at."""


def value_of(given: object, readings: Readings) -> Value:
    """The value that an argument is, as a whole."""
    if isinstance(given, str):
        return readings[given].value
    number = number_of(given)
    return Value("number", number, number)


def leaves_of(arguments: Mapping[str, Any]) -> tuple[list[Any], bool]:
    """The texts and numbers that a call passes to its tool, and whether these are all.

    A name that is no identifier was chosen by the caller, so it is a text too.
    """
    left, found = [MOST_LEAVES - 1, MOST_IN_RESULT], list[Any]()
    _collect_record(arguments, left, found)
    return found, left[0] >= 0 and left[1] >= 0


def _collect_record(record: Mapping[str, Any], left: list[int], found: list[Any]) -> None:
    for key, item in record.items():
        _collect(item, left, found)
        if not key.isidentifier():
            found.append(key)


def _collect(node: Any, left: list[int], found: list[Any]) -> None:
    left[0] -= 1
    if left[0] < 0 or left[1] < 0 or node is None or node is True or node is False:
        return
    kind = type(node)
    if kind is str:
        left[1] -= len(node)
        found.append(node)
    elif kind is dict or isinstance(node, Mapping):
        _collect_record(node, left, found)
    elif kind is list or kind is tuple:
        for item in node:
            _collect(item, left, found)
    else:
        found.append(node)
