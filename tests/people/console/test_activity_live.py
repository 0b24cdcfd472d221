"""The activity page changes by itself when something happens."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from assent.core.principal import Principal
from assent.people.console.start import make_link_token
from support.gateway.gateways import post, rpc, shop_gateway

CHROMIUM = shutil.which("chromium")
PLAIN = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--no-first-run"]  # fmt: skip


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
async def test_a_call_appears_in_an_open_page_without_a_reload(tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.async_api")
    person = Principal("ann", "human", roles=frozenset({"viewer"}))
    async with shop_gateway(tmp_path) as (url, gateway_app, _), playwright.async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=PLAIN)
        try:
            page = await browser.new_page()
            faults: list[str] = []
            page.on("pageerror", lambda error: faults.append(str(error)))
            base = url.removesuffix("/mcp")
            token = await make_link_token(gateway_app.store, person, time.time())
            await page.goto(f"{base}/console/signin?link={token}")
            await page.wait_for_url("**/console/approvals*")
            await page.goto(f"{base}/console/activity")
            await page.wait_for_selector("text=Nothing here")
            await page.evaluate("window.stillTheSamePage = true")
            await post(url, rpc("tools/call", name="list_orders", arguments={"limit": 1}))
            await page.wait_for_selector("text=Listed orders")
            await post(url, rpc("tools/call", name="delete_order", arguments={"order_id": "o-1"}))
            await page.wait_for_selector("text=Asked to delete order")
            assert await page.evaluate("window.stillTheSamePage") is True
            assert faults == []
        finally:
            await browser.close()
