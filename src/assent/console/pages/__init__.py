"""All pages of the console, in the order of the navigation."""

from __future__ import annotations

from assent.console.page import Page
from assent.console.pages import (
    activity,
    approvals,
    audit,
    claims,
    keys,
    operations,
    overview,
    signin,
    stop,
    tools,
    upstreams,
)

PAGES: tuple[Page, ...] = (
    *overview.PAGES,
    *approvals.PAGES,
    *tools.PAGES,
    *activity.PAGES,
    *audit.PAGES,
    *operations.PAGES,
    *claims.PAGES,
    *upstreams.PAGES,
    *stop.PAGES,
    *keys.PAGES,
    *signin.PAGES,
)
