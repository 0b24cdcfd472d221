"""Accounts of people: list, make, change and reset them, and the page where their person enrols."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from assent.core.principal import ROLES
from assent.core.record_scope import OPERATOR, is_operator
from assent.people.accounts import (
    Account,
    Enrolment,
    find_account,
    find_enrolment,
    keep_account,
    use_enrolment,
    withdraw_enrolments,
)
from assent.people.api.accounts import (
    change_roles,
    create_account,
    disable_account,
    list_accounts,
    reset_account,
)
from assent.people.console.page import (
    ADMINS,
    PUBLIC,
    PageError,
    PageRequest,
    address_of,
    on,
)
from assent.people.console.pages.signin import start_session
from assent.people.console.passkeys import ceremony_of, creation_options, new_challenge

HOME = "/console/accounts"


@on("GET", "/accounts", ADMINS, "Accounts", is_used=lambda page: page.site.settings.accounts)
async def show_accounts(page: PageRequest) -> Response:
    found = await page.api(list_accounts, query=page.filters(list_accounts))
    operator = is_operator(page.principal)
    roles = [role for role in ROLES if role != OPERATOR or operator]
    return page.render(
        "accounts.html", accounts=found["accounts"], more=found["next"], roles=roles, all_tenants=operator
    )


@on("POST", "/accounts", ADMINS, form_of=show_accounts)
async def create(page: PageRequest) -> Response:
    body = {"name": page.field("name"), "tenant": page.field("tenant"), "roles": page.form.get("role", [])}
    return _with_link(page, await page.api(create_account, form=body))


@on("POST", "/accounts/{name}/roles", ADMINS, form_of=show_accounts)
async def set_roles(page: PageRequest) -> Response:
    form = {"roles": page.form.get("role", [])}
    done = await page.api(change_roles, names=_path_names(page), form=form)
    return page.redirect(HOME, f"{done['name']} has other roles and was signed out.")


@on("POST", "/accounts/{name}/reset", ADMINS)
async def reset(page: PageRequest) -> Response:
    return _with_link(page, await page.api(reset_account, names=_path_names(page)))


@on("POST", "/accounts/{name}/disable", ADMINS)
async def disable(page: PageRequest) -> Response:
    done = await page.api(disable_account, names=_path_names(page))
    return page.redirect(HOME, f"{done['name']} is disabled and signed out.")


def _path_names(page: PageRequest) -> dict[str, str]:
    return {"account": page.path["name"]}


def _with_link(page: PageRequest, made: dict[str, Any]) -> Response:
    link = f"{address_of(page)}{made['enrol']}"
    return page.redirect(HOME, f"Send this link to {made['name']}. It works once, for a day: {link}")


def needs_accounts(page: PageRequest) -> None:
    if not page.site.settings.accounts:
        raise PageError(404, "This console has no accounts of its own.", "Sign in another way.")


@on("GET", "/enrol", PUBLIC)
async def show_enrolment(page: PageRequest) -> Response:
    """Where a person sets up how they sign in. Looking at it uses nothing up."""
    token = page.query.get("token", "")
    enrolment = await enrolment_of(page, token)
    return page.render("enrol.html", account=enrolment.account, token=token, passkey=_passkey_options(page, enrolment))


def _passkey_options(page: PageRequest, enrolment: Enrolment) -> str:
    """What the browser needs to make a passkey; empty where the console is open under a bare address."""
    at, ports = ceremony_of(page), page.ports
    challenge = new_challenge(ports.keyed_hash, f"enrol {enrolment.account}", ports.now())
    return "" if at is None else creation_options(at, enrolment.owner, enrolment.account, challenge, [])


async def enrolment_of(page: PageRequest, token: str) -> Enrolment:
    needs_accounts(page)
    enrolment = await find_enrolment(page.ports, token)
    if enrolment is None:
        page.context.count_failure("console.enrolment", page.request.scope)
        detail = "A link works once, for a day. Ask your administrator for a new one."
        raise PageError(403, "This link was used or has expired.", detail)
    return enrolment


@on("POST", "/enrol/once", PUBLIC)
async def sign_in_once(page: PageRequest) -> Response:
    """Use the link up for one session, without a passkey."""
    token = page.field("token")
    account = await enrolled_account(page, await enrolment_of(page, token), token)
    return await finish_enrolment(page, account, "account.enrol_once", "link")


async def enrolled_account(page: PageRequest, enrolment: Enrolment, token: str) -> Account:
    """The account of a link that is used up now, with every other link of that account."""
    account = await find_account(page.ports, enrolment.account)
    if account is None or account.disabled or not await use_enrolment(page.ports, token):
        raise PageError(403, "This link can no longer be used.", "Ask your administrator for a new one.")
    await withdraw_enrolments(page.ports, account)
    return account


async def finish_enrolment(page: PageRequest, account: Account, action: str, method: str) -> Response:
    person = account.principal(page.ports.now())
    if (kept := await keep_account(page.ports, account, action, person)) is None:
        raise PageError(409, "The account was changed meanwhile.", "Ask your administrator for a new link.")
    return await start_session(page, person, method, kept, "/console/account")
