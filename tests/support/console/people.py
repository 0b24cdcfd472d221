"""People with accounts of the gateway's own: an administrator makes one, the person enrols and signs in."""

from __future__ import annotations

import re
from html import unescape

from support.console.plain_browser import Browser


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


async def enrol(person: Browser, link: str) -> None:
    """Use the link up for one session, as somebody does whose browser knows no passkeys."""
    assert (await person.get(link)).status_code == 200
    done = await person.post("/console/enrol/once", {"token": link.partition("token=")[2]})
    assert done.status_code == 303, done.text
