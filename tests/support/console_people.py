"""People with accounts of the gateway's own: an administrator makes one, the person enrols and signs in."""

from __future__ import annotations

import re
import time
from html import unescape

import httpx2

from assent.gateway.people.totp import STEP, code_at
from support.console_browser import Browser

PASSWORD = "correct horse battery"


async def make_account(admin: Browser, name: str, roles: tuple[str, ...] = ("approver",), tenant: str = "") -> str:
    """The path of the enrolment link that the administrator gets for a new account."""
    form = {"csrf": await admin.token(), "name": name, "tenant": tenant, "role": list(roles)}
    made = await admin.post("/console/accounts", form)  # type: ignore[arg-type]
    assert made.status_code == 303, made.text
    return await shown_link(admin)


async def shown_link(admin: Browser) -> str:
    page = unescape((await admin.get("/console/accounts")).text)
    found = re.search(r"(/console/enrol\?token=[\w-]+)", page)
    assert found is not None, page
    return found[1]


async def enrol(person: Browser, link: str, password: str = PASSWORD) -> str:
    """Set password and app up; the app's secret."""
    page = (await person.get(link)).text
    secret = re.search(r'secret">([A-Z2-7 ]+)<', page)
    assert secret is not None, page
    app = secret[1].replace(" ", "")
    form = {"token": link.partition("token=")[2], "password": password, "again": password, "code": code(app)}
    done = await person.post("/console/enrol/password", form)
    assert done.status_code == 303, done.text
    return app


def code(secret: str, ahead: int = 0) -> str:
    """The code that the app shows now, or so many steps later: one that was used does not work again."""
    return code_at(secret, int(time.time() // STEP) + ahead)


async def sign_in(person: Browser, name: str, password: str, code: str) -> httpx2.Response:
    return await person.post("/console/signin/password", {"name": name, "password": password, "code": code})
