"""Every page in a real browser: no serious accessibility fault, no script error, nothing wider than a phone.

Set ASSENT_SCREENSHOTS=docs/images/console to write the pictures of the docs: light, dark, and of a phone.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from assent.core.principal import Principal
from assent.people.accounts import Account, keep_account, make_enrolment
from assent.people.console.pages import PAGES
from assent.people.console.start import sign_in_url
from support.console.chromium import CHROMIUM, chromium_page
from support.console.plain_browser import EVERY_ROLE, signed_in
from support.console.team import Team, team_gateway

AXE = Path(__file__).parents[3] / ".cache" / "idp" / "node_modules" / "axe-core" / "axe.min.js"
PICTURES = os.environ.get("ASSENT_SCREENSHOTS")
SHOWN = ("approvals-phone", "approvals-one-phone", "activity-phone", "rules-phone", "agents-one-phone")
"""The pictures of a phone that the docs show."""
NO_PAGES = (".zip", ".csv", ".json", "/callback")
BACK = "http://127.0.0.1:3030/callback"
DESK, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}
CHECK = """async () => (await axe.run()).violations
    .filter((one) => ["serious", "critical"].includes(one.impact))
    .map((one) => one.id + ": " + one.nodes.map((node) => node.html.slice(0, 160)).join(" | "))"""
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Waits until the page is drawn in the colors that were just chosen."""
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
ANN = Principal("ann", "human", roles=EVERY_ROLE)

pytestmark = pytest.mark.skipif(CHROMIUM is None or not AXE.exists(), reason="there is no browser or no axe-core here")


class Visitor:
    """Opens pages in one tab and collects what is wrong with them."""

    def __init__(self, tab: Any, home: str) -> None:
        self.tab, self.home = tab, home
        self.faults: list[str] = []
        tab.on("pageerror", lambda error: self.faults.append(f"script error: {error}"))

    async def open(self, path: str, name: str, status: int = 200) -> None:
        response = await self.tab.goto(self.home + path)
        assert response is not None and response.status == status, (path, response and response.status)
        await self.look(name)

    async def look(self, name: str, *, reload: bool = True) -> None:
        """Check the page that is open, light and dark and on a phone."""
        for scheme in ("light", "dark"):
            await self.tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            await self.tab.evaluate(DRAWN)
            await self.tab.evaluate(AXE.read_text("utf-8"))
            self.faults += [f"{name} ({scheme}): {fault}" for fault in await self.tab.evaluate(CHECK)]
            await self._picture(f"{name}-{scheme}")
        await self.tab.emulate_media(color_scheme="light")
        await self.tab.set_viewport_size(PHONE)
        if reload:  # so that scripts see a phone
            await self.tab.reload()
        if (wider := await self.tab.evaluate(OVERFLOW)) > 0:
            self.faults.append(f"{name}: {wider} pixels wider than a phone")
        await self._picture(f"{name}-phone")
        await self.tab.set_viewport_size(DESK)

    async def _picture(self, name: str) -> None:
        if PICTURES and not name.startswith("odd") and (not name.endswith("-phone") or name in SHOWN):
            await asyncio.to_thread(Path(PICTURES).mkdir, parents=True, exist_ok=True)
            await self.tab.screenshot(path=str(Path(PICTURES) / f"{name}.png"))


@asynccontextmanager
async def visiting(folder: Path) -> AsyncIterator[tuple[Team, Visitor]]:
    async with team_gateway(folder) as team, chromium_page(bypass_csp=True, viewport=DESK) as tab:
        yield team, Visitor(tab, team.url.removesuffix("/mcp").replace("127.0.0.1", "localhost") + "/console")


def named_pages(team: Team) -> dict[str, str]:
    """Pages with a name in their path, by the pattern of the path."""
    return {
        "/approvals/{id}": f"/approvals/{team.approvals['update_customer']}",
        "/approvals/{id}/sign": f"/approvals/{team.approvals['place_order']}/sign",
        "/approvals/batch": "/approvals/batch?" + "&".join(f"id={one}" for one in team.deletions),
        "/tools/tool/{name:path}": "/tools/tool/delete_order",
        "/agents/{name:path}": "/agents/support-agent?tenant=local",
        "/search": "/search?q=order",
        "/audit/{entry}": "/audit/5",
        "/operations/{reference}": f"/operations/{team.decided}",
        "/claims/{claim}": f"/claims/{team.claim}",
    }


async def use_forms(team: Team) -> None:
    """Keys and a stop switch, made as a person makes them."""
    async with signed_in(team.url, team.app.store, id="bob") as bob:
        for name, scopes, expires in (
            ("nightly-report", "orders:read", "90d"),
            ("support-bot", "orders:* mail:send", "30d"),
        ):
            form = {"name": name, "kind": "agent", "mode": "live", "scopes": scopes, "expires": expires}
            assert (await bob.send("/console/keys", form)).status_code == 200
        reason = "It writes to customers twice. We look into it."
        stop = {"scope": "tool", "target": "send_mail", "tenant": "", "level": "all", "reason": reason}
        assert (await bob.send("/console/stop", stop)).status_code == 303


