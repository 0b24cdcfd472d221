"""What must have no effect: forged and replayed cookies, posts of other sites, scanners, odd text, late decisions."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from assent.core.audit import Entry
from assent.core.principal import Principal
from assent.people.console import live
from assent.people.console.pages import PAGES
from assent.people.console.start import make_link_token
from assent.people.sessions import IDLE, LONGEST, Sessions
from assent.stores.open import open_store
from people.console.test_approval_inbox import ask
from people.console.test_role_matrix import address
from people.console.test_step_up import state
from support.console.plain_browser import browser, hidden_field, signed_in
from support.gateway.gateways import gateway, shop_gateway

POSTS = [page for page in PAGES if page.method == "POST"]
ODD = "\u202e\u200b\x1b<script>alert(1)</script>"


@pytest.mark.parametrize("cookie", ["", "x", "x" * 43, "x" * 5000, "null", '{"id":"ann"}', "%00", "../../x"])
async def test_a_forged_cookie_signs_nobody_in(cookie: str, tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, _), browser(url) as stranger:
        answer = await stranger.get("/console/account", cookie=f"assent_session={cookie}")
        assert answer.status_code == 303 and answer.headers["location"].startswith("/console/signin")


async def test_a_cookie_of_another_gateway_signs_nobody_in(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    async with gateway(tmp_path / "one", {}) as (url, app), gateway(tmp_path / "other", {}) as (other, _):
        async with signed_in(url, app.store) as person, browser(other) as stranger:
            cookie = person.client.cookies["assent_session"]
            assert (await stranger.get("/console/account", cookie=f"assent_session={cookie}")).status_code == 303


async def test_a_session_ends_when_it_is_idle_and_after_twelve_hours_however_busy() -> None:
    clock = [1_000_000.0]
    store = await open_store("memory://")
    try:
        sessions = Sessions(lambda: store, lambda: clock[0])
        person = Principal("ann", "human", roles=frozenset({"viewer"}))
        idle, _ = await sessions.start(person, "link", "ann")
        busy, kept = await sessions.start(person, "link", "ann")
        for _ in range(int(LONGEST // 3600) - 1):
            clock[0] += 3600
            assert await sessions.find(busy) is not None
        assert clock[0] - 1_000_000 > IDLE and await sessions.find(idle) is None
        assert await sessions.is_open(kept)
        clock[0] += 3600
        assert await sessions.find(busy) is None and not await sessions.is_open(kept)
    finally:
        await store.close()


async def test_a_session_that_continues_another_keeps_its_chain_and_only_that_of_the_same_person() -> None:
    store = await open_store("memory://")
    try:
        sessions = Sessions(lambda: store, time.time)
        person = Principal("ann", "human", roles=frozenset({"approver"}))
        token, first = await sessions.start(person, "oidc", "ann")
        assert await sessions.end(first) and not await sessions.end(first), "a step-up that ends late finds no session"
        _, second = await sessions.start(replace(person, acr="mfa"), "oidc", "ann", first)
        _, other = await sessions.start(replace(person, id="eve"), "oidc", "eve", second)
        assert await sessions.find(token) is None, "the old cookie is worth nothing"
        assert (second.chain, second.id) != (first.chain, first.id) and second.chain == first.chain == first.id
        assert other.chain == other.id
    finally:
        await store.close()


async def test_no_form_of_another_site_has_an_effect_even_with_the_right_token(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, app, _), signed_in(url, app.store) as person:
        token = await person.token("/console/account")
        for page in POSTS:
            for fields in ({"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "same-site"}):
                answer = await person.post(address(page), {"csrf": token}, **fields)
                assert answer.status_code == 403, (page.path, fields)
        assert (await person.get("/console/account")).status_code == 200


async def test_no_form_without_the_persons_own_token_has_an_effect(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, app, _), signed_in(url, app.store) as person:
        async with signed_in(url, app.store, id="eve") as eve:
            foreign = await eve.token("/console/account")
        for page in POSTS:
            for token in ("", "x" * 43, foreign, "\u202e"):
                answer = await person.post(address(page), {"csrf": token})
                assert (answer.status_code, "expired or was not made for you" in answer.text) == (403, True), page.path


async def test_a_form_that_is_not_sent_as_a_form_has_no_effect(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, app, _), signed_in(url, app.store) as person:
        token = await person.token("/console/account")
        origin = {"origin": str(person.client.base_url).rstrip("/")}
        for page in POSTS:
            sent = await person.client.post(address(page), json={"csrf": token}, headers=origin)
            assert sent.status_code == 415, page.path
            large = await person.client.post(address(page), data={"csrf": token, "x": "y" * 300_000}, headers=origin)
            assert large.status_code == 413, page.path


async def test_a_scanner_that_opens_every_address_changes_nothing(tmp_path: Path) -> None:
    """Mail and chat programs open links, some with the person's own cookies."""
    async with shop_gateway(tmp_path) as (url, app, _), signed_in(url, app.store) as person, browser(url) as scanner:
        name = await ask(url, "o-1")
        link = await make_link_token(app.store, Principal("bob", "human"), time.time())
        await app.store.flush()
        before = await app.store.length()
        for method in ("GET", "HEAD"):
            for page in POSTS:
                there = address(page).replace("missing", name)
                answer = await person.client.request(method, there)
                also = [one for one in PAGES if one.method == "GET" and one.path == page.path]
                assert answer.status_code in ((200, 400, 404) if also else (404,)), (method, there)
            await scanner.client.request(method, f"/console/signin?link={link}")
            await person.client.request(method, f"/console/approvals/{name}")
        await app.store.flush()
        assert await app.store.length() == before
        assert await state(app, name) == "pending"
        opened = await scanner.get(f"/console/signin?link={link}")
        form = {"link": hidden_field(opened.text, "link")}
        assert (await scanner.post("/console/signin/link", form)).status_code == 303, "the link still works"


