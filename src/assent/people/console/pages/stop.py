"""The stop switch: block everything, an upstream, a tool or an agent, and release it in steps."""

from __future__ import annotations

from starlette.responses import Response

from assent.core.hidden_characters import is_plain
from assent.core.stop_switch import StopScope
from assent.people.api.switches import ease_switch, list_switches, release_switch, set_switch, stop_targets
from assent.people.console.page import EVERYONE, OPERATORS, PageRequest, on

_LEVELS = {"all": "all calls", "effects": "calls that change something"}


@on("GET", "/stop", EVERYONE, "Stop switch")
async def show_stops(page: PageRequest) -> Response:
    """Switches that are on, and for operators the form; links from other pages fill its fields."""
    found = await page.api(list_switches)
    may_stop = page.may(OPERATORS)
    known = await _known_targets(page) if may_stop else {}
    return page.render(
        "stop.html",
        switches=found["switches"],
        may_stop=may_stop,
        levels=_LEVELS,
        known=known,
        given={name: page.query.get(name, "")[:512] for name in ("scope", "target", "tenant")},
    )


async def _known_targets(page: PageRequest) -> dict[str, list[str]]:
    """What there is to stop, by kind. A name with characters that nobody sees is not offered."""
    targets = stop_targets(page.request_of_api())
    scopes: dict[str, StopScope] = {"upstream": "upstream", "caller": "principal", "tool": "tool"}
    return {label: sorted(filter(is_plain, await targets.names(scope)))[:1000] for label, scope in scopes.items()}


@on("POST", "/stop", OPERATORS, form_of=show_stops)
async def stop_calls(page: PageRequest) -> Response:
    scope = page.field("scope")
    body: dict[str, object] = {
        "scope": scope,
        "target": "" if scope == "everything" else page.field("target").strip(),
        "tenant": page.field("tenant").strip() if scope == "principal" else "",
        "level": page.field("level", "all"),
        "reason": page.field("reason").strip(),
    }
    if page.field("anyway"):
        body["anyway"] = True
    await page.api(set_switch, form=body)
    return page.redirect("/console/stop", "Stopped. It holds here now, and in other replicas within a second.")


@on("POST", "/stop/{id}/ease", OPERATORS, form_of=show_stops)
async def ease_stop(page: PageRequest) -> Response:
    form = {"reason": page.field("reason").strip()}
    await page.api(ease_switch, names={"switch": page.path["id"]}, form=form)
    return page.redirect("/console/stop", "Eased: calls that only read pass again. Effects stay stopped.")


@on("POST", "/stop/{id}/release", OPERATORS, form_of=show_stops)
async def release_stop(page: PageRequest) -> Response:
    form = {"reason": page.field("reason").strip()}
    await page.api(release_switch, names={"switch": page.path["id"]}, form=form)
    return page.redirect("/console/stop", "Released. Calls pass again.")