async def give_access(visitor: Visitor) -> None:
    """An application asks for access in the person's name, and gets it."""
    tab, base = visitor.tab, visitor.home.removesuffix("/console")
    await tab.route(f"{BACK}**", lambda route: route.fulfill(body="back"))
    known = await (await tab.request.get(f"{base}/.well-known/oauth-authorization-server")).json()
    client = {"client_name": "Clerk", "redirect_uris": [BACK], "token_endpoint_auth_method": "none"}
    made = await (await tab.request.post(named_in(known["registration_endpoint"], base), data=client)).json()
    asked = {"client_id": made["client_id"], "redirect_uri": BACK, "response_type": "code", "state": "s",
             "code_challenge": "c" * 43, "code_challenge_method": "S256", "scope": "orders:read mail:send"}  # fmt: skip
    await tab.goto(named_in(known["authorization_endpoint"], base) + "?" + urlencode(asked))
    await visitor.look("authorize", reload=False)
    await tab.get_by_role("button", name="Allow").click()
    await tab.wait_for_url(f"{BACK}**")


def named_in(url: str, base: str) -> str:
    """The same address under the name that the browser uses."""
    return base + urlsplit(url).path


async def add_people(team: Team) -> str:
    """Two accounts, and the token of a link with which a third person enrols."""
    ports, token = team.app.ports, ""
    for name, roles in (("bob", ("approver",)), ("carol", ("viewer", "auditor"))):
        made = await keep_account(ports, Account(name, "local", roles, ports.now(), "ann"), "account.create", ANN)
        assert made is not None
        token = await make_enrolment(ports, made)
    return token


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_documentation_shows_every_page_of_the_navigation(scheme: str) -> None:
    docs = Path(__file__).parents[3] / "docs"
    text = "".join(page.read_text("utf-8") for page in docs.glob("*.md"))
    for page in PAGES:
        picture = f"images/console/{page.path.strip('/')}-{scheme}.png"
        assert not page.menu or (picture in text and (docs / picture).exists()), picture


async def test_no_page_has_a_serious_accessibility_fault(tmp_path: Path) -> None:
    async with visiting(tmp_path) as (team, visitor):
        tab, named = visitor.tab, named_pages(team)
        token = await add_people(team)
        await use_forms(team)
        await visitor.open("/signin", "signin")
        await visitor.open(f"/enrol?token={token}", "enrol")
        await tab.goto(await sign_in_url(team.app.store, visitor.home.removesuffix("/console"), ANN))
        await tab.wait_for_url("**/console/approvals")
        await give_access(visitor)
        seen = {"/authorize"}
        for page in PAGES:
            if page.method != "GET" or page.roles is None or page.path in seen or page.path.endswith(NO_PAGES):
                continue
            path = named.get(page.path, page.path)
            assert "{" not in path, f"name an example of {path}"
            name = re.sub(r"\{.*?\}", "one", page.path).strip("/").replace("/", "-")
            await visitor.open(path, name)
            seen.add(page.path)
        await visitor.open("/tools/tool/export_customers", "tools-changed-one")
        await visitor.open("/nowhere", "error", 404)
        odd = await team.ask("research-agent", "delete_order", order_id="x" * 3000 + "\u202e<b>\u200b")
        for path in (f"/approvals/{odd}", "/approvals", "/activity", "/audit", f"/operations/{odd}"):
            await visitor.open(path, f"odd {path}")
        await tab.goto(visitor.home + "/rules")
        await tab.locator("#rules").fill(
            "guards:\n  - {match: {tool: list_orders}, rule: bounds, fields: [limit], most: 3}\n"
        )
        await tab.get_by_role("button", name="Try on history").click()
        await tab.get_by_text("would end differently").wait_for()
        await visitor.look("rules-try", reload=False)
        await tab.goto(visitor.home + "/accounts")
        await tab.get_by_label("Name").fill("dora")
        await tab.get_by_role("button", name="Make the account").click()
        await tab.get_by_text("Choose at least one").first.wait_for()
        assert await tab.get_by_label("Name").input_value() == "dora", "the form keeps what was typed"
        await visitor.look("accounts-refused", reload=False)
        await tab.goto(visitor.home + "/tools/changes")
        for box in await tab.locator("input[name=choice]").all():
            await box.check()
        await tab.get_by_role("button", name="Review").click()
        await tab.wait_for_url("**/review")
        await visitor.look("tools-changes-review", reload=False)
    assert set(named) <= seen
    assert visitor.faults == []
