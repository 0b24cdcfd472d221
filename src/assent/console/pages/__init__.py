"""All pages of the console, in the order of the navigation."""

from __future__ import annotations

from assent.console.page import Page
from assent.console.pages import (
    account,
    accounts,
    activity,
    approvals,
    audit,
    authorize,
    claims,
    connections,
    conversations,
    keys,
    operations,
    overview,
    passkeys,
    signin,
    signin_oidc,
    signin_password,
    step_up,
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
    *conversations.PAGES,
    *operations.PAGES,
    *claims.PAGES,
    *upstreams.PAGES,
    *connections.PAGES,
    *authorize.PAGES,
    *stop.PAGES,
    *keys.PAGES,
    *accounts.PAGES,
    *account.PAGES,
    *signin.PAGES,
    *signin_oidc.PAGES,
    *signin_password.PAGES,
    *passkeys.PAGES,
    *step_up.PAGES,
)
