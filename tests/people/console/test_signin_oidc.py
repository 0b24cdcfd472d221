"""Sign-in through a real identity provider, and answers that must not sign anybody in."""

from __future__ import annotations

import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from support.console.plain_browser import browser
from support.gateway.gateways import gateway
from support.identity.oidc_provider import (
    begun,
    log_in_at_provider,
    needs_provider,
    oidc_provider,
    oidc_settings,
    sign_in_through,
)

ANN = {"login": "ann", "groups": "approvers,others"}


@needs_provider
async def test_a_person_signs_in_and_gets_the_roles_of_their_groups(tmp_path: Path) -> None:
    async with oidc_provider() as issuer, gateway(tmp_path, {}, console=oidc_settings(issuer)) as (url, app):
        async with browser(url) as person:
            assert "Sign in with 127.0.0.1" in (await person.get("/console/signin")).text
            back = await log_in_at_provider(await begun(person, "/console/approvals?state=all"), **ANN)
            signed = await person.client.get(back)
            assert (signed.status_code, signed.headers["location"]) == (303, "/console/approvals?state=all")
            page = (await person.get("/console/approvals")).text
            assert f"{issuer}|ann" in page and "approver" in page and "operator" not in page
            await app.store.flush()
            entries = [one.entry for one in await app.store.entries()]
            signing = [one for one in entries if one.facts.get("event") == "console.signed_in"]
            assert [(one.facts["channel"], one.values["principal"]) for one in signing] == [("oidc", f"{issuer}|ann")]


@needs_provider
async def test_the_request_carries_state_nonce_and_a_pkce_challenge(tmp_path: Path) -> None:
    async with oidc_provider() as issuer, gateway(tmp_path, {}, console=oidc_settings(issuer)) as (url, _):
        async with browser(url) as person:
            one, other = [parse_qs(urlsplit(await begun(person)).query) for _ in range(2)]
            assert one["code_challenge_method"] == ["S256"] and one["response_type"] == ["code"]
            for name in ("state", "nonce", "code_challenge"):
                assert len(one[name][0]) >= 43 and one[name] != other[name]


@needs_provider
async def test_somebody_in_no_known_group_does_not_get_in(tmp_path: Path) -> None:
    async with oidc_provider() as issuer, gateway(tmp_path, {}, console=oidc_settings(issuer)) as (url, _):
        async with browser(url) as person:
            refused = await sign_in_through(person, login="eve", groups="others")
            assert refused.status_code == 403 and "You have no role" in refused.text
            assert (await person.get("/console/approvals")).status_code == 303


@needs_provider
async def test_the_tenant_is_the_one_that_the_provider_names(tmp_path: Path) -> None:
    async with oidc_provider() as issuer:
        async with gateway(tmp_path, {}, console=oidc_settings(issuer, tenant_claim="tenant")) as (url, _):
            async with browser(url) as person, browser(url) as nobody:
                assert (await sign_in_through(person, tenant="acme", **ANN)).status_code == 303
                assert "<dt>Tenant</dt><dd>acme</dd>" in (await person.get("/console/approvals")).text
                refused = await sign_in_through(nobody, login="bob", groups="approvers")
                assert refused.status_code == 403 and "You have no tenant" in refused.text


@needs_provider
async def test_an_answer_works_once_and_only_in_the_browser_that_began(tmp_path: Path) -> None:
    async with oidc_provider() as issuer, gateway(tmp_path, {}, console=oidc_settings(issuer)) as (url, _):
        async with browser(url) as person, browser(url) as thief:
            back = await log_in_at_provider(await begun(person), **ANN)
            await begun(thief)
            assert (await thief.client.get(back)).status_code == 403
            wrong = back.replace("state=", "state=x")
            assert (await person.client.get(wrong)).status_code == 403
            assert (await person.client.get(back)).status_code == 303
            again = await person.client.get(back)
            assert again.status_code == 403 and "cannot be finished" in again.text


@needs_provider
async def test_a_code_of_another_sign_in_is_refused(tmp_path: Path) -> None:
    """The code is bound to its sign-in by PKCE, so that an injected one signs nobody in."""
    async with oidc_provider() as issuer, gateway(tmp_path, {}, console=oidc_settings(issuer)) as (url, _):
        async with browser(url) as person, browser(url) as thief:
            stolen = await log_in_at_provider(await begun(person), **ANN)
            own = await log_in_at_provider(await begun(thief), login="eve", groups="approvers")
            code, mine = (parse_qs(urlsplit(one).query)["code"][0] for one in (stolen, own))
            refused = await thief.client.get(own.replace(mine, code))
            assert refused.status_code == 403 and "refused this sign-in" in refused.text


@needs_provider
async def test_an_answer_of_another_provider_is_refused(tmp_path: Path) -> None:
    async with oidc_provider() as issuer, gateway(tmp_path, {}, console=oidc_settings(issuer)) as (url, _):
        async with browser(url) as person:
            back = await log_in_at_provider(await begun(person), **ANN)
            wrong = back.partition("&iss=")[0] + "&iss=https%3A%2F%2Fevil.example"
            assert "Another identity provider" in (await person.client.get(wrong)).text


async def test_a_provider_that_is_down_neither_stops_the_start_nor_other_ways_in(tmp_path: Path) -> None:
    began = time.monotonic()
    async with gateway(tmp_path, {}, console=oidc_settings("http://127.0.0.1:9")) as (url, _), browser(url) as person:
        page = await person.get("/console/signin")
        assert page.status_code == 200 and "assent console" in page.text
        tried = await person.post("/console/signin/oidc", {"next": ""})
        assert tried.status_code == 503
        assert "The identity provider does not answer." in tried.text and "Try again" in tried.text
    assert time.monotonic() - began < 30


async def test_a_console_without_a_provider_offers_none(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, _), browser(url) as person:
        assert "Sign in with" not in (await person.get("/console/signin")).text
        assert (await person.post("/console/signin/oidc", {"next": ""})).status_code == 404
