"""Chromium driven by Playwright, with a virtual authenticator for passkeys."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from support.console.browser import CHROMIUM

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no browser")
_QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")


@asynccontextmanager
async def chromium_page(**context: Any) -> AsyncIterator[Any]:
    """A page of a browser of our own; `context` are settings of the browser, such as its size."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=[*_QUIET, "--disable-sync", "--no-first-run"]
        )
        try:
            page = await browser.new_page(**context)
            page.set_default_timeout(30_000)
            yield page
        finally:
            await browser.close()


async def add_authenticator(page: Any, *, verified: bool = True) -> tuple[Any, str]:
    """Put a security key into the browser that answers for its person; the wire to it, and its id."""
    wire = await page.context.new_cdp_session(page)
    await wire.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": verified,
        "automaticPresenceSimulation": True,
    }
    made = await wire.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    return wire, made["authenticatorId"]


def named(url: str) -> str:
    """The gateway's address by name: passkeys belong to a host name."""
    return url.removesuffix("/mcp").replace("127.0.0.1", "localhost")
