"""All pages of the console."""

from __future__ import annotations

from assent.people.console.page import DECLARED, Page
from assent.people.console.pages import (  # noqa: F401 - importing a module declares its pages
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

PAGES: tuple[Page, ...] = tuple(sorted(DECLARED, key=lambda page: "{" in page.path))
"""All pages, which need a gateway; those without a name in the path come first."""
_OF_A_GATEWAY = (accounts, authorize, connections, definitions, keys, overview, rules, signin_oidc)
STORE_PAGES = tuple(one for one in PAGES if one.handler.__module__ not in {home.__name__ for home in _OF_A_GATEWAY})
"""The pages that need a store and no gateway."""
