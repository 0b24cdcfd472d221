"""API keys: list, make (shown once) and revoke."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from assent.core.principal import KINDS, ROLES
from assent.people.api.keys import create_key, list_keys, revoke_key
from assent.people.console.page import KEEPERS, PageRequest, on

_EXPIRIES = (
    ("90d", "90 days"),
    ("30d", "30 days"),
    ("7d", "7 days"),
    ("1d", "1 day"),
    ("365d", "1 year"),
    ("", "never"),
)


@on("GET", "/keys", KEEPERS, "Keys")
async def show_keys(page: PageRequest, made: dict[str, Any] | None = None) -> Response:
    query = page.filters(list_keys)
    found = await page.api(list_keys, query=query)
    operator = "operator" in page.principal.roles
    return page.render(
        "keys.html",
        keys=found["keys"],
        more=found["more"],
        state=query.get("state", "good"),
        made=made,
        kinds=KINDS,
        roles=[one for one in ROLES if operator or one != "operator"],
        expiries=_EXPIRIES,
        tenant=page.principal.tenant,
        any_tenant=operator,
    )


@on("POST", "/keys", KEEPERS, form_of=show_keys)
async def make_key(page: PageRequest) -> Response:
    """Make a key and show it. The answer is the page itself: a redirect would have to carry the key."""
    body: dict[str, Any] = {"name": page.field("name").strip(), "kind": page.field("kind"), "mode": page.field("mode")}
    body["scopes"] = page.field("scopes").split()
    body["roles"] = page.form.get("role", [])
    body["tenant"] = page.field("tenant").strip()
    if page.field("expires"):
        body["expires"] = page.field("expires")
    made = await page.api(create_key, form=body)
    return await show_keys(page, made)


@on("POST", "/keys/{start}/revoke", KEEPERS)
async def revoke_one(page: PageRequest) -> Response:
    await page.api(revoke_key, names={"key": page.path["start"]})
    return page.redirect("/console/keys", "Revoked. The key lets nobody in any more.")
