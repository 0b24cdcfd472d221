"""Approvals in a real browser: live changes and the keyboard."""

from __future__ import annotations

from pathlib import Path

import pytest

from assent.core.principal import Principal
from assent.people.console.start import sign_in_url
from people.console.test_approval_inbox import ask
from support.gateway.gateways import shop_gateway

CHROMIUM = "/usr/bin/chromium"
playwright = pytest.importorskip("playwright.async_api")
pytestmark = pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="chromium is not installed")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]
ANN = Principal("ann", "human", roles=frozenset({"approver"}))


async def test_a_call_appears_by_itself_a_selection_stays_and_keys_decide(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), playwright.async_playwright() as tools:
        browser = await tools.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = await browser.new_page()
        first = await ask(url, "o-1")
        await page.goto(await sign_in_url(gateway_app.store, url.removesuffix("/mcp"), ANN))
        await page.wait_for_selector(f"a[href$='{first}']", timeout=30_000)
        await page.keyboard.press("j")
        await page.keyboard.press("x")
        assert await page.is_checked(f"input[value='{first}']")
        second = await ask(url, "o-2")
        await page.wait_for_selector(f"a[href$='{second}']", timeout=30_000)
        await page.wait_for_function(f"document.querySelector(\"input[value='{first}']\").checked", timeout=30_000)
        await page.click(f"a[href$='{second}']")
        await page.wait_for_selector("[data-key=reason]", timeout=30_000)
        await page.keyboard.press("r")
        await page.keyboard.type("a reason")
        await page.keyboard.press("Escape")
        await page.keyboard.press("a")
        await page.wait_for_selector("text=Press A again to approve", timeout=30_000)
        found = await gateway_app.store.approval(second)
        assert found is not None and found.decisions == (), "one key does not approve a critical call"
        await page.keyboard.press("a")
        await page.wait_for_selector("text=Approved. The agent", timeout=30_000)
        await page.keyboard.press("Escape")
        await page.wait_for_selector("text=Decided in the last 15 minutes", timeout=30_000)
        found = await gateway_app.store.approval(second)
        assert found is not None and [(one.verdict, one.reason) for one in found.decisions] == [("approve", "a reason")]
        await browser.close()


async def test_a_press_that_is_held_while_a_call_arrives_still_opens_its_link(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), playwright.async_playwright() as tools:
        browser = await tools.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = await browser.new_page()
        first = await ask(url, "o-1")
        await page.goto(await sign_in_url(gateway_app.store, url.removesuffix("/mcp"), ANN))
        await page.wait_for_selector(f"a[href$='{first}']", timeout=30_000)
        await page.hover(f"a[href$='{first}']")
        await page.mouse.down()
        async with page.expect_response("**/console/approvals", timeout=30_000):
            await ask(url, "o-2")
        await page.wait_for_timeout(300)
        await page.mouse.up()
        await page.wait_for_url(f"**/console/approvals/{first}", timeout=30_000)
        await browser.close()
