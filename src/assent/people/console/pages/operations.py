"""One operation from question to outcome, on a page that can be printed."""

from __future__ import annotations

from starlette.responses import Response

from assent.people.api.operations import show_operation
from assent.people.console.page import EVERYONE, Page, PageRequest
from assent.people.console.pages.audit import READERS


async def show_one(page: PageRequest) -> Response:
    query = page.filters(show_operation)
    told = await page.api(show_operation, names={"operation": page.path["reference"][:64]}, query=query)
    return page.render("operation.html", told=told, may_audit=page.may(READERS), now=page.context.ports().now())


PAGES = (Page("GET", "/operations/{reference}", show_one, EVERYONE),)