async def test_odd_text_in_addresses_and_forms_is_never_written_back_as_it_came(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, app, _), signed_in(url, app.store, id=f"ann{ODD}") as person:
        token = await person.token("/console/account")
        for page in PAGES:
            if page.path in ("/signout", "/audit/bundle.zip"):
                continue
            there = address(page).replace("missing", "%E2%80%AE%3Cscript%3Ealert(1)%3C/script%3E")
            query = "?tool=%E2%80%AE&name=%E2%80%AE&link=%E2%80%AE&scope=%E2%80%AE&target=%E2%80%AE%3Cscript%3E"
            form = dict.fromkeys(("reason", "name", "target", "scope", "note", "label", "choice"), ODD) | {
                "csrf": token
            }
            answer = await (person.get(there + query) if page.method == "GET" else person.post(there, form))
            assert answer.status_code < 500, (page.path, answer.status_code)
            shown = answer.text.partition("<form")[0] if "filters" in answer.text else answer.text
            assert "<script>alert" not in shown and "\x1b" not in shown, page.path
            assert "\u200b" not in shown, page.path
        for path in ("/console/approvals/%00", "/console/claims/a%00b", "/console/approvals/%0a"):
            assert (await person.get(path)).status_code == 404


async def test_two_people_who_decide_at_once_make_one_decision(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, app, _):
        name = await ask(url, "o-1")
        async with signed_in(url, app.store, id="ann") as ann, signed_in(url, app.store, id="bob") as bob:
            tokens = [await ann.token(), await bob.token()]
            yes = ann.post(f"/console/approvals/{name}/approve", {"csrf": tokens[0]})
            no = bob.post(f"/console/approvals/{name}/deny", {"csrf": tokens[1]})
            said = await asyncio.gather(yes, no)
            assert sorted(one.status_code for one in said) == [303, 409]
            late = next(unescape(one.text) for one in said if one.status_code == 409)
            assert "Your decision was not taken" in late
        found = await app.store.approval(name)
        assert found is not None and len(found.decisions) == 1


@pytest.mark.parametrize(("verb", "other"), [("approve", "deny"), ("deny", "approve")])
async def test_a_button_that_is_pressed_twice_decides_once_and_shows_no_error(
    verb: str, other: str, tmp_path: Path
) -> None:
    async with shop_gateway(tmp_path) as (url, app, _), signed_in(url, app.store) as person:
        name, token = await ask(url, "o-1"), await person.token()
        press = [person.post(f"/console/approvals/{name}/{verb}", {"csrf": token}) for _ in range(2)]
        assert [one.status_code for one in await asyncio.gather(*press)] == [303, 303]
        found = await app.store.approval(name)
        assert found is not None and len(found.decisions) == 1
        changed_mind = await person.post(f"/console/approvals/{name}/{other}", {"csrf": token})
        assert changed_mind.status_code == 409 and "Your decision was not taken" in changed_mind.text


async def test_a_page_that_was_open_too_long_decides_nothing(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, app, _), signed_in(url, app.store) as person:
        name = await ask(url, "o-1")
        found = await app.store.approval(name)
        assert found is not None
        expired = replace(found, id="old", binding="old", expires_at=time.time() + 0.001)
        await app.store.ask(expired, time.time(), 20, Entry("approval", time.time(), {"tool": "delete_order"}, {}))
        answer = await person.send("/console/approvals/old/approve")
        assert answer.status_code == 410 and "Your decision was not taken" in answer.text
        assert await state(app, "old") == "expired"


async def test_a_live_stream_ends_with_its_session_and_a_person_has_a_few_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "KEEP_ALIVE", 0.05)
    monkeypatch.setattr(live, "MOST_OF_A_PERSON", 1)
    async with gateway(tmp_path, {}) as (url, app), signed_in(url, app.store) as person:
        async with person.client.stream("GET", "/console/live") as stream:
            lines = stream.aiter_lines()
            assert await anext(lines) == "retry: 3000"
            assert (await person.get("/console/live")).status_code == 503
            await person.send("/console/signout")
            said = [line async for line in lines]
        assert all(line in ("", "event: changed", "data: begin", "data: log", ": still here") for line in said)
