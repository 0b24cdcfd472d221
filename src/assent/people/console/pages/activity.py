"""The activity feed with filters that are the address, its export as CSV and JSON, and the page of one operation."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import urlencode

import orjson
from starlette.responses import Response, StreamingResponse

from assent.people.api.feed import FEED_OUTCOMES, TIERS, list_activity
from assent.people.api.operations import show_operation
from assent.people.console.page import EVERYONE, LOG_READERS, PageError, PageRequest, on

ON_A_PAGE = 50
MOST_EXPORTED = 100_000
FILTERS = ("tool", "tier", "outcome", "principal", "upstream", "open_world", "since", "until")
COLUMNS = ("time", "index", "who", "text", "outcome", "tool", "tier", "risk", "upstream", "mode", "code", "open_world",
           "would", "claim", "approval")  # fmt: skip


@on("GET", "/activity", EVERYONE, "Activity")
async def show_activity(page: PageRequest) -> Response:
    """The newest lines; `?format=csv` and `?format=json` give all lines of the same view."""
    form = page.query.get("format", "")
    query = page.filters(list_activity, also=("format",), strict=bool(form))
    if form not in ("", "csv", "json"):
        raise PageError(400, "There is no such format.", "Use csv or json.")
    if form:
        return await export_activity(page, query, form)
    found = await page.api(list_activity, query={"limit": ON_A_PAGE, **query})
    chosen = {name: page.query.get(name, "") for name in FILTERS}
    return page.render(
        "activity.html",
        lines=found["lines"],
        older=address(chosen, before=found["next"]) if found["next"] is not None else None,
        newest=address(chosen),
        live="before" not in query,
        chosen=chosen,
        filtered={name: value for name, value in chosen.items() if value},
        address=address,
        outcomes=FEED_OUTCOMES,
        may_audit=page.may(LOG_READERS),
        tiers=TIERS,
    )


@on("GET", "/activity.csv", EVERYONE)
async def show_csv(page: PageRequest) -> Response:
    return await export_activity(page, page.filters(list_activity, strict=True), "csv")


@on("GET", "/activity.json", EVERYONE)
async def show_json(page: PageRequest) -> Response:
    return await export_activity(page, page.filters(list_activity, strict=True), "json")


async def export_activity(page: PageRequest, query: Mapping[str, Any], form: str) -> Response:
    """All lines of a view, newest first, sent as they are found. The first page is read before the answer begins."""
    first = await page.api(list_activity, query={**query, "limit": 200})
    lines = _all_lines(page, query, first)
    kind = "text/csv; charset=utf-8" if form == "csv" else "application/json"
    fields = {"content-disposition": f'attachment; filename="activity.{form}"'}
    return StreamingResponse(_as_csv(lines) if form == "csv" else _as_json(lines), media_type=kind, headers=fields)


async def _all_lines(
    page: PageRequest, query: Mapping[str, Any], found: dict[str, Any]
) -> AsyncIterator[list[dict[str, Any]]]:
    left = MOST_EXPORTED
    while True:
        yield found["lines"][:left]
        left -= len(found["lines"])
        if found["next"] is None or left <= 0:
            return
        found = await page.api(list_activity, query={**query, "limit": 500, "before": found["next"]})


async def _as_json(pages: AsyncIterator[list[dict[str, Any]]]) -> AsyncIterator[bytes]:
    yield b'{"lines":['
    first = True
    async for lines in pages:
        for line in lines:
            yield (b"" if first else b",\n") + orjson.dumps(line)
            first = False
    yield b"]}\n"


async def _as_csv(pages: AsyncIterator[list[dict[str, Any]]]) -> AsyncIterator[bytes]:
    yield _csv_rows([COLUMNS])
    async for lines in pages:
        yield _csv_rows([tuple(_cell(line, name) for name in COLUMNS) for line in lines])


def _cell(line: dict[str, Any], name: str) -> str:
    """A cell. A spreadsheet takes text that begins with one of `=+-@` for a formula: a quote in front prevents that."""
    from assent.people.console.templating import as_iso

    value = as_iso(line["at"]) if name == "time" else line[name]
    text = "" if value is None else " ".join(value) if isinstance(value, list) else str(value)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _csv_rows(rows: list[Any]) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out).writerows(rows)
    return out.getvalue().encode()


def address(chosen: Mapping[str, str], path: str = "/console/activity", **more: Any) -> str:
    """The address of a view: its filters, and nothing else."""
    query = {**chosen, **{name: value for name, value in more.items() if value is not None}}
    query = {name: value for name, value in query.items() if value != ""}
    return path + (f"?{urlencode(query)}" if query else "")


@on("GET", "/operations/{reference}", EVERYONE)
async def show_one(page: PageRequest) -> Response:
    query = page.filters(show_operation)
    told = await page.api(show_operation, names={"operation": page.path["reference"][:64]}, query=query)
    return page.render("operation.html", told=told, may_audit=page.may(LOG_READERS), now=page.ports.now())
