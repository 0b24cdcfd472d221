"""A session that is too old to decide makes nothing that outlives it: no key, account, reset, passkey or release."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from assent.core.principal import Principal
from assent.people.accounts import find_account, make_enrolment
from assent.people.console.start import make_link_token
from support.console.people import enrol, make_account
from support.console.plain_browser import EVERY_ROLE, Browser, browser, signed_in
from support.gateway.gateways import post, shop_gateway

KEY = {"name": "spare", "kind": "human", "mode": "live", "role": "operator"}
ROOT = Principal("root", "human", roles=frozenset({"operator"}))
OLD = 301
"""Seconds: a critical call is approved with a sign-in of the last 300."""


async def age(app: Any, seconds: float) -> None:
    """Let every session's authentication be so many seconds old."""
    for kept in await app.store.documents("console_session", time.time()):
        body = {**json.loads(kept.body), "auth_time": time.time() - seconds}
        await app.store.put_document(kept._replace(body=json.dumps(body).encode()), time.time())


async def stopped(app: Any) -> str:
    stop = await app.runtime.stop_switches.stop(ROOT, "everything", "", "", "all", "an incident", time.time())
    return str(stop.id)


ACTS: list[tuple[str, dict[str, str]]] = [
    ("/console/keys", KEY),
    ("/console/keys", {**KEY, "kind": "agent", "expires": "1d"}),
    ("/console/accounts", {"name": "mallory", "role": "approver"}),
    ("/console/accounts/bob/reset", {}),
    ("/console/accounts/bob/roles", {"role": "operator"}),
    ("/console/stop/{stop}/ease", {"reason": "let me through"}),
    ("/console/stop/{stop}/release", {"reason": "let me through"}),
    ("/console/account/passkeys", {"credential": "{}"}),
    ("/console/account/passkeys/x/remove", {}),
]


async def lasting(app: Any) -> tuple[int, int, int, int]:
    """How many keys, accounts, links and stops there are."""
    documents = [await app.store.documents(kind, time.time()) for kind in ("console_account", "console_enrolment")]
    return len(await app.store.keys()), *map(len, documents), len(await app.runtime.stop_switches.all())


@pytest.mark.parametrize(("path", "form"), ACTS)
async def test_an_old_session_is_asked_to_sign_in_again_and_changes_nothing(
    path: str, form: dict[str, str], tmp_path: Path
) -> None:
    async with shop_gateway(tmp_path, auth={}) as (url, app, _), signed_in(url, app.store, id="root") as person:
        await make_account(person, "bob", ("viewer",))
        place = path.replace("{stop}", await stopped(app))
        before = await lasting(app)
        await age(app, OLD)
        refused = await person.send(place, form)
        assert refused.status_code == 403 and "Sign in again" in refused.text
        assert await lasting(app) == before
        assert (await app.store.document("console_account", "bob", time.time())).version == 1


async def test_a_stop_is_set_and_a_key_is_revoked_without_a_new_sign_in(tmp_path: Path) -> None:
    """What makes the gateway safer must not wait."""
    async with shop_gateway(tmp_path, auth={}) as (url, app, _), signed_in(url, app.store, id="root") as person:
        await person.send("/console/keys", KEY)
        (record,) = await app.store.keys()
        await age(app, OLD)
        assert (await person.send(f"/console/keys/{record.start}/revoke")).status_code == 303
        form = {"scope": "everything", "reason": "an incident"}
        assert (await person.send("/console/stop", form)).status_code == 303
        assert (await app.store.keys())[0].revoked and await app.runtime.stop_switches.all()


async def test_a_shorter_age_of_the_configuration_counts(tmp_path: Path) -> None:
    """A session of two minutes is too old to approve here, so it makes no key that could."""
    more: dict[str, Any] = {"defaults": {"step_up": {"max_age": "60s"}}}
    async with shop_gateway(tmp_path, auth={}, **more) as (url, app, _), signed_in(url, app.store) as person:
        await age(app, 120)
        assert (await person.send("/console/keys", KEY)).status_code == 403


