"""All pages of the console, in the order of the navigation."""

from __future__ import annotations

from assent.console.page import Page
from assent.console.pages import activity, approvals, audit, claims, operations, signin

PAGES: tuple[Page, ...] = (
    *approvals.PAGES,
    *activity.PAGES,
    *audit.PAGES,
    *operations.PAGES,
    *claims.PAGES,
    *signin.PAGES,
)
