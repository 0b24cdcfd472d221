"""Passkeys in a real browser with a virtual authenticator."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from assent.core.principal import Principal
from assent.people.console.passkeys import CHALLENGE_LASTS, check_challenge, new_challenge
from assent.people.console.start import make_link_token
from support.console.chromium import add_authenticator, chromium_page, named, needs_chromium
from support.console.people import make_account
from support.console.plain_browser import browser, hidden_field, signed_in
from support.gateway.gateways import gateway

ROOT = Principal("root", "human", roles=frozenset({"viewer", "admin", "operator", "approver"}))


async def open_by_link(page: Any, base: str, store: Any, person: Principal = ROOT) -> None:
    token = await make_link_token(store, person, time.time())
    await page.goto(f"{base}/console/signin?link={token}")
    await page.wait_for_url("**/console/approvals")


@needs_chromium
async def test_a_person_enrols_a_passkey_and_signs_in_with_it(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, app), signed_in(url, app.store, id="root") as admin:
        link, base = await make_account(admin, "bob"), named(url)
        async with chromium_page() as page:
            await add_authenticator(page)
            await page.goto(base + link)
            await page.get_by_label("Name of the passkey").fill("My key")
            await page.get_by_role("button", name="Set up a passkey and sign in").click()
            await page.wait_for_url("**/console/account")
            assert "My key" in await page.content()
            await page.get_by_role("button", name="Sign out everywhere").last.click()
            await page.wait_for_url("**/console/signin*")
            await page.get_by_role("button", name="Sign in with a passkey").click()
            await page.wait_for_url("**/console/approvals")
            await page.goto(f"{base}/console/account")
            await page.get_by_role("button", name="Remove").click()
            await page.get_by_text("You have no passkey").wait_for()
            await page.get_by_role("button", name="Sign out everywhere").last.click()
            await page.get_by_role("button", name="Sign in with a passkey").click()
            await page.get_by_text("The passkey was not accepted").wait_for()


@needs_chromium
async def test_an_assertion_signs_in_once(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, app), signed_in(url, app.store, id="root") as admin:
        link, base = await make_account(admin, "bob"), named(url)
        async with chromium_page() as page, browser(base + "/mcp") as thief:
            await add_authenticator(page)
            await page.goto(base + link)
            await page.get_by_role("button", name="Set up a passkey and sign in").click()
            await page.wait_for_url("**/console/account")
            await page.get_by_role("button", name="Sign out everywhere").last.click()
            await page.wait_for_url("**/console/signin*")
            async with page.expect_request("**/signin/passkey") as sent:
                await page.get_by_role("button", name="Sign in with a passkey").click()
            form = (await sent.value).post_data_json
            await page.wait_for_url("**/console/approvals")
            refused = await thief.post("/console/signin/passkey", {**form, "csrf": ""})
            assert refused.status_code == 403
            said = json.loads(form["credential"])
            for wrong in ({**said, "id": "AAAA"}, {**said, "response": {}}, {"response": 1}, [], "x"):
                form = {"credential": json.dumps(wrong)}
                assert (await thief.post("/console/signin/passkey", form)).status_code in (400, 403)


@needs_chromium
async def test_a_passkey_of_somebody_without_an_account_does_not_sign_in(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, app), chromium_page() as page:
        base = named(url)
        await add_authenticator(page)
        await open_by_link(page, base, app.store)
        await page.goto(f"{base}/console/account")
        await page.get_by_role("button", name="Add a passkey").click()
        await page.get_by_text("The passkey was added.").wait_for()
        await page.get_by_role("button", name="Sign out everywhere").last.click()
        await page.get_by_role("button", name="Sign in with a passkey").click()
        await page.get_by_text("The passkey was not accepted").wait_for()


@needs_chromium
async def test_a_key_that_does_not_verify_its_person_is_refused(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, app), chromium_page() as page:
        base = named(url)
        await add_authenticator(page, verified=False)
        await open_by_link(page, base, app.store)
        await page.goto(f"{base}/console/account")
        await page.get_by_role("button", name="Add a passkey").click()
        await page.get_by_text("The browser did not use a passkey").wait_for()


async def test_an_old_sign_in_cannot_add_a_passkey(tmp_path: Path) -> None:
    """A stolen session must not be able to give itself a way to sign decisions."""
    async with gateway(tmp_path, {}) as (url, app):
        base = url.replace("127.0.0.1", "localhost")
        async with signed_in(base, app.store) as person:
            fresh = (await person.get("/console/account")).text
            assert "data-passkey" in fresh
            kept = (await app.store.documents("console_session", time.time()))[0]
            body = json.loads(kept.body)
            body["auth_time"] -= 601
            await app.store.put_document(kept._replace(body=json.dumps(body).encode()), time.time())
            stale = (await person.get("/console/account")).text
            assert "data-passkey" not in stale and "sign in again" in stale
            form = {"csrf": hidden_field(stale, "csrf"), "credential": '{"response": {}}'}
            assert (await person.post("/console/account/passkeys", form)).status_code == 403


async def test_under_a_bare_address_the_pages_say_that_passkeys_need_a_name(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, app), signed_in(url, app.store) as person:
        assert "data-passkey" not in (await person.get("/console/account")).text
        assert "Passkeys belong to a host name" in (await person.get("/console/account")).text


def test_a_challenge_is_for_one_purpose_and_five_minutes() -> None:
    import hashlib

    def keyed(what: str) -> str:
        return hashlib.blake2b(what.encode(), key=b"k" * 32, digest_size=32).hexdigest()

    challenge = new_challenge(keyed, "sign-in", 1000.0)
    assert check_challenge(keyed, "sign-in", challenge, 1000.0)
    assert not check_challenge(keyed, "add ann", challenge, 1000.0)
    assert not check_challenge(keyed, "sign-in", challenge, 1000.0 + CHALLENGE_LASTS)
    assert not check_challenge(keyed, "sign-in", challenge[:-1] + bytes([challenge[-1] ^ 1]), 1000.0)
    assert not check_challenge(keyed, "sign-in", b"", 0.0)