async def test_a_longer_one_does_not(tmp_path: Path) -> None:
    more: dict[str, Any] = {"defaults": {"step_up": {"max_age": "12h", "approvers": "none"}}}
    async with shop_gateway(tmp_path, auth={}, **more) as (url, app, _), signed_in(url, app.store) as person:
        await age(app, OLD)
        assert (await person.send("/console/keys", KEY)).status_code == 403


async def sign_out(person: Browser, **form: str) -> Any:
    return await person.send("/console/signout", form)


@pytest.mark.parametrize("everywhere", [{}, {"everywhere": "1"}])
async def test_keys_of_a_session_are_listed_with_it_and_shown_when_it_ends(
    everywhere: dict[str, str], tmp_path: Path
) -> None:
    async with shop_gateway(tmp_path, auth={}) as (url, app, _), signed_in(url, app.store) as person:
        await person.send("/console/keys", KEY)
        (record,) = await app.store.keys()
        row = re.search(r"<tr>.*?this one.*?</tr>", (await person.get("/console/account")).text, re.DOTALL)
        assert row is not None and record.start in row[0]
        asked = await sign_out(person, **everywhere)
        assert asked.status_code == 200 and record.start in asked.text
        assert (await person.get("/console/account")).status_code == 200, "nobody has answered yet"
        assert (await sign_out(person, keys="revoke", **everywhere)).status_code == 303
        assert (await app.store.keys())[0].revoked
        assert (await person.get("/console/account")).status_code == 303


async def test_keys_are_kept_on_request_and_those_of_others_are_not_shown(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, auth={}) as (url, app, _), signed_in(url, app.store, id="eve") as other:
        async with signed_in(url, app.store) as person:
            await person.send("/console/keys", KEY)
            assert (await sign_out(other)).status_code == 303
            assert (await sign_out(person, keys="keep")).status_code == 303
        assert not (await app.store.keys())[0].revoked


async def test_keys_stay_with_a_session_that_a_new_sign_in_continues(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, auth={}) as (url, app, _), signed_in(url, app.store) as person:
        await person.send("/console/keys", KEY)
        link = await make_link_token(app.store, Principal("ann", "human", roles=EVERY_ROLE), time.time())
        before = dict(person.client.cookies)
        form = {"link": link, "csrf": await person.token()}
        assert (await person.post("/console/signin/link", form)).status_code == 303
        assert dict(person.client.cookies) != before, "a copy of the old cookie gains nothing by the new sign-in"
        assert (await sign_out(person)).status_code == 200


async def test_where_keys_cannot_approve_a_key_of_an_admin_makes_nobody_who_can(tmp_path: Path) -> None:
    """`approvers: all`: an account made with a key would be a way to a fresh sign-in."""
    keys = [{"name": "adm", "key": "assent_adm00000_x", "kind": "human", "roles": ["admin", "operator"]}]
    more: dict[str, Any] = {"defaults": {"step_up": {"approvers": "all"}}, "auth": {"api_keys": keys}}
    async with shop_gateway(tmp_path, **more) as (url, app, _):
        base, key = url.removesuffix("/mcp"), {"authorization": "Bearer assent_adm00000_x"}
        for path, body in (
            ("/api/accounts", {"name": "mallory", "roles": ["approver"]}),
            ("/api/keys", {"name": "spare", "kind": "human", "roles": ["approver"]}),
            (f"/api/switches/{await stopped(app)}/release", {"reason": "let me through"}),
        ):
            refused = await post(base + path, body, **key)
            assert (refused.status_code, refused.json()["code"]) == (403, "api.sign_in_again"), path


async def test_when_one_link_of_an_account_is_used_the_others_are_worth_nothing(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, auth={}) as (url, app, _), signed_in(url, app.store, id="root") as admin:
        first = await make_account(admin, "bob")
        account = await find_account(app.ports, "bob")
        assert account is not None
        second = f"/console/enrol?token={await make_enrolment(app.ports, account)}"
        async with browser(url) as bob, browser(url) as thief:
            await enrol(bob, second)
            assert (await thief.get(first)).status_code == 403
            stolen = await thief.post("/console/enrol/once", {"token": first.partition("token=")[2]})
            assert stolen.status_code == 403
