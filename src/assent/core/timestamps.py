"""Reads points in time from numbers and texts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any


def as_time(value: Any, otherwise: float) -> float:
    """Seconds since the epoch for a number or an RFC 3339 text; `otherwise` for any other value."""
    if isinstance(value, bool):
        return otherwise
    if isinstance(value, int | float):
        return _number_as_time(value, otherwise)
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return otherwise
    return otherwise


def _number_as_time(value: float, otherwise: float) -> float:
    """Read seconds, or milliseconds above 1e11; `otherwise` for a number out of range."""
    if not 0 <= value <= 1e14:
        return otherwise
    return value / 1000 if value > 1e11 else float(value)
