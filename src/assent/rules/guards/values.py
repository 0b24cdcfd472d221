"""Finds the values that a guard checks: in named fields, or everywhere, at any depth; and reads numbers exactly."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

from assent.contract.member_names import fold
from assent.contract.pointers import tokens

T = TypeVar("T")
Named = tuple[str, Any]
"""A value with its path, such as `message.to[0]`."""


class Fields:
    """The fields that a guard names: by name at any depth, or by JSON pointer at one place, in every spelling."""

    def __init__(self, given: Iterable[str], names: Container[str] | None = None) -> None:
        own = frozenset(fold(name) for name in given if not name.startswith("/"))
        self._names: Container[str] = own if names is None else names
        self._pointers = tuple(tuple(map(fold, tokens(one))) for one in given if one.startswith("/"))

    def pick(self, document: Any) -> list[Any]:
        """The values of the fields."""
        found: list[Any] = []
        if self._names:
            _pick_named(document, self._names, found)
        for pointer in self._pointers:
            found += [value for _, value in _follow(document, pointer, "")]
        return found

    def names(self, key: str) -> bool:
        """Whether a field of this name is meant at any depth."""
        return fold(key) in self._names

    def spots(self, document: Any) -> set[tuple[int, str]]:
        """The places that pointers lead to: the identity of the object, and the name in it."""
        return {spot for pointer in self._pointers for spot in _spots(document, pointer)}

    def find_values(self, document: Any) -> list[Named]:
        """The values of the fields with their paths."""
        found: list[Named] = []
        if self._names:
            _name_named(document, self._names, "", found)
        for pointer in self._pointers:
            found += _follow(document, pointer, "")
        return found


def _pick_named(value: Any, names: Container[str], found: list[Any]) -> None:
    if type(value) is dict:
        for name, item in value.items():
            if (name.lower() if name.isascii() else fold(name)) in names:
                found.append(item)
            elif type(item) is dict or type(item) is list:
                _pick_named(item, names, found)
    elif type(value) is list:
        for item in value:
            if type(item) is dict or type(item) is list:
                _pick_named(item, names, found)


def _name_named(value: Any, names: Container[str], path: str, found: list[Named]) -> None:
    if isinstance(value, Mapping):
        for name, item in value.items():
            below = f"{path}.{name}" if path else name
            if fold(name) in names:
                found.append((below, item))
            else:
                _name_named(item, names, below, found)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _name_named(item, names, f"{path}[{index}]", found)


def _follow(value: Any, pointer: tuple[str, ...], path: str) -> Iterator[Named]:
    """Every value that a pointer leads to; `*` stands for each item, and a list is entered without an index too."""
    if not pointer:
        yield path, value
        return
    step, rest = pointer[0], pointer[1:]
    if isinstance(value, Mapping):
        for name, item in value.items():
            if step == "*" or fold(name) == step:
                yield from _follow(item, rest, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if step == "*" or step == str(index):
                yield from _follow(item, rest, f"{path}[{index}]")
            elif not step.isdecimal():
                yield from _follow(item, pointer, f"{path}[{index}]")


def _spots(value: Any, pointer: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    step, rest = pointer[0], pointer[1:]
    if isinstance(value, dict):
        for name, item in value.items():
            if step == "*" or fold(name) == step:
                yield from _spots(item, rest) if rest else [(id(value), name)]
    elif isinstance(value, list):
        for index, item in enumerate(value):
            below = rest if step in ("*", str(index)) else pointer
            yield from _spots(item, below) if below else ()


def any_scalar(values: Iterable[Any], objects: Callable[[Any, T], Any], context: T, passed: frozenset[type]) -> bool:
    """Whether `objects` returns something for any scalar or key of an object; types in `passed` are skipped."""
    for value in values:
        kind = type(value)
        if kind in passed:
            continue
        if kind is dict:
            if any_scalar(value, objects, context, passed) or any_scalar(value.values(), objects, context, passed):
                return True
        elif kind is list:
            if any_scalar(value, objects, context, passed):
                return True
        elif objects(value, context) is not None:
            return True
    return False


def named_scalars(path: str, value: Any) -> Iterator[Named]:
    """Every scalar below a value with its path. Keys of objects count as texts."""
    kind = type(value)
    if kind is dict:
        for key, item in value.items():
            below = f"{path}.{key}" if path else key
            yield below, key
            yield from named_scalars(below, item)
    elif kind is list:
        for index, item in enumerate(value):
            yield from named_scalars(f"{path}[{index}]", item)
    else:
        yield path, value


def texts_in(value: Any) -> Iterator[str]:
    """Every text below a value, keys included."""
    return (text for _, text in named_scalars("", value) if isinstance(text, str))


MOST_DIGITS = 400
_READABLE = (int, float, str)


def read_number(value: Any) -> Decimal | None:
    """The exact number that a value states; None for anything else. Texts in other digits and with exponents count."""
    kind = type(value)
    if kind is int:
        return Decimal(value)
    if kind is bool or not isinstance(value, _READABLE):
        return None
    if isinstance(value, str) and len(value) > MOST_DIGITS:
        return None
    try:
        number = Decimal(repr(value) if isinstance(value, float) else str(value).strip().replace("_", ""))
    except (InvalidOperation, ValueError):
        return None
    return None if number.is_nan() else number
