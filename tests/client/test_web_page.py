"""A person answers on a page that only they can reach, and that nothing foreign can write on."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from assent import GovernedClient
from assent.client import Answer, Question, WebPage
from assent.client.tool_policy import ToolPolicy
from assent.contract.tiers import Risk, Tier
from support.servers.plain_server import Plain, said, tool

SPEND = ToolPolicy(Tier.EXTERNAL_SPEND, Risk.CRITICAL, True, "tier", True)
ARGUMENTS = {"item": "archive scene", "quantity": 2}


def question(**more: Any) -> Question:
    arguments = more.pop("arguments", ARGUMENTS)
    return Question("shop", "place_order", "Place an order", SPEND, arguments, "it spends money", **more)


class Browser:
    """A browser of the page, as far as HTTP goes."""

    def __init__(self, url: str, asking: asyncio.Task[Answer], http: httpx2.AsyncClient) -> None:
        self.url, self.asking, self._http = url, asking, http
        self.origin = url.rpartition("/")[0]

    async def get(self, **headers: str) -> httpx2.Response:
        return await self._http.get(self.url, headers=headers)

    async def post(self, form: dict[str, str], **headers: str) -> httpx2.Response:
        sent = {"origin": self.origin, "sec-fetch-site": "same-origin", **headers}
        return await self._http.post(self.url, data=form, headers={k: v for k, v in sent.items() if v})

    async def form(self) -> dict[str, str]:
        """The fields as the page has them."""
        page = (await self.get()).text
        fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]+)"', page))
        fields |= dict.fromkeys(re.findall(r'<select id="[^"]+" name="([^"]+)"', page), "same")
        return fields | ({"seconds": "0"} if 'name="seconds"' in page else {})


@asynccontextmanager
async def asked(one: Question) -> AsyncIterator[Browser]:
    told: asyncio.Queue[str] = asyncio.Queue()
    async with WebPage(tell=told.put) as asker, httpx2.AsyncClient(timeout=60) as http:
        asking = asyncio.ensure_future(asker(one))
        yield Browser(await told.get(), asking, http)
    await asyncio.gather(asking, return_exceptions=True)


@pytest.mark.parametrize("action", ["accept", "decline"])
async def test_the_button_is_the_answer_and_the_page_is_closed_with_it(action: str) -> None:
    async with asked(question()) as browser:
        told = await browser.post({**await browser.form(), "answer": action})
        assert (told.status_code, f"You said {'yes' if action == 'accept' else 'no'}" in told.text) == (200, True)
        assert await browser.asking == Answer(action)
        assert (await browser.get()).status_code == 404


async def test_the_page_shows_what_will_be_done_and_what_it_costs() -> None:
    shown = question(price="480 credits", preview={"rows": 3}, warnings=("It is late.",))
    async with asked(shown) as browser:
        page = html.unescape((await browser.get()).text)
    for expected in (
        "Place an order",
        "external_spend, critical risk",
        "480 credits",
        'item: "archive scene"',
        "quantity: 2",
        "rows: 3",
        "It is late.",
        "it spends money",
        "shop",
    ):
        assert expected in page


async def test_hostile_text_stays_text() -> None:
    evil = '</pre><script>alert(1)</script><form action="http://evil.example">\u202etxt'
    hostile = Question(evil, evil, evil, SPEND, {evil: evil}, evil, evil, None, {evil: evil}, (evil,), evil)
    async with asked(hostile) as browser:
        answer = await browser.get()
    assert "<script" not in answer.text
    assert "evil.example" in answer.text
    assert answer.text.count("<form") == 1
    assert "\u202e" not in answer.text
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "script-src" not in policy
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example", "sec-fetch-site": "cross-site"},
        {"origin": "null"},
        {"origin": ""},
        {"sec-fetch-site": "same-site"},
        {"content-type": "text/plain"},
        {"host": "evil.example"},
    ],
    ids=str,
)
async def test_an_answer_from_elsewhere_is_none(headers: dict[str, str]) -> None:
    async with asked(question()) as browser:
        told = await browser.post({**await browser.form(), "answer": "accept"}, **headers)
        assert told.status_code in (403, 421)
        assert not browser.asking.done()


@pytest.mark.parametrize("token", ["", "wrong", "ä"])
async def test_an_answer_without_the_pages_own_token_is_none(token: str) -> None:
    async with asked(question()) as browser:
        told = await browser.post({**await browser.form(), "answer": "accept", "token": token})
        assert told.status_code == 403
        assert not browser.asking.done()


async def test_nothing_is_found_by_guessing_or_under_another_name() -> None:
    async with asked(question()) as browser, httpx2.AsyncClient(timeout=60) as http:
        assert (await http.get(browser.origin + "/")).status_code == 404
        assert (await http.get(browser.url[:-1])).status_code == 404
        rebound = await browser.get(host="evil.example")
        assert (rebound.status_code, "archive scene" in rebound.text) == (421, False)
        assert (await http.put(browser.url)).status_code == 405
        assert len(browser.url.rpartition("/")[2]) >= 43
        assert browser.origin.startswith("http://127.0.0.1:")


@pytest.mark.parametrize("body", ["answer=accept&answer=decline", "x=%ff", "x" * 70_000, "&".join("a=1" * 600)])
async def test_what_is_no_form_is_no_answer(body: str) -> None:
    async with asked(question()) as browser, httpx2.AsyncClient(timeout=60) as http:
        headers = {"origin": browser.origin, "content-type": "application/x-www-form-urlencoded"}
        told = await http.post(browser.url, content=body, headers=headers)
        assert told.status_code in (400, 403)
        assert not browser.asking.done()


async def test_a_yes_can_hold_for_a_while_within_bounds() -> None:
    async with asked(question()) as browser:
        form = {**await browser.form(), "answer": "accept", "seconds": "3600"}
        await browser.post({**form, "argument-1": "most", "argument-1-most": "5"})
        answer = await browser.asking
    assert answer.remember is not None
    assert answer.remember.seconds == 3600
    assert answer.remember.covers({"item": "archive scene", "quantity": 5})
    assert not answer.remember.covers({"item": "archive scene", "quantity": 6})
    assert not answer.remember.covers({"item": "print", "quantity": 1})


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"argument-0": "any", "argument-1": "any"}, "name alone cannot"),
        ({"argument-1": "most", "argument-1-most": "1"}, "at least the value"),
        ({"argument-1": "most", "argument-1-most": "nan"}, "must be a number"),
        ({"argument-0": "most", "argument-0-most": "5"}, "constraints offered"),
        ({"seconds": "99999999"}, "times offered"),
        ({"answer": "perhaps"}, "one of the buttons"),
    ],
)
async def test_what_cannot_be_remembered_is_said_and_asked_again(fields: dict[str, str], why: str) -> None:
    async with asked(question()) as browser:
        form = {**await browser.form(), "answer": "accept", "seconds": "3600"}
        told = await browser.post({**form, **fields})
        assert (told.status_code, why in told.text) == (422, True)
        assert not browser.asking.done()
        await browser.post({**form, "seconds": "0"})
        assert await browser.asking == Answer("accept")


async def test_a_question_of_the_servers_own_is_not_answered_for_later() -> None:
    async with asked(question(words="Are you sure?")) as browser:
        assert "seconds" not in await browser.form()
        await browser.post({**await browser.form(), "answer": "accept", "seconds": "3600"})
        assert await browser.asking == Answer("accept")


async def test_a_form_with_fields_is_declined_without_a_page() -> None:
    told: list[str] = []
    async with WebPage(tell=told.append) as asker:
        assert await asker(question(schema={"colour": {}})) == Answer("decline")
    assert told == []


async def test_closing_leaves_no_question_open() -> None:
    async with asked(question()) as browser:
        pass
    assert await browser.asking == Answer("cancel")


async def test_whoever_walks_away_has_refused_and_the_page_is_gone() -> None:
    plain, told = Plain(tool("place_order", "item", "idempotency_key"), place_order=said({"order": 1})), list[str]()
    async with WebPage(tell=told.append) as asker, httpx2.AsyncClient(timeout=60) as http:
        async with GovernedClient(plain.server, asker=asker, question_patience=0.05) as client:
            refused = await client.call_tool("place_order", {"item": "a"})
            assert (await http.get(told[0])).status_code == 404
    assert refused.structured_content["code"] == "confirm.cancelled"
    assert plain.log == []


async def test_two_questions_at_once_have_two_pages() -> None:
    told: asyncio.Queue[str] = asyncio.Queue()
    async with WebPage(tell=told.put) as asker, httpx2.AsyncClient(timeout=60) as http:
        both = [asyncio.ensure_future(asker(question(price=price))) for price in ("1", "2")]
        pages = [Browser(await told.get(), one, http) for one in both]
        assert pages[0].url != pages[1].url
        stolen = await pages[0].form()
        crossed = await pages[1].post({**stolen, "answer": "accept"})
        assert crossed.status_code == 403
        for page, action in zip(pages, ("accept", "decline"), strict=True):
            await page.post({**await page.form(), "answer": action})
        assert [(await one).action for one in both] == ["accept", "decline"]
