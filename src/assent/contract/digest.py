"""Canonical JSON (RFC 8785) and digests of documents."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import orjson
import rfc8785

SAFE_INTEGER = 2**53 - 1
MOST_DEPTH = 200


class NotCanonicalError(ValueError):
    """A value without a canonical form: an unsafe integer, NaN or infinity, broken text, or a key that is not text."""


def canonical(value: Any) -> bytes:
    """The RFC 8785 form. Simple documents take a fast path with the same result."""
    try:
        if _all_simple((value,), MOST_DEPTH):
            return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        _check_depth(value)
        plain = _with_integers(value)
        if _all_simple((plain,), MOST_DEPTH):
            return orjson.dumps(plain, option=orjson.OPT_SORT_KEYS)
        return rfc8785.dumps(value)
    except NotCanonicalError:
        raise
    except (rfc8785.CanonicalizationError, TypeError, ValueError, RecursionError) as error:
        raise NotCanonicalError(str(error)) from error


def digest_of(value: Any) -> str:
    """`sha256:` and the hexadecimal digest of the canonical form."""
    return "sha256:" + hashlib.sha256(canonical(value)).hexdigest()


def _has_simple_keys(value: dict[Any, Any]) -> bool:
    try:
        return "".join(value).isascii()
    except TypeError:  # A key is not text.
        return False


def _all_simple(items: Iterable[Any], depth: int) -> bool:
    """Whether orjson's sorted form equals the canonical one: simple numbers, ASCII keys, safe integers.

    One loop with few calls: it runs for every value of every call.
    """
    for item in items:
        kind = type(item)
        if kind is str:
            continue
        if kind is int:
            if not -SAFE_INTEGER <= item <= SAFE_INTEGER:
                raise NotCanonicalError("an integer is beyond ±(2^53-1)")
        elif kind is float:  # Both write a float alike if it is not whole and needs no exponent.
            if not 1e-5 <= abs(item) < 1e15 or item.is_integer():
                return False
        elif kind is dict:
            if depth <= 0:
                _descend(depth)
            if not _has_simple_keys(item) or not _all_simple(item.values(), depth - 1):
                return False
        elif kind is list or kind is tuple:
            if depth <= 0:
                _descend(depth)
            if not _all_simple(item, depth - 1):
                return False
        elif kind is not bool and item is not None:
            return False
    return True


def _with_integers(value: Any) -> Any:
    """The value with integers for whole floats: their canonical form is the same, as in `12` for a price of 12.00."""
    kind = type(value)
    if kind is float:
        return int(value) if abs(value) < 1e15 and value.is_integer() else value
    if kind is dict:
        return {name: _with_integers(item) for name, item in value.items()}
    return [_with_integers(item) for item in value] if kind is list or kind is tuple else value


def _descend(depth: int) -> None:
    if depth <= 0:
        raise NotCanonicalError(f"it is nested beyond the recursion limit of {MOST_DEPTH} levels")


def _check_depth(value: Any) -> None:
    """Apply the fast path's depth limit to values that do not take it."""
    level = [value]
    for depth in range(MOST_DEPTH, -1, -1):
        level = [node for node in level if isinstance(node, dict | list | tuple)]
        if not level:
            return
        _descend(depth)
        level = [item for node in level for item in (node.values() if isinstance(node, dict) else node)]
