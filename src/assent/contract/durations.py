"""Durations such as `15m`."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_FORM = re.compile(r"([1-9][0-9]{0,9})(s|m|h|d)\Z")
_LONGEST = 100 * 366 * 86400


def parse_duration(value: Any) -> Any:
    """Seconds for `30s`, `15m`, `12h` or `30d`; a whole number is already in seconds."""
    seconds = value
    if isinstance(value, str):
        match = _FORM.match(value)
        if match is None:
            raise ValueError(f"{value[:40]!r} is not a duration; write a whole number and s, m, h or d, such as 15m")
        seconds = int(match[1]) * _UNITS[match[2]]
    if isinstance(seconds, bool) or not isinstance(seconds, int):
        raise ValueError("a duration must be a whole number and s, m, h or d, such as 15m")
    if not 0 < seconds <= _LONGEST:
        raise ValueError(f"{str(value)[:40]} is not a duration between a second and a hundred years")
    return seconds


def format_duration(seconds: int) -> str:
    """The shortest form that reads back as the same number of seconds."""
    for unit in ("d", "h", "m"):
        if seconds % _UNITS[unit] == 0:
            return f"{seconds // _UNITS[unit]}{unit}"
    return f"{seconds}s"


Duration = Annotated[
    int,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema(
        {
            "type": ["string", "integer"],
            "pattern": "^[1-9][0-9]{0,9}(s|m|h|d)$",
            "minimum": 1,
            "maximum": _LONGEST,
            "examples": ["15m"],
        }
    ),
]
