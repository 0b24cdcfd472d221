"""Which moment does a value name?"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any


def as_time(value: Any, otherwise: float) -> float:
    """Seconds since the epoch for a number or an RFC 3339 text; `otherwise` for what names no moment."""
    if isinstance(value, bool):
        return otherwise
    if isinstance(value, int | float):
        return _of_number(value, otherwise)
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return otherwise
    return otherwise


def _of_number(value: float, otherwise: float) -> float:
    """Seconds or, beyond the year 5138, milliseconds; a number no calendar has names no moment."""
    if not 0 <= value <= 1e14:
        return otherwise
    return value / 1000 if value > 1e11 else float(value)
