"""Values in the arguments of a call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assent.rules.flow.result_values import MOST_FIELD, MOST_IN_RESULT
from assent.rules.flow.text import MOST_TEXT, decoded, squeezed
from assent.rules.flow.values import Value, amount_of, values_in, whole_value

MOST_LEAVES = 1_000
"""How many values of a call are looked at."""


def values_of(text: str) -> list[Value]:
    """The values in a text and in what it hides."""
    text = text[:MOST_TEXT]
    return [value for one in (text, *decoded(text)) for value in values_in(one)]


def value_of(given: object) -> Value:
    """The value that an argument is, as a whole."""
    text = str(given)
    if not isinstance(given, str):
        number = amount_of(text)
        return Value("number", number, number)
    whole = whole_value(text)
    if whole is not None:
        return whole
    bare = squeezed(text)
    if bare.isdigit():
        return Value("number", amount_of(text), bare)
    return Value("text", bare, bare)


def passed_values(arguments: Mapping[str, Any]) -> Iterator[str]:
    """The values that a call passes to its tool. Short numbers are left out: equal ones mean many things."""
    left = [MOST_LEAVES, MOST_IN_RESULT]
    for leaf in _leaves(arguments, left):
        if isinstance(leaf, str):
            if len(leaf) <= MOST_FIELD:
                yield value_of(leaf).exact
            yield from (one.exact for one in values_of(leaf) if one.kind != "amount")
        elif len(text := amount_of(str(leaf))) > 5:
            yield text


def _leaves(node: Any, left: list[int]) -> Iterator[Any]:
    left[0] -= 1
    if left[0] < 0 or left[1] < 0 or node is None or isinstance(node, bool):
        return
    if isinstance(node, Mapping):
        for key, item in node.items():
            yield from _leaves(item, left)
            if not key.isidentifier():
                yield key
    elif isinstance(node, list | tuple):
        for item in node:
            yield from _leaves(item, left)
    else:
        left[1] -= len(node) if isinstance(node, str) else 0
        yield node
