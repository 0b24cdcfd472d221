"""Every role against every page and action: what is allowed is in the table of pages, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from assent.people.console.page import Page
from assent.people.console.pages import PAGES
from support.console.plain_browser import EVERY_ROLE, browser, signed_in
from support.gateway.gateways import shop_gateway


def address(page: Page) -> str:
    """The page's address with an id that does not exist."""
    parts = ["missing" if "{" in part else part for part in page.path.split("/")]
    return "/console" + "/".join(parts)


def guarded() -> list[Page]:
    return [page for page in PAGES if page.roles is not None]


@pytest.mark.parametrize("role", sorted(EVERY_ROLE))
async def test_a_role_opens_its_pages_and_is_refused_all_others(role: str, tmp_path: Path) -> None:
    wrong = []
    async with shop_gateway(tmp_path) as (url, gateway_app, _):
        async with signed_in(url, gateway_app.store, roles=frozenset({role})) as person:
            token = await person.token("/console/account")
            for page in guarded():
                if page.path in ("/signout",):
                    continue
                where = address(page)
                answer = await (person.get(where) if page.method == "GET" else person.post(where, {"csrf": token}))
                refused = answer.status_code == 403 and "It needs one of these roles" in answer.text
                assert answer.status_code < 500, (where, answer.status_code)
                if refused == (role in (page.roles or ())):
                    wrong.append((page.method, page.path, answer.status_code))
    assert wrong == []


async def test_without_signing_in_no_guarded_page_opens_and_no_action_runs(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, _, _shop), browser(url) as stranger:
        for page in guarded():
            where = address(page)
            answer = await (stranger.get(where) if page.method == "GET" else stranger.post(where, {"csrf": "x"}))
            expected = 303 if page.method == "GET" else 401
            assert answer.status_code == expected, (page.method, where, answer.status_code)
