"""Durations are whole numbers of seconds, minutes, hours or days."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.contract.fields import format_duration, parse_duration
from support.suite.hypothesis_profile import steady


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1s", 1), ("15m", 900), ("12h", 43_200), ("30d", 2_592_000), (45, 45), ("36600d", 3162240000)],
)
def test_a_duration_is_read_in_seconds(text: Any, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "value",
    [
        *(
            "",
            "15",
            "m",
            "0s",
            "-1s",
            "+1s",
            "1.5h",
            "1h30m",
            "15 m",
            " 15m",
            "15m\n",
            "15M",
            "1w",
            "١m",
            "9" * 12 + "s",
        ),
        *(0, -1, 1.5, True, None, [], "36601d", 2**60),
    ],
)
def test_what_is_no_duration_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration(value)


@steady
@given(st.integers(1, 100 * 366 * 86400))
def test_a_duration_reads_back_as_it_was_written(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@pytest.mark.parametrize(("seconds", "text"), [(86400, "1d"), (7200, "2h"), (5400, "90m"), (61, "61s"), (1, "1s")])
def test_the_largest_unit_that_fits_is_written(seconds: int, text: str) -> None:
    assert format_duration(seconds) == text
