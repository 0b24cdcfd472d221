"""Tools by safety, the page of one tool, and definitions that wait for an operator's decision."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from assent.contract.tiers import Risk, Tier
from assent.people.api.definitions import accept_definitions, keep_withheld, list_definitions
from assent.people.api.inputs import form_body, form_query
from assent.people.api.problems import ApiProblem
from assent.people.api.tools import list_tools, show_tool
from assent.people.console.page import EVERYONE, OPERATORS, Page, PageError, PageRequest
from assent.people.console.word_diff import word_diff

PAGE = 200
_FILTERS = ("name", "upstream", "tier", "risk", "confirmation", "state", "used")
_TIERS = [one.value for one in Tier]
_RISKS = [one.value for one in Risk]
_GRADES = ("effect", "schema", "wording")
_BETWEEN = "\x1f"
"""Separates the parts of a choice in a form: no name of a tool holds it."""


async def show_tools(page: PageRequest) -> Response:
    """A page of tools, the riskiest first within it; every filter is part of the address."""
    query = form_query(list_tools, {**page.query, "limit": str(PAGE)})
    found = await page.api(list_tools, query=query)
    state = page.context.gateway
    operator, catalogue = page.may(OPERATORS), page.context.ports().catalogue()
    return page.render(
        "tools.html",
        tools=sorted(found["tools"], key=_danger),
        withheld=[one for one in found.get("withheld", []) if one["name"] not in catalogue.tools],
        count=found["count"],
        next=_address({**page.query, "after": found["next"]}) if found["next"] else "",
        query={name: page.query.get(name, "") for name in _FILTERS},
        is_filtered=any(page.query.get(name) for name in _FILTERS),
        upstreams=sorted(state.settings.upstreams) if operator and state is not None else [],
        tiers=_TIERS,
        risks=_RISKS,
        changes=state.count_changes() if operator and state is not None else 0,
        operator=operator,
    )


def _danger(tool: dict[str, Any]) -> tuple[int, int, str]:
    return -Risk(tool["risk"]).number, -Tier(tool["tier"]).number, tool["name"]


def _address(query: dict[str, str]) -> str:
    return "/console/tools?" + urlencode({name: value for name, value in query.items() if value})


async def show_one_tool(page: PageRequest) -> Response:
    """One tool: served with its contract, or withheld with the reason and its changes."""
    name = page.path["name"]
    change = await _change_of(page, name) if page.may(OPERATORS) else None
    try:
        tool = await page.api(show_tool, names={"tool": name})
    except ApiProblem:
        tool = None
    reason = page.context.ports().catalogue().withheld.get(name) if page.may(OPERATORS) else None
    if tool is None and change is None and reason is None:
        raise PageError(404, "There is no such tool.", "It may be withheld, or not for you to see.")
    return page.render(
        "tool.html", name=name, tool=tool, reason=reason, change=change, grades=_GRADES, operator=page.may(OPERATORS)
    )


async def _change_of(page: PageRequest, name: str) -> dict[str, Any] | None:
    found = await page.api(list_definitions)
    return next((_readable(one) for one in found["definitions"] if one["name"] == name), None)


def _readable(change: dict[str, Any]) -> dict[str, Any]:
    """A change with its texts as words that were kept, taken out or put in, and the value its form sends."""
    lines = [{**one, "words": word_diff(_spread(one["before"]), _spread(one["after"]))} for one in change["changes"]]
    choice = _BETWEEN.join((change["upstream"], change["tool"], change["digest"]))
    return {**change, "changes": lines, "choice": choice}


def _spread(text: str | None) -> str | None:
    """JSON on several lines, so that a large definition can be read; other text as it is."""
    if text is None or not text.startswith(("{", "[")):
        return text
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


async def show_changes(page: PageRequest) -> Response:
    """Definitions that nobody has accepted as they are."""
    query = form_query(list_definitions, {"upstream": page.query.get("upstream", "")})
    found = await page.api(list_definitions, query=query)
    changes = [_readable(one) for one in found["definitions"]]
    changes.sort(key=lambda one: (one["kept"] is not None, _GRADES.index(one["grade"]), one["upstream"], one["tool"]))
    pins = {"pinned": found["pinned"], "first_sight": found["first_sight"]}
    return page.render("changes.html", changes=changes, grades=_GRADES, **pins)


async def review_changes(page: PageRequest) -> Response:
    """The step before a bulk decision: everything that was chosen, in full, with the buttons that decide."""
    chosen = set(page.form.get("choice", []))
    found = await page.api(list_definitions)
    changes = [one for one in map(_readable, found["definitions"]) if one["choice"] in chosen]
    if not changes:
        detail = "Choose some on the page of changes. What changed meanwhile must be chosen anew."
        raise PageError(409, "No definition was chosen, or all of them changed meanwhile.", detail)
    return page.render("review.html", changes=changes, grades=_GRADES, missing=len(chosen) - len(changes))


async def accept_changes(page: PageRequest) -> Response:
    body = {"accept": _choices(page), "reason": page.field("reason").strip()}
    done = await page.api(accept_definitions, body=form_body(accept_definitions, body))
    state = page.context.gateway
    written = " The lock file is written." if state is not None and state.has_lock_file() else ""
    return page.redirect("/console/tools/changes", f"Accepted: {done['accepted']}.{written}")


async def keep_changes(page: PageRequest) -> Response:
    body = {"keep": _choices(page), "reason": page.field("reason").strip()}
    done = await page.api(keep_withheld, body=form_body(keep_withheld, body))
    return page.redirect("/console/tools/changes", f"Kept withheld: {done['kept']}.")


def _choices(page: PageRequest) -> list[dict[str, str]]:
    found = []
    for choice in page.form.get("choice", []):
        parts = choice.split(_BETWEEN)
        if len(parts) != 3:
            raise PageError(400, "The form cannot be read.", "Reload the page and try again.")
        found.append(dict(zip(("upstream", "tool", "digest"), parts, strict=True)))
    return found


PAGES = (
    Page("GET", "/tools", show_tools, EVERYONE, "Tools"),
    Page("GET", "/tools/changes", show_changes, OPERATORS),
    Page("POST", "/tools/changes/review", review_changes, OPERATORS),
    Page("POST", "/tools/changes/accept", accept_changes, OPERATORS),
    Page("POST", "/tools/changes/keep", keep_changes, OPERATORS),
    Page("GET", "/tools/tool/{name:path}", show_one_tool, EVERYONE),
)
