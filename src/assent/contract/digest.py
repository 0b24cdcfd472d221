"""What is the one fingerprint of a document?"""

from __future__ import annotations

import hashlib
from typing import Any

import orjson
import rfc8785

SAFE_INTEGER = 2**53 - 1
MOST_DEPTH = 200


class NotCanonicalError(ValueError):
    """A value that has no canonical form: an unsafe integer, a number that is none, broken text, a bad key."""


def canonical(value: Any) -> bytes:
    """The RFC 8785 form. Plain documents take a fast path that gives the same bytes."""
    try:
        if _plain(value, MOST_DEPTH):
            return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        _check_depth(value)
        return rfc8785.dumps(value)
    except NotCanonicalError:
        raise
    except (rfc8785.CanonicalizationError, TypeError, ValueError, RecursionError) as error:
        raise NotCanonicalError(str(error)) from error


def digest_of(value: Any) -> str:
    """`sha256:` and the hexadecimal digest of the canonical form."""
    return "sha256:" + hashlib.sha256(canonical(value)).hexdigest()


def _plain(value: Any, depth: int) -> bool:
    """Whether orjson's sorted form is the canonical one: plain numbers, ASCII keys, safe integers."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        if not -SAFE_INTEGER <= value <= SAFE_INTEGER:
            raise NotCanonicalError("an integer is beyond ±(2^53-1)")
        return True
    if kind is float:  # written alike by both where neither is whole nor needs an exponent
        return 1e-5 <= abs(value) < 1e15 and not value.is_integer()
    if kind is dict:
        _descend(depth)
        for key, item in value.items():
            if type(key) is not str or not key.isascii():
                return False
            if not _plain(item, depth - 1):
                return False
        return True
    if kind is list or kind is tuple:
        _descend(depth)
        for item in value:  # noqa: SIM110 - all() costs a generator per list
            if not _plain(item, depth - 1):
                return False
        return True
    return False


def _descend(depth: int) -> None:
    if depth <= 0:
        raise NotCanonicalError(f"it is nested beyond the recursion limit of {MOST_DEPTH} levels")


def _check_depth(value: Any) -> None:
    """The fast path's bound for what does not take it, so that both end at the same depth."""
    level = [value]
    for depth in range(MOST_DEPTH, -1, -1):
        level = [node for node in level if isinstance(node, dict | list | tuple)]
        if not level:
            return
        _descend(depth)
        level = [item for node in level for item in (node.values() if isinstance(node, dict) else node)]
