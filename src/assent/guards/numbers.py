"""Reads numbers and amounts exactly, as numbers or as text."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

MOST_DIGITS = 400


def read_number(value: Any) -> Decimal | None:
    """The exact number that a value states; None for anything else. Texts in other digits and with exponents count."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and len(value) > MOST_DIGITS:
        return None
    try:
        number = Decimal(repr(value) if isinstance(value, float) else str(value).strip().replace("_", ""))
    except (InvalidOperation, ValueError):
        return None
    return None if number.is_nan() else number
