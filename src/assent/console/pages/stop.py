"""The stop switch: block everything, an upstream, a tool or an agent, and release it in steps."""

from __future__ import annotations

from starlette.responses import Response

from assent.console.page import EVERYONE, OPERATORS, Page, PageRequest
from assent.gateway.api.inputs import form_body
from assent.gateway.api.switches import ease_switch, list_switches, release_switch, set_switch

_LEVELS = {"all": "all calls", "effects": "calls that change something"}


async def show_stops(page: PageRequest) -> Response:
    """Switches that are on, and for operators the form; links from other pages fill its fields."""
    found = await page.api(list_switches)
    state, catalogue = page.context.gateway, page.context.ports().catalogue()
    may_stop = page.may(OPERATORS)
    return page.render(
        "stop.html",
        switches=found["switches"],
        may_stop=may_stop,
        levels=_LEVELS,
        tools=sorted(catalogue.tools)[:1000] if may_stop else [],
        upstreams=sorted(state.settings.upstreams) if may_stop and state is not None else [],
        given={name: page.query.get(name, "")[:512] for name in ("scope", "target", "tenant")},
    )


async def stop_calls(page: PageRequest) -> Response:
    scope = page.field("scope")
    body = {
        "scope": scope,
        "target": "" if scope == "everything" else page.field("target").strip(),
        "tenant": page.field("tenant").strip() if scope == "principal" else "",
        "level": page.field("level", "all"),
        "reason": page.field("reason").strip(),
    }
    await page.api(set_switch, body=form_body(set_switch, body))
    return page.redirect("/console/stop", "Stopped. It holds here now, and in other replicas within a second.")


async def ease_stop(page: PageRequest) -> Response:
    body = form_body(ease_switch, {"reason": page.field("reason").strip()})
    await page.api(ease_switch, names={"switch": page.path["id"]}, body=body)
    return page.redirect("/console/stop", "Eased: calls that only read pass again. Effects stay stopped.")


async def release_stop(page: PageRequest) -> Response:
    body = form_body(release_switch, {"reason": page.field("reason").strip()})
    await page.api(release_switch, names={"switch": page.path["id"]}, body=body)
    return page.redirect("/console/stop", "Released. Calls pass again.")


PAGES = (
    Page("GET", "/stop", show_stops, EVERYONE, "Stop switch"),
    Page("POST", "/stop", stop_calls, OPERATORS),
    Page("POST", "/stop/{id}/ease", ease_stop, OPERATORS),
    Page("POST", "/stop/{id}/release", release_stop, OPERATORS),
)
