"""The overview of the gateway, its upstreams, and the conversations of flow control."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from assent.people.api.conversations import list_conversations
from assent.people.api.overview import show_overview
from assent.people.api.upstreams import list_upstreams
from assent.people.console.page import EVERYONE, Page, PageRequest

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


async def overview(page: PageRequest) -> Response:
    found = await page.api(show_overview)
    return page.render("overview.html", overview=found, charts=_charts(found.get("gateway")))


def _charts(gateway: dict[str, Any] | None) -> dict[str, Any]:
    if gateway is None:
        return {}
    minutes = [(one["answered"], one["refused"]) for one in gateway["minutes"]]
    buckets = [(one["seconds"], one["count"]) for one in gateway["latency"]["buckets"]]
    last = max((index for index, (_, count) in enumerate(buckets) if count), default=-1)
    return {
        "minutes": columns(minutes),
        "stages": rows(list(gateway["stages"].items()), "bad"),
        "latency": rows([(_bound(name), count) for name, count in buckets[: last + 1]]),
    }


def _bound(seconds: str) -> str:
    if seconds == "more":
        return "longer"
    value = float(seconds)
    return f"≤ {value * 1000:g} ms" if value < 1 else f"≤ {value:g} s"


STAFF: frozenset[str] = frozenset({"operator", "auditor", "admin"})


async def show_upstreams(page: PageRequest) -> Response:
    found = await page.api(list_upstreams)
    return page.render("upstreams.html", upstreams=found["upstreams"], may_stop=page.may(frozenset({"operator"})))


async def show_conversations(page: PageRequest) -> Response:
    return page.render("conversations.html", **await page.api(list_conversations))


PAGES = (
    Page("GET", "/overview", overview, EVERYONE, "Overview"),
    Page("GET", "/upstreams", show_upstreams, STAFF, "Upstreams"),
    Page("GET", "/conversations", show_conversations, STAFF, "Conversations"),
)
