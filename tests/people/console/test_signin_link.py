"""One-time sign-in links, sessions, and forged requests."""

from __future__ import annotations

import time
from pathlib import Path

from assent.core.principal import Principal
from assent.people.console.start import LASTS, make_link_token
from support.console.plain_browser import browser, hidden_field, signed_in
from support.gateway.gateways import gateway

PERSON = Principal("ann", "human", roles=frozenset({"operator"}))


async def test_a_link_signs_in_once_and_opening_it_uses_nothing_up(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, gateway_app), browser(url) as person, browser(url) as thief:
        token = await make_link_token(gateway_app.store, PERSON, time.time())
        for _ in range(3):
            opened = await person.get(f"/console/signin?link={token}")
            assert opened.status_code == 200
            assert hidden_field(opened.text, "link") == token
        signed = await person.post("/console/signin/link", {"link": token})
        assert (signed.status_code, signed.headers["location"]) == (303, "/console/approvals")
        assert (await person.get("/console/approvals")).status_code == 200
        again = await thief.post("/console/signin/link", {"link": token})
        assert again.status_code == 403
        assert "used or has expired" in again.text
        assert (await thief.get("/console/approvals")).headers["location"].startswith("/console/signin")


async def test_a_link_expires(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, gateway_app), browser(url) as person:
        token = await make_link_token(gateway_app.store, PERSON, time.time() - LASTS)
        assert (await person.post("/console/signin/link", {"link": token})).status_code == 403


async def test_pages_ask_people_to_sign_in_and_bring_them_back(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, gateway_app), browser(url) as person:
        turned = await person.get("/console/approvals?state=all")
        assert turned.headers["location"] == "/console/signin?next=%2Fconsole%2Fapprovals%3Fstate%3Dall"
        token = await make_link_token(gateway_app.store, PERSON, time.time())
        signed = await person.post("/console/signin/link", {"link": token, "next": "/console/approvals?state=all"})
        assert signed.headers["location"] == "/console/approvals?state=all"


async def test_signing_in_leads_to_no_other_site(tmp_path: Path) -> None:
    for place in ("https://evil.example/", "//evil.example", "/console\\evil", "/console/signin/x", "/mcp"):
        async with gateway(tmp_path, {}) as (url, gateway_app), browser(url) as person:
            token = await make_link_token(gateway_app.store, PERSON, time.time())
            signed = await person.post("/console/signin/link", {"link": token, "next": place})
            assert signed.headers["location"] == "/console/approvals"


async def test_a_form_without_the_sessions_token_changes_nothing(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, gateway_app), signed_in(url, gateway_app.store) as person:
        for form in ({"everywhere": "1"}, {"csrf": ""}, {"csrf": "x" * 43}):
            assert (await person.post("/console/signout", form)).status_code == 403
        assert (await person.get("/console/approvals")).status_code == 200


async def test_a_form_of_another_site_changes_nothing(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, gateway_app), signed_in(url, gateway_app.store) as person:
        for fields in ({"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}):
            assert (await person.send("/console/signout", **fields)).status_code == 403
        assert (await person.get("/console/approvals")).status_code == 200


async def test_another_host_name_gets_no_page(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, _), browser(url) as person:
        assert (await person.get("/console/signin", host="evil.example")).status_code == 421


async def test_signing_out_ends_the_session_here_or_everywhere(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, gateway_app):
        async with signed_in(url, gateway_app.store) as one, signed_in(url, gateway_app.store) as other:
            cookie = one.client.cookies["assent_session"]
            assert (await one.send("/console/signout")).status_code == 303
            one.client.cookies.set("assent_session", cookie, path="/console")
            assert (await one.get("/console/approvals")).status_code == 303
            assert (await other.get("/console/approvals")).status_code == 200
        async with signed_in(url, gateway_app.store) as one, signed_in(url, gateway_app.store) as other:
            await one.send("/console/signout", {"everywhere": "1"})
            assert (await other.get("/console/approvals")).status_code == 303


async def test_pages_carry_a_policy_that_lets_nothing_in_from_outside(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, gateway_app), signed_in(url, gateway_app.store) as person:
        page = await person.get("/console/approvals")
        policy = page.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; ")
        assert "unsafe" not in policy and "http" not in policy
        assert page.headers["cache-control"] == "no-store"
        assert "style=" not in page.text and "onclick" not in page.text
