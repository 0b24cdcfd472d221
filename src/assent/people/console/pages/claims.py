"""Claims: calls in flight and in doubt, and how an operator settles one."""

from __future__ import annotations

from starlette.responses import Response

from assent.people.api.claims import list_claims, settle_claim, show_claim
from assent.people.console.page import EVERYONE, OPERATORS, Page, PageError, PageRequest
from assent.people.console.pages.activity import address

ON_A_PAGE = 50
FINDINGS = ("done", "not-done", "failed")
MOST_NOTE = 2000


async def show_claims(page: PageRequest) -> Response:
    """Claims in one state, newest first; without one those in doubt."""
    query = {"state": "in_doubt", "limit": ON_A_PAGE, **page.filters(list_claims)}
    found = await page.api(list_claims, query=query)
    state = "" if query["state"] == "in_doubt" else query["state"]
    older = address({"state": state}, "/console/claims", cursor=found["next"]) if found["next"] else None
    live = "cursor" not in query
    return page.render("claims.html", claims=found["claims"], state=query["state"], older=older, live=live)


async def show_one(page: PageRequest) -> Response:
    claim = await page.api(show_claim, names={"claim": page.path["claim"]})
    return page.render("claim.html", claim=claim, may_settle=page.may(OPERATORS))


async def settle_one(page: PageRequest) -> Response:
    """Settle with a finding and a note that says how the operator knows."""
    finding, note = page.field("finding"), page.field("note").strip()
    if finding not in FINDINGS:
        raise PageError(422, "No finding was chosen.", "Say whether it was done, was not done, or failed.")
    if not note or len(note) > MOST_NOTE:
        detail = f"Write where you looked and what you saw, in at most {MOST_NOTE} characters. The log keeps it."
        raise PageError(422, "The note is missing or too long.", detail)
    body = {"finding": finding, "note": note}
    await page.api(settle_claim, names={"claim": page.path["claim"]}, body=body)
    said = "Settled. A retry with the same key is answered accordingly."
    return page.redirect(f"/console/claims/{page.path['claim']}", said)


PAGES = (
    Page("GET", "/claims", show_claims, EVERYONE, "Claims"),
    Page("GET", "/claims/{claim}", show_one, EVERYONE),
    Page("POST", "/claims/{claim}/settle", settle_one, OPERATORS),
)
