"""All pages of the console, in the order of the navigation."""

from __future__ import annotations

from assent.console.page import Page
from assent.console.pages import account, accounts, approvals, passkeys, signin, signin_oidc, signin_password, step_up

PAGES: tuple[Page, ...] = (
    *approvals.PAGES,
    *accounts.PAGES,
    *account.PAGES,
    *signin.PAGES,
    *signin_oidc.PAGES,
    *signin_password.PAGES,
    *passkeys.PAGES,
    *step_up.PAGES,
)
