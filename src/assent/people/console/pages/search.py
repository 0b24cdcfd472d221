"""Search over everything that a person may see: exact ids first, then names, by kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from assent.core.outcome import Refusal
from assent.people.api.approvals import list_approvals, show_approval
from assent.people.api.audit_entry import show_entry
from assent.people.api.claims import show_claim
from assent.people.api.fields import ID
from assent.people.api.overview import list_conversations
from assent.people.api.problems import ApiProblem
from assent.people.api.tools import list_tools
from assent.people.console.page import EVERYONE, LOG_READERS, PageRequest, on
from assent.people.console.pages.agents import agents_of, known_callers
from assent.people.console.pages.overview import STAFF

MOST = 128
"""Characters of a query."""
MOST_OF_A_KIND = 10
MOST_APPROVALS = 200
Hit = tuple[str, str, str]
"""The address, the name and what is said beside it."""


@on("GET", "/search", EVERYONE)
async def search(page: PageRequest) -> Response:
    """Everything whose id is the query, or whose name contains it. Each kind is looked for as its own page does."""
    wanted = " ".join(page.query.get("q", "")[:MOST].split())
    found: list[tuple[str, list[Hit]]] = []
    if wanted:
        text = wanted.casefold()
        found = [
            ("Exactly this", await _exact(page, wanted)),
            ("Pages", [hit for hit in _pages(page) if text in hit[1].casefold()]),
            ("Tools", await _tools(page, text)),
            ("Agents", await _agents(page, text)),
            ("Approvals", await _approvals(page, text)),
            ("Conversations", await _conversations(page, text)),
        ]
    return page.render("search.html", wanted=wanted, found=[(kind, hits) for kind, hits in found if hits])


async def _exact(page: PageRequest, wanted: str) -> list[Hit]:
    """The records with this id, the key that begins so, and the operation that the log may have under this name."""
    hits = [
        (f"/console/agents/{quote(who.id)}?tenant={quote(who.tenant)}", f"Key of {who.id}", where)
        for who, where in await known_callers(page)
        if where == f"key {wanted[:-1] if wanted.endswith('…') else wanted}…"
    ]
    if re.fullmatch(r"#?[0-9]{1,15}", wanted) and page.may(LOG_READERS):
        index = wanted.lstrip("#")
        if entry := await _find_record(page, show_entry, entry=str(int(index))):
            hits.append((f"/console/audit/{entry['index']}", f"Entry {entry['index']}", str(entry["text"])))
    if not re.fullmatch(ID, wanted):
        return hits
    if one := await _find_record(page, show_approval, approval=wanted):
        hits.append((f"/console/approvals/{wanted}", *_question(one)))
    if claim := await _find_record(page, show_claim, claim=wanted):
        hits.append((f"/console/claims/{wanted}", f"Claim of {claim['tool']}", claim["state"].replace("_", " ")))
    if one or claim or re.fullmatch("[0-9a-f]{16,64}", wanted):
        hits.append((f"/console/operations/{wanted}", "The operation of this name", "looked for when you open it"))
    return hits


async def _find_record(page: PageRequest, handler: Any, **names: str) -> dict[str, Any] | None:
    """The record of this name, if there is one that this person may see."""
    try:
        return await page.api(handler, names=names)
    except (ApiProblem, Refusal):
        return None


def _pages(page: PageRequest) -> Iterator[Hit]:
    for group, entries in page.request.scope["console_menu"]:
        yield from ((f"/console{one.path}", one.menu, group) for one in entries if page.may(one.roles))


async def _tools(page: PageRequest, text: str) -> list[Hit]:
    """Tools by name or title, those whose name begins with the text first; for operators withheld ones too."""
    said = await page.api(list_tools, query={})
    shown = [(one["name"], one["title"]) for one in said["tools"]]
    shown += [(one["name"], "withheld") for one in said.get("withheld", ())]
    hits = sorted({one for one in shown if text in f"{one[0]} {one[1]}".casefold()})
    hits.sort(key=lambda one: not one[0].casefold().startswith(text))
    return [(f"/console/tools/tool/{quote(name)}", name, title) for name, title in hits[:MOST_OF_A_KIND]]


async def _agents(page: PageRequest, text: str) -> list[Hit]:
    agents, _ = await agents_of(page)
    hits = [(tenant, name) for tenant, name in agents if text in name.casefold()][:MOST_OF_A_KIND]
    return [
        (f"/console/agents/{quote(name)}?tenant={quote(tenant)}", name, f"tenant {tenant}") for tenant, name in hits
    ]


async def _approvals(page: PageRequest, text: str) -> list[Hit]:
    """The newest approvals, by tool, by who asked, and by what the question says."""
    said = await page.api(list_approvals, query={"state": "all", "limit": MOST_APPROVALS})
    hits = [one for one in said["approvals"] if text in f"{one['tool']} {one['requester']} {one['text']}".casefold()]
    return [(f"/console/approvals/{one['id']}", *_question(one)) for one in hits[:MOST_OF_A_KIND]]


def _question(one: dict[str, Any]) -> tuple[str, str]:
    """What was asked, and how it stands."""
    said = (one["details"] or {}).get("sentence") or f"{one['requester']} asks for {one['tool']}."
    return said, {"consumed": "approved and used"}.get(one["state"], one["state"])


async def _conversations(page: PageRequest, text: str) -> list[Hit]:
    said = await page.api(list_conversations) if page.may(STAFF) else {"conversations": []}
    hits = [one for one in said["conversations"] if text in f"{one['name']} {one['principal']}".casefold()]
    return [
        ("/console/conversations", one["name"] or "Unnamed conversation", f"of {one['principal']}") for one in hits
    ][:MOST_OF_A_KIND]
