"""Accounts of people, for administrators. An administrator manages their own tenant; an operator every tenant."""

from __future__ import annotations

from dataclasses import replace

from starlette.responses import Response

from assent.console.accounts import (
    NAME,
    Account,
    accounts_of,
    find_account,
    keep_account,
    make_enrolment,
    withdraw_enrolments,
)
from assent.console.address import address_of
from assent.console.page import ADMINS, Page, PageError, PageRequest
from assent.console.pages.signin_password import needs_accounts
from assent.console.passkey_store import passkeys_of, remove_passkey
from assent.core.principal import ROLES
from assent.core.record_scope import OPERATOR, is_operator

PAGE = 100


async def show_accounts(page: PageRequest) -> Response:
    needs_accounts(page)
    tenant = None if is_operator(page.principal) else page.principal.tenant
    found = await accounts_of(page.context.ports(), tenant, page.query.get("after", ""), PAGE + 1)
    more = found[PAGE - 1].name if len(found) > PAGE else ""
    roles = [role for role in ROLES if role != OPERATOR or is_operator(page.principal)]
    return page.render("accounts.html", accounts=found[:PAGE], more=more, roles=roles, all_tenants=tenant is None)


async def create_account(page: PageRequest) -> Response:
    """Make an account and the link with which its person enrols."""
    needs_accounts(page)
    ports, name = page.context.ports(), page.field("name").strip().lower()
    if not NAME.fullmatch(name):
        rule = "Use up to 64 lower-case letters, digits, dots, hyphens, underscores and @."
        raise PageError(422, "This is no name for an account.", rule)
    draft = Account(name, _tenant(page), _roles(page), ports.now(), page.principal.id)
    account = await keep_account(ports, draft, "account.create", page.principal)
    if account is None:
        raise PageError(409, "There is an account of this name.", "Choose another name; it is unique in the gateway.")
    return await _with_link(page, account)


async def change_roles(page: PageRequest) -> Response:
    """Give an account other roles. Its sessions end, so that none keeps the old ones."""
    account = await _managed(page)
    await _keep(page, replace(account, roles=_roles(page)), "account.roles")
    return page.redirect("/console/accounts", f"{account.name} has other roles and was signed out.")


async def reset_account(page: PageRequest) -> Response:
    """Remove every way in to an account and make a new enrolment link."""
    account = await _managed(page)
    bare = replace(account, password=None, totp=None, totp_last=-1, disabled=False)
    kept, ports = await _keep(page, bare, "account.reset"), page.context.ports()
    owner = account.principal(ports.now())
    for one in await passkeys_of(ports, owner):
        await remove_passkey(ports, owner, one.id, page.principal)
    return await _with_link(page, kept)


async def disable_account(page: PageRequest) -> Response:
    """Lock an account: nobody signs in with it, and its sessions end."""
    account = await _managed(page)
    await _keep(page, replace(account, disabled=True), "account.disable")
    return page.redirect("/console/accounts", f"{account.name} is disabled and signed out.")


async def _keep(page: PageRequest, account: Account, action: str) -> Account:
    ports = page.context.ports()
    kept = await keep_account(ports, account, action, page.principal)
    if kept is None:
        raise PageError(409, "Somebody else changed this account.", "Reload the page and try again.")
    await withdraw_enrolments(ports, account)
    await page.context.sessions.end_all(account.principal(ports.now()))
    return kept


async def _managed(page: PageRequest) -> Account:
    """The account that the form is about, if this administrator manages it; another's is as unknown as none."""
    needs_accounts(page)
    account = await find_account(page.context.ports(), page.path["name"])
    operator = is_operator(page.principal)
    if account is None or not (operator or account.tenant == page.principal.tenant):
        raise PageError(404, "There is no such account.", "Look at the list of accounts.")
    if OPERATOR in account.roles and not operator:
        raise PageError(403, "Only an operator changes an operator's account.", "Ask an operator.")
    return account


def _roles(page: PageRequest) -> tuple[str, ...]:
    chosen = tuple(role for role in ROLES if role in page.form.get("role", ()))
    if not chosen:
        raise PageError(422, "An account needs a role.", "Choose at least one.")
    if OPERATOR in chosen and not is_operator(page.principal):
        raise PageError(403, "Only an operator makes operators.", "An operator sees every tenant. Ask one.")
    return chosen


def _tenant(page: PageRequest) -> str:
    chosen = page.field("tenant").strip() or page.principal.tenant
    if chosen != page.principal.tenant and not is_operator(page.principal):
        raise PageError(403, "You manage the accounts of your own tenant.", "Ask an operator.")
    if not NAME.fullmatch(chosen.lower()):
        raise PageError(422, "This is no name for a tenant.", "Use letters, digits, dots, hyphens and underscores.")
    return chosen


async def _with_link(page: PageRequest, account: Account) -> Response:
    token = await make_enrolment(page.context.ports(), account)
    link = f"{address_of(page)}/console/enrol?token={token}"
    return page.redirect("/console/accounts", f"Send this link to {account.name}. It works once, for a day: {link}")


PAGES = (
    Page("GET", "/accounts", show_accounts, ADMINS, "Accounts"),
    Page("POST", "/accounts", create_account, ADMINS),
    Page("POST", "/accounts/{name}/roles", change_roles, ADMINS),
    Page("POST", "/accounts/{name}/reset", reset_account, ADMINS),
    Page("POST", "/accounts/{name}/disable", disable_account, ADMINS),
)
