"""Reads numbers and amounts exactly, as numbers or as text."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

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
