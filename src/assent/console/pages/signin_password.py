"""Sign-in with password and one-time code, and enrolment by a one-time link."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from starlette.responses import Response

from assent.console.address import address_of, passkey_domain
from assent.console.attempts import count_attempt, forget_attempts
from assent.console.page import PUBLIC, Page, PageError, PageRequest
from assent.console.pages.signin import start_session
from assent.console.passkeys import Ceremony, creation_options, new_challenge
from assent.console.passwords import hash_password, password_fault, password_matches
from assent.gateway.people.accounts import (
    Account,
    Enrolment,
    find_account,
    find_enrolment,
    keep_account,
    use_code,
    use_enrolment,
)
from assent.gateway.people.totp import app_link, matching_counter, new_secret

_NOBODYS_SECRET = new_secret()


async def sign_in_by_password(page: PageRequest) -> Response:
    """Sign in with name, password and code. Every failure looks the same and takes the same time."""
    account = await authenticate(page, page.field("name").strip().lower(), page.field("password"), page.field("code"))
    now = page.context.ports().now()
    return await start_session(page, account.principal(now), "password", account.name, page.field("next"))


async def authenticate(page: PageRequest, name: str, password: str, code: str) -> Account:
    """The account whose password and current code these are; counts the attempt."""
    needs_accounts(page)
    ports, address = page.context.ports(), client_address(page)
    await count_attempt(ports.store, name, address, ports.now())
    account = await find_account(ports, name)
    usable = account is not None and not account.disabled and account.totp is not None
    right = await password_matches(password, account.password if account and usable else None)
    secret, last = (account.totp or _NOBODYS_SECRET, account.totp_last) if account else (_NOBODYS_SECRET, -1)
    counter = matching_counter(secret, code, ports.now(), last)
    if account is None or not usable or not right or counter is None or not await use_code(ports, account, counter):
        page.context.count_failure("console.password", page.request.scope)
        detail = "Check all three. A code works once; wait for the next one before you try again."
        raise PageError(403, "Name, password or code is wrong.", detail)
    await forget_attempts(ports.store, name, address, ports.now())
    found = await find_account(ports, name)
    assert found is not None
    return found


def client_address(page: PageRequest) -> str:
    return str((page.request.scope.get("client") or ("unknown", 0))[0])


def needs_accounts(page: PageRequest) -> None:
    if not page.context.settings().accounts:
        raise PageError(404, "This console has no accounts of its own.", "Sign in another way.")


async def show_enrolment(page: PageRequest) -> Response:
    """Where a person sets up how they sign in. Looking at it uses nothing up."""
    enrolment = await enrolment_of(page, page.query.get("token", ""))
    return page.render("enrol.html", **enrolment_values(page, enrolment, page.query["token"]))


def enrolment_values(page: PageRequest, enrolment: Enrolment, token: str, fault: str = "") -> dict[str, Any]:
    spaced = " ".join(enrolment.totp[at : at + 4] for at in range(0, len(enrolment.totp), 4))
    link = app_link(enrolment.totp, enrolment.account, "Assent")
    values = {"account": enrolment.account, "token": token, "secret": spaced, "app_link": link, "fault": fault}
    return {**values, "passkey": _passkey_options(page, enrolment)}


def _passkey_options(page: PageRequest, enrolment: Enrolment) -> str:
    """What the browser needs to make a passkey; empty where the console is open under a bare address."""
    domain, ports = passkey_domain(page), page.context.ports()
    if domain is None:
        return ""
    challenge = new_challenge(ports.keyed_hash, f"enrol {enrolment.account}", ports.now())
    return creation_options(Ceremony(domain, address_of(page)), enrolment.owner, enrolment.account, challenge, [])


async def enrolment_of(page: PageRequest, token: str) -> Enrolment:
    needs_accounts(page)
    enrolment = await find_enrolment(page.context.ports(), token)
    if enrolment is None:
        page.context.count_failure("console.enrolment", page.request.scope)
        detail = "A link works once, for a day. Ask your administrator for a new one."
        raise PageError(403, "This enrolment link was used or has expired.", detail)
    return enrolment


async def enrol_password(page: PageRequest) -> Response:
    """Set password and authenticator app, and sign in."""
    token, password = page.field("token"), page.field("password")
    enrolment, ports = await enrolment_of(page, token), page.context.ports()
    fault = password_fault(password, enrolment.account)
    if password != page.field("again"):
        fault = "The two passwords differ."
    counter = matching_counter(enrolment.totp, page.field("code"), ports.now())
    if fault is None and counter is None:
        fault = "The code is wrong. Check that the phone's clock is right, and use the newest code."
    if fault is not None:
        return page.render("enrol.html", 422, **enrolment_values(page, enrolment, token, fault))
    hashed = await hash_password(password)
    account = await enrolled_account(page, enrolment, token)
    assert counter is not None
    changed = replace(account, password=hashed, totp=enrolment.totp, totp_last=counter)
    return await finish_enrolment(page, changed, "account.enrol_password", "password")


async def enrolled_account(page: PageRequest, enrolment: Enrolment, token: str) -> Account:
    """The account of a link that is used up now."""
    ports = page.context.ports()
    account = await find_account(ports, enrolment.account)
    if account is None or account.disabled or not await use_enrolment(ports, token):
        raise PageError(403, "This enrolment link can no longer be used.", "Ask your administrator for a new one.")
    return account


async def finish_enrolment(page: PageRequest, account: Account, action: str, method: str) -> Response:
    ports = page.context.ports()
    person = account.principal(ports.now())
    if await keep_account(ports, account, action, person) is None:
        raise PageError(409, "The account was changed meanwhile.", "Ask your administrator for a new link.")
    return await start_session(page, person, method, account.name, "/console/account")


PAGES = (
    Page("POST", "/signin/password", sign_in_by_password, PUBLIC),
    Page("GET", "/enrol", show_enrolment, PUBLIC),
    Page("POST", "/enrol/password", enrol_password, PUBLIC),
)
