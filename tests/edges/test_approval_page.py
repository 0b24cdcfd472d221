"""The link of a call that waits leads to a page on which those who may can decide, and that tells others nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from browser import CHROMIUM, Tab, browser
from houses import ANN_KEY, CI, post, rpc, shop_gateway

KEYS = [
    {"name": "ci", "key": CI, "kind": "agent", "scopes": ["*"]},
    {"name": "ann", "key": ANN_KEY, "kind": "human", "scopes": ["*"], "roles": ["approver"]},
]
DELETE = rpc("tools/call", name="delete_order", arguments={"order_id": "<b>o-1</b>"})
in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no browser here")


async def called(url: str) -> dict[str, Any]:
    said = (await post(url, DELETE, authorization=f"Bearer {CI}")).json()["result"]
    return dict(said["structuredContent"])


def beside(url: str, path: str) -> str:
    return f"http://{urlsplit(url).netloc}{path}"


async def test_the_link_of_a_waiting_call_is_in_its_text_and_leads_to_a_page(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, auth={"api_keys": KEYS}) as (url, _, _shop), httpx2.AsyncClient() as client:
        waiting = await called(url)
        assert waiting["approval_url"] in waiting["remedy"]
        page = await client.get(beside(url, urlsplit(waiting["approval_url"]).path))
        assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert "'unsafe" not in page.headers["content-security-policy"]
        nobody = await client.get(beside(url, "/console/approvals/00000000"))
        assert nobody.text == page.text.replace(waiting["approval"], "00000000"), "it says nothing of the call"
        for path in ("/console/approvals/", "/console/approvals/%3Cb%3E", "/console/approvals/a/b"):
            assert (await client.get(beside(url, path))).status_code == 404


async def test_the_page_asks_for_a_key_only_under_names_of_this_gateway(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, auth={"api_keys": KEYS}) as (url, _, _shop), httpx2.AsyncClient() as client:
        page = await client.get(beside(url, "/console/approvals/00000000"), headers={"host": "evil.example"})
        assert (page.status_code, "key" in page.text) == (421, False)


async def given(tab: Tab, key: str) -> str:
    """What the page says to whoever gives this key."""
    return str(
        await tab.evaluate(
            "new Promise((done) => { const look = () => ['said', 'asked'].map((id) => document.getElementById(id))"
            ".filter((one) => !one.hidden).forEach((one) => done(one.innerText));"
            "new MutationObserver(look).observe(document.querySelector('main'), {attributes: true, subtree: true});"
            f"document.getElementById('key').value = {json.dumps(key)};"
            "document.getElementById('known').requestSubmit(); })"
        )
    )


async def decided(tab: Tab, button: str) -> str:
    return str(
        await tab.evaluate(
            "new Promise((done) => { const state = document.getElementById('state');"
            "new MutationObserver(() => done(state.innerText)).observe(state, {childList: true});"
            f"document.getElementById({json.dumps(button)}).click(); }})"
        )
    )


@in_a_browser
async def test_an_approver_sees_the_call_says_yes_and_it_is_done(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, auth={"api_keys": KEYS}) as (url, _, shop), browser() as tab:
        waiting = await called(url)
        await tab.open(beside(url, urlsplit(waiting["approval_url"]).path))
        assert await tab.evaluate("getComputedStyle(document.querySelector('main')).borderRadius") == "10px"
        assert "not valid" in await given(tab, "nobody's key")
        shown = await given(tab, ANN_KEY)
        assert 'order_id: "<b>o-1</b>"' in shown
        await tab.screenshot(Path(os.environ.get("ASSENT_SCREENSHOTS", tmp_path)) / "approval.png")
        assert (await decided(tab, "approve")).startswith("Approved")
        assert shop.effects == []
        assert await called(url) == {"deleted": "<b>o-1</b>"}


@in_a_browser
async def test_the_agent_that_asked_cannot_decide_on_the_page(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, auth={"api_keys": KEYS}) as (url, _, shop), browser() as tab:
        waiting = await called(url)
        await tab.open(beside(url, urlsplit(waiting["approval_url"]).path))
        await given(tab, CI)
        refused = "new Promise((done) => { const said = document.getElementById('said');"
        refused += "new MutationObserver(() => said.hidden || done(said.innerText)).observe(said, {attributes: true});"
        assert "person" in await tab.evaluate(refused + "document.getElementById('approve').click(); })")
        assert (await called(url))["code"] == "confirm.approval_pending"
        assert shop.effects == []
