"""Which moment does a value name?"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any


def as_time(value: Any, otherwise: float) -> float:
    """Seconds since the epoch for a number or an RFC 3339 text; `otherwise` for what names no moment."""
    if isinstance(value, bool):
        return otherwise
    if isinstance(value, int | float):
        return float(value) / 1000 if value > 1e11 else float(value)
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return otherwise
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return otherwise
