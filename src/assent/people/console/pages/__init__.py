"""All pages of the console."""

from __future__ import annotations

from assent.people.console.page import Page
from assent.people.console.pages import (
    accounts,
    activity,
    agents,
    approvals,
    audit,
    authorize,
    claims,
    connections,
    definitions,
    keys,
    overview,
    passkeys,
    rules,
    search,
    signin,
    signin_oidc,
    step_up,
    stop,
    tools,
)

STORE_PAGES: tuple[Page, ...] = (
    *approvals.PAGES,
    *tools.PAGES,
    *agents.PAGES,
    *search.PAGES,
    *activity.PAGES,
    *audit.PAGES,
    *claims.PAGES,
    *stop.PAGES,
    *signin.PAGES,
    *passkeys.PAGES,
    *step_up.PAGES,
)
"""The pages that need a store and no gateway."""

PAGES: tuple[Page, ...] = (
    *STORE_PAGES,
    *overview.PAGES,
    *rules.PAGES,
    *definitions.PAGES,
    *connections.PAGES,
    *authorize.PAGES,
    *keys.PAGES,
    *accounts.PAGES,
    *signin_oidc.PAGES,
)
"""All pages, which need a gateway."""
