"""Claims: calls in flight and in doubt, and how an operator settles one."""

from __future__ import annotations

from starlette.responses import Response

from assent.people.api.claims import list_claims, settle_claim, show_claim
from assent.people.api.problems import ApiProblem
from assent.people.console.page import EVERYONE, OPERATORS, PageRequest, on
from assent.people.console.pages.activity import address

ON_A_PAGE = 50


@on("GET", "/claims", EVERYONE, "Claims")
async def show_claims(page: PageRequest) -> Response:
    """Claims in one state, newest first; without one those in doubt."""
    query = {"state": "in_doubt", "limit": ON_A_PAGE, **page.filters(list_claims)}
    found = await page.api(list_claims, query=query)
    state = "" if query["state"] == "in_doubt" else query["state"]
    older = address({"state": state}, "/console/claims", cursor=found["next"]) if found["next"] else None
    live = "cursor" not in query
    return page.render("claims.html", claims=found["claims"], state=query["state"], older=older, live=live)


@on("GET", "/claims/{claim}", EVERYONE)
async def show_one(page: PageRequest) -> Response:
    claim = await page.api(show_claim, names={"claim": page.path["claim"]})
    return page.render("claim.html", claim=claim, may_settle=page.may(OPERATORS))


@on("POST", "/claims/{claim}/settle", OPERATORS, form_of=show_one)
async def settle_one(page: PageRequest) -> Response:
    """Settle with a finding and a note that says how the operator knows."""
    finding, note = page.field("finding"), page.field("note").strip()
    if not note:
        raise ApiProblem("api.invalid", "note: write where you looked and what you saw. The log keeps it.")
    body = {"finding": finding, "note": note}
    await page.api(settle_claim, names={"claim": page.path["claim"]}, form=body)
    said = "Settled. A retry with the same key is answered accordingly."
    return page.redirect(f"/console/claims/{page.path['claim']}", said)
