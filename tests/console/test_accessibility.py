"""Every page in a real browser: no serious accessibility fault, no script error, light and dark pictures.

Set ASSENT_SCREENSHOTS=docs/images/console to write the pictures of the docs.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, async_playwright

from assent.console.pages import PAGES
from assent.console.signin_links import make_link_token
from assent.core.principal import Principal
from support.console_browser import EVERY_ROLE
from support.gateways import post, rpc, shop_gateway
from support.problems import problem

CHROMIUM = shutil.which("chromium")
AXE = Path(__file__).parents[2] / ".cache" / "idp" / "node_modules" / "axe-core" / "axe.min.js"
PICTURES = os.environ.get("ASSENT_SCREENSHOTS")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
CHECK = """async () => (await axe.run()).violations
    .filter((one) => ["serious", "critical"].includes(one.impact))
    .map((one) => one.id + ": " + one.nodes.map((node) => node.html.slice(0, 160)).join(" | "))"""

pytestmark = pytest.mark.skipif(CHROMIUM is None or not AXE.exists(), reason="there is no browser or no axe-core here")


def plain_pages() -> list[str]:
    """The pages that need no id in their path."""
    skipped = ("/signin", "/enrol", "/operations", "/step", "/oidc", "/approvals/batch", "/tools/changes/")
    found = [page.path for page in PAGES if page.method == "GET" and "{" not in page.path and "." not in page.path]
    return [path for path in found if not path.startswith(skipped)]


async def check(tab: Page, url: str, name: str) -> list[str]:
    """Open a page and return its serious faults."""
    response = await tab.goto(url)
    assert response is not None and response.status == 200, (url, response and response.status)
    await tab.evaluate(AXE.read_text("utf-8"))
    faults: list[str] = await tab.evaluate(CHECK)
    if PICTURES:
        for scheme in ("light", "dark"):
            await tab.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            await asyncio.to_thread(Path(PICTURES).mkdir, parents=True, exist_ok=True)
            await tab.screenshot(path=str(Path(PICTURES) / f"{name}-{scheme}.png"))
        await tab.emulate_media(color_scheme="light")
    return [f"{name}: {fault}" for fault in faults]


async def test_no_page_has_a_serious_accessibility_fault(tmp_path: Path) -> None:
    person = Principal("ann", "human", roles=EVERY_ROLE)
    deleting = rpc("tools/call", name="delete_order", arguments={"order_id": "o-1"})
    async with shop_gateway(tmp_path) as (url, gateway_app, _), async_playwright() as playwright:
        waiting: dict[str, Any] = problem((await post(url, deleting)).json()["result"])
        await post(url, rpc("tools/call", name="list_orders", arguments={}))
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = await browser.new_context(viewport={"width": 1240, "height": 860}, bypass_csp=True)
        tab = await context.new_page()
        errors: list[str] = []
        tab.on("pageerror", lambda error: errors.append(str(error)))
        home = url.removesuffix("/mcp") + "/console"
        faults = await check(tab, f"{home}/signin", "signin")
        token = await make_link_token(gateway_app.store, person, time.time())
        await tab.goto(f"{home}/signin?link={token}")
        await tab.wait_for_url(lambda address: "signin" not in address)
        for path in [*plain_pages(), f"/approvals/{waiting['approval']}", "/tools/tool/delete_order"]:
            name = path.strip("/").replace(str(waiting["approval"]), "one").replace("/", "-")
            faults += await check(tab, home + path, name)
        await browser.close()
    assert faults == []
    assert errors == []
