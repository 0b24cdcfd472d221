"""The overview of the gateway, its upstreams, and the conversations of flow control."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from assent.people.api.overview import list_conversations, list_upstreams, show_overview
from assent.people.console.page import EVERYONE, PageRequest, on


@on("GET", "/overview", EVERYONE, "Overview")
async def overview(page: PageRequest) -> Response:
    found = await page.api(show_overview)
    return page.render("overview.html", overview=found, charts=_charts(found.get("gateway")))


def _charts(gateway: dict[str, Any] | None) -> dict[str, Any]:
    if gateway is None:
        return {}
    minutes = gateway["minutes"]
    buckets = [(one["seconds"], one["count"]) for one in gateway["latency"]["buckets"]]
    last = max((index for index, (_, count) in enumerate(buckets) if count), default=-1)
    return {
        "minutes": [
            (f"{ago} min ago" if ago else "now", one["answered"], one["refused"])
            for ago, one in zip(range(len(minutes) - 1, -1, -1), minutes, strict=True)
        ],
        "latency": [(_bound(name), count) for name, count in buckets[: last + 1]],
    }


def _bound(seconds: str) -> str:
    if seconds == "more":
        return "longer"
    value = float(seconds)
    return f"≤ {value * 1000:g} ms" if value < 1 else f"≤ {value:g} s"


STAFF: frozenset[str] = frozenset({"operator", "auditor", "admin"})


@on("GET", "/upstreams", STAFF, "Upstreams")
async def show_upstreams(page: PageRequest) -> Response:
    found = await page.api(list_upstreams)
    return page.render("upstreams.html", upstreams=found["upstreams"], may_stop=page.may(frozenset({"operator"})))


@on("GET", "/conversations", STAFF, "Conversations", is_used=lambda page: page.ports.rules.flow is not None)
async def show_conversations(page: PageRequest) -> Response:
    return page.render("conversations.html", **await page.api(list_conversations))
