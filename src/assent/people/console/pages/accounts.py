"""Accounts of people, for administrators. An administrator manages their own tenant; an operator every tenant."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from assent.core.principal import ROLES
from assent.core.record_scope import OPERATOR, is_operator
from assent.people.api.accounts import (
    change_roles,
    create_account,
    disable_account,
    list_accounts,
    reset_account,
)
from assent.people.console.address import address_of
from assent.people.console.page import ADMINS, Page, PageRequest

HOME = "/console/accounts"


async def show_accounts(page: PageRequest) -> Response:
    found = await page.api(list_accounts, query=page.filters(list_accounts))
    operator = is_operator(page.principal)
    roles = [role for role in ROLES if role != OPERATOR or operator]
    return page.render(
        "accounts.html", accounts=found["accounts"], more=found["next"], roles=roles, all_tenants=operator
    )


async def create(page: PageRequest) -> Response:
    body = {"name": page.field("name"), "tenant": page.field("tenant"), "roles": page.form.get("role", [])}
    return _with_link(page, await page.api(create_account, form=body))


async def set_roles(page: PageRequest) -> Response:
    form = {"roles": page.form.get("role", [])}
    done = await page.api(change_roles, names=_named(page), form=form)
    return page.redirect(HOME, f"{done['name']} has other roles and was signed out.")


async def reset(page: PageRequest) -> Response:
    return _with_link(page, await page.api(reset_account, names=_named(page)))


async def disable(page: PageRequest) -> Response:
    done = await page.api(disable_account, names=_named(page))
    return page.redirect(HOME, f"{done['name']} is disabled and signed out.")


def _named(page: PageRequest) -> dict[str, str]:
    return {"account": page.path["name"]}


def _with_link(page: PageRequest, made: dict[str, Any]) -> Response:
    link = f"{address_of(page)}{made['enrol']}"
    return page.redirect(HOME, f"Send this link to {made['name']}. It works once, for a day: {link}")


PAGES = (
    Page("GET", "/accounts", show_accounts, ADMINS, "Accounts"),
    Page("POST", "/accounts", create, ADMINS),
    Page("POST", "/accounts/{name}/roles", set_roles, ADMINS),
    Page("POST", "/accounts/{name}/reset", reset, ADMINS),
    Page("POST", "/accounts/{name}/disable", disable, ADMINS),
)
