"""The overview: what happens at the gateway, in a few numbers and charts."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from assent.people.api.overview import show_overview
from assent.people.console.charts import columns, rows
from assent.people.console.page import EVERYONE, Page, PageRequest


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


PAGES = (Page("GET", "/overview", overview, EVERYONE, "Overview"),)
