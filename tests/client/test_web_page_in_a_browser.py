"""The page works in a real browser: its buttons answer, its style is let in, its script is not."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from assent.client import Question, WebPage
from assent.client.tool_policy import ToolPolicy
from assent.contract.tiers import Risk, Tier
from support.console.browser import CHROMIUM, browser

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no browser here")
SPEND = ToolPolicy(Tier.EXTERNAL_SPEND, Risk.CRITICAL, True, "tier", True)
QUESTION = Question(
    "scenes.example",
    "orders.archive.place",
    "Place an archive order",
    SPEND,
    {"item": "etna-2026-06", "quantity": 2, "note": "<img src=x onerror=document.title='taken'>"},
    "it spends money or credits",
    "480 credits",
    None,
    {"orders": 1, "delivery": "within a day"},
    ("The price was fetched a minute ago.",),
)


async def test_a_person_says_yes_for_an_hour_in_a_browser(tmp_path: Path) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()
    async with WebPage(tell=told.put) as asker, browser() as tab:
        asking = asyncio.ensure_future(asker(QUESTION))
        await tab.open(await told.get())
        assert await tab.evaluate("document.title") == "May the agent do this?"
        assert await tab.evaluate("getComputedStyle(document.querySelector('.price')).fontWeight") == "650"
        await tab.evaluate("document.querySelector('details').open = true")
        await tab.screenshot(Path(os.environ.get("ASSENT_SCREENSHOTS", tmp_path)) / "question.png")
        await tab.evaluate("document.querySelector('[name=seconds]').value = '3600'")
        await tab.evaluate("document.querySelector('[name=argument-1]').value = 'most'")
        await tab.click("button.yes")
        assert await tab.evaluate("document.querySelector('h1').textContent") == "You said yes"
        answer = await asking
    assert answer.remember is not None
    assert answer.remember.covers({**QUESTION.arguments, "quantity": 1})
    assert not answer.remember.covers({**QUESTION.arguments, "quantity": 3})


async def test_a_page_elsewhere_cannot_answer_for_the_person() -> None:
    """Even one that knows the address: the browser says where the form comes from."""
    told: asyncio.Queue[str] = asyncio.Queue()
    async with WebPage(tell=told.put) as asker, browser() as tab:
        asking = asyncio.ensure_future(asker(QUESTION))
        url = await told.get()
        form = f"<form method=post action='{url}'><input name=answer value=accept><button>x</button></form>"
        await tab.open(f"data:text/html,{form}")
        await tab.click("button")
        assert await tab.evaluate("document.querySelector('h1').textContent") == "Wrong origin"
        assert not asking.done()
    assert (await asking).action == "cancel"
