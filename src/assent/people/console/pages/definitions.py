"""Definitions that wait for an operator's decision."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from assent.people.api.definitions import accept_definitions, keep_withheld, list_definitions
from assent.people.console.argument_rows import Piece, differing_parts
from assent.people.console.page import OPERATORS, PageError, PageRequest, on

GRADES = ("effect", "schema", "wording")
_BETWEEN = "\x1f"
"""Separates the parts of a choice in a form: no name of a tool holds it."""


async def change_of(page: PageRequest, name: str) -> dict[str, Any] | None:
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


@on("GET", "/tools/changes", OPERATORS)
async def show_changes(page: PageRequest) -> Response:
    """Definitions that nobody has accepted as they are."""
    query = page.filters(list_definitions)
    found = await page.api(list_definitions, query=query)
    changes = [_readable(one) for one in found["definitions"]]
    changes.sort(key=lambda one: (one["kept"] is not None, GRADES.index(one["grade"]), one["upstream"], one["tool"]))
    pins = {"pinned": found["pinned"], "first_sight": found["first_sight"]}
    return page.render("changes.html", changes=changes, grades=GRADES, **pins)


@on("POST", "/tools/changes/review", OPERATORS)
async def review_changes(page: PageRequest) -> Response:
    """The step before a bulk decision: everything that was chosen, in full, with the buttons that decide."""
    chosen = set(page.form.get("choice", []))
    found = await page.api(list_definitions)
    changes = [one for one in map(_readable, found["definitions"]) if one["choice"] in chosen]
    if not changes:
        detail = "Choose some on the page of changes. What changed meanwhile must be chosen anew."
        raise PageError(409, "No definition was chosen, or all of them changed meanwhile.", detail)
    return page.render("review.html", changes=changes, grades=GRADES, missing=len(chosen) - len(changes))


@on("POST", "/tools/changes/accept", OPERATORS, form_of=review_changes)
async def accept_changes(page: PageRequest) -> Response:
    body = {"accept": _choices(page), "reason": page.field("reason").strip()}
    done = await page.api(accept_definitions, form=body)
    state = page.context.gateway
    written = " The lock file is written." if state is not None and state.has_lock_file() else ""
    return page.redirect("/console/tools/changes", f"Accepted: {done['accepted']}.{written}")


@on("POST", "/tools/changes/keep", OPERATORS, form_of=review_changes)
async def keep_changes(page: PageRequest) -> Response:
    body = {"keep": _choices(page), "reason": page.field("reason").strip()}
    done = await page.api(keep_withheld, form=body)
    return page.redirect("/console/tools/changes", f"Kept withheld: {done['kept']}.")


def _choices(page: PageRequest) -> list[dict[str, str]]:
    found = []
    for choice in page.form.get("choice", []):
        parts = choice.split(_BETWEEN)
        if len(parts) != 3:
            raise PageError(400, "The form cannot be read.", "Reload the page and try again.")
        found.append(dict(zip(("upstream", "tool", "digest"), parts, strict=True)))
    return found


def word_diff(before: str | None, after: str | None) -> list[Piece]:
    """The parts in the order of reading. Texts that are too long to compare stand beside each other whole."""
    if before is None or after is None:
        return [("removed" if after is None else "added", after or before or "")]
    return differing_parts(before, after) or [("removed", before), ("added", after)]
