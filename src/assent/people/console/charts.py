"""Small charts, as plain numbers that a template writes as SVG. Colours come from classes, never from styles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 1000
HEIGHT = 110
ROWS_WIDTH = 480
ROW = 26
LABEL = 110


@dataclass(frozen=True, slots=True)
class Bar:
    """One rectangle."""

    x: float
    y: float
    width: float
    height: float
    kind: str = ""
    title: str = ""
    """What a pointer over it shows."""


@dataclass(frozen=True, slots=True)
class ColumnChart:
    """Columns over time, the good below and the bad above."""

    bars: list[Bar]
    most: int
    width: int = WIDTH
    height: int = HEIGHT


@dataclass(frozen=True, slots=True)
class RowChart:
    """Named rows with a bar and a number each."""

    rows: list[tuple[str, Bar, int]]
    width: int
    height: int


def columns(counts: Sequence[tuple[int, int]]) -> ColumnChart:
    """A column for each pair of good and bad."""
    most = max((good + bad for good, bad in counts), default=0)
    step = WIDTH / max(1, len(counts))
    bars: list[Bar] = []
    for index, (good, bad) in enumerate(counts):
        below = HEIGHT * good / most if most else 0.0
        above = HEIGHT * bad / most if most else 0.0
        ago = len(counts) - 1 - index
        title = f"{ago} min ago: {good} answered, {bad} not"
        x, width = round(index * step + 1, 1), round(step - 2, 1)
        if good:
            bars.append(Bar(x, round(HEIGHT - below, 1), width, round(below, 1), "", title))
        if bad:
            bars.append(Bar(x, round(HEIGHT - below - above, 1), width, round(above, 1), "bad", title))
    return ColumnChart(bars, most)


def rows(counts: Sequence[tuple[str, int]], kind: str = "") -> RowChart:
    """A row for each name."""
    most = max((count for _, count in counts), default=0)
    space = ROWS_WIDTH - LABEL - 60
    found = [
        (name, Bar(LABEL, index * ROW + 5, round(space * count / most, 1) if most else 0, ROW - 10, kind), count)
        for index, (name, count) in enumerate(counts)
    ]
    return RowChart(found, ROWS_WIDTH, ROW * len(counts))
