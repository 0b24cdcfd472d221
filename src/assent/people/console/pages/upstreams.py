"""The state of every upstream."""

from __future__ import annotations

from starlette.responses import Response

from assent.people.api.upstreams import list_upstreams
from assent.people.console.page import Page, PageRequest

STAFF: frozenset[str] = frozenset({"operator", "auditor", "admin"})


async def show_upstreams(page: PageRequest) -> Response:
    found = await page.api(list_upstreams)
    return page.render("upstreams.html", upstreams=found["upstreams"], may_stop=page.may(frozenset({"operator"})))


PAGES = (Page("GET", "/upstreams", show_upstreams, STAFF, "Upstreams"),)
