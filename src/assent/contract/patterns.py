"""Regular expressions of schemas, with a bound on the cost of each.

A pattern runs on an engine that is linear in the text. Its worst case is the size of the compiled pattern times the
length of the text, so the larger a pattern, the shorter the texts it may check. A pattern that needs look-around or
a back reference runs on a backtracking engine with few steps and short texts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import jsonschema_rs

MOST_SECONDS = 0.5
"""The maximum time for all patterns of one check."""
_COST = 1_500_000_000
"""Compiled bytes times characters: about half a second in the worst measured case."""
_SIZES = tuple(500 * 2**power for power in range(13))
_BACKTRACKS = 10_000
_SHORT = 1_000
KEY_PATTERN_SIZE = 64_000
"""The largest pattern for property names: the number of names in one call has no bound."""
LINEAR = jsonschema_rs.RegexOptions(size_limit=KEY_PATTERN_SIZE)


class Pattern(NamedTuple):
    """A compiled pattern and the longest text that it may check."""

    fits: Any
    longest: int
    size: int


@lru_cache(4096)
def compile_pattern(text: str) -> Pattern:
    """Compile the pattern on the cheapest engine that accepts it; ValueError if none does."""
    try:
        return compile_linear(text)
    except ValueError:
        pass
    try:
        options: Any = jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACKS, size_limit=_SIZES[-1])
        return Pattern(_fits(text, options), _SHORT, _SIZES[-1])
    except (ValueError, jsonschema_rs.ValidationError):
        raise ValueError(f"the pattern {text[:80]!r} cannot be checked within bounds") from None


@lru_cache(4096)
def compile_linear(text: str) -> Pattern:
    """Compile the pattern on the engine whose time is linear in the text; ValueError if it does not accept it."""
    for size in _SIZES:
        options: Any = jsonschema_rs.RegexOptions(size_limit=size)
        try:
            return Pattern(_fits(text, options), _COST // size, size)
        except (ValueError, jsonschema_rs.ValidationError):
            continue
    raise ValueError(f"the pattern {text[:80]!r} is invalid, too large, or has look-around or a back reference")


def _fits(text: str, options: Any) -> Any:
    return jsonschema_rs.Draft202012Validator({"pattern": text}, pattern_options=options).is_valid


@dataclass(slots=True)
class PatternTimeBudget:
    """The seconds left for the patterns of one check."""

    left: float = MOST_SECONDS


def pattern_keyword(budget: PatternTimeBudget) -> Any:
    """The keyword `pattern` for a validator whose patterns share a time budget."""

    class BoundedPattern:
        def __init__(self, parent: Any, value: Any, path: Any) -> None:
            self._pattern = compile_pattern(value) if isinstance(value, str) else None

        def validate(self, instance: Any) -> None:
            if self._pattern is None or not isinstance(instance, str):
                return
            if len(instance) > self._pattern.longest:
                raise ValueError(
                    f"it is too long for its pattern, which checks at most {self._pattern.longest} characters"
                )
            if budget.left <= 0:
                raise ValueError("there are too many texts to check with patterns; send fewer at once")
            started = time.thread_time()
            fits = self._pattern.fits(instance)
            budget.left -= time.thread_time() - started
            if not fits:
                raise ValueError("it does not match `pattern`")

    return BoundedPattern
