"""Filters in the address of a page, read by the rules of the API operation behind it."""

from __future__ import annotations

from typing import Any

from assent.people.api.routes import Route
from assent.people.console.page import PageError, PageRequest


def read_query(page: PageRequest, route: Route, also: tuple[str, ...] = ()) -> dict[str, Any]:
    """The parameters of the operation, read and checked. A form sends empty fields: they count as not given."""
    known, read = {one.name: one for one in route.parameters}, dict[str, Any]()
    for name, value in page.request.query_params.multi_items():
        if name in also or value == "":
            continue
        if name not in known:
            raise PageError(400, f"There is no filter {name[:40]}.", f"There are {', '.join(known)}.")
        if name in read:
            raise PageError(400, f"The filter {name} is given twice.", "Give it once.")
        read[name] = known[name].read(value)
    return read
