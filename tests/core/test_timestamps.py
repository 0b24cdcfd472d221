"""A value names a moment, or it does not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from assent.contract.fields import as_time
from support.suite.hypothesis_profile import json_values, steady

OTHERWISE = 12345.0


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2025-12-31T23:59:00Z", 1767225540.0),
        ("2025-12-31T23:59:00+00:00", 1767225540.0),
        ("2026-01-01T00:59:00+01:00", 1767225540.0),
        ("2025-12-31T23:59:00", 1767225540.0),
        ("2025-12-31T23:59:00.5Z", 1767225540.5),
        ("2025-12-31", 1767139200.0),
        (1767225540, 1767225540.0),
        (1767225540.25, 1767225540.25),
        (1767225540000, 1767225540.0),
        (0, 0.0),
        (100_000_000_000, 1e11),
        (100_000_000_001, 1e8),
    ],
)
def test_numbers_and_rfc_3339_texts_name_moments(value: Any, moment: float) -> None:
    assert as_time(value, OTHERWISE) == pytest.approx(moment)


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, False, "", "soon", "2025-13-01", "tomorrow", [], {}, -1, object()),
        *(float("nan"), float("inf"), float("-inf"), 10**400, 1e300, "9" * 5000, "0001-01-01T00:00:00+99:99"),
    ],
    ids=lambda value: repr(value)[:12],
)
def test_what_names_no_moment_gives_the_other(value: Any) -> None:
    assert as_time(value, OTHERWISE) == OTHERWISE


@pytest.mark.parametrize("value", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_the_ends_of_the_calendar_are_no_trouble(value: str) -> None:
    assert isinstance(as_time(value, OTHERWISE), float)


@steady
@given(json_values())
def test_any_document_gives_a_number(value: Any) -> None:
    assert isinstance(as_time(value, OTHERWISE), float)
