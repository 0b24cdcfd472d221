"""All pages of the console, in the order of the navigation."""

from __future__ import annotations

from assent.people.console.page import Page
from assent.people.console.pages import (
    account,
    accounts,
    activity,
    approvals,
    audit,
    authorize,
    claims,
    connections,
    conversations,
    enrolment,
    keys,
    operations,
    overview,
    passkeys,
    signin,
    signin_oidc,
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
    *enrolment.PAGES,
    *passkeys.PAGES,
    *step_up.PAGES,
)
