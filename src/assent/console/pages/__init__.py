"""All pages of the console, in the order of the navigation."""

from __future__ import annotations

from assent.console.page import Page
from assent.console.pages import approvals, signin, signin_oidc

PAGES: tuple[Page, ...] = (*approvals.PAGES, *signin.PAGES, *signin_oidc.PAGES)
