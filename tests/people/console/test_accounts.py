"""Accounts of the gateway's own: enrolment by a link, and who may manage them."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from assent.core.document import Document
from assent.core.principal import Principal
from assent.people.accounts import accounts_without_passkey, find_account, make_enrolment
from assent.people.console import passkeys
from assent.people.sessions import Sessions
from support.console.people import enrol, make_account, shown_link
from support.console.plain_browser import browser, signed_in
from support.gateway.gateways import gateway, post


async def test_a_link_signs_in_once_and_looking_at_it_uses_nothing_up(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, app), signed_in(url, app.store, id="root") as admin:
        link = await make_account(admin, "bob", ("approver", "viewer"))
        async with browser(url) as person:
            for _ in range(2):
                assert "Sign in once" in (await person.get(link)).text
            await enrol(person, link)
            page = (await person.get("/console/account")).text
            assert "approver, viewer" in page and ">bob<" in page
            again = await person.post("/console/enrol/once", {"token": link.partition("token=")[2]})
            assert (await person.get(link)).status_code == again.status_code == 403


@pytest.mark.parametrize("path", ["/console/signin/password", "/console/enrol/password", "/console/account/password"])
async def test_no_password_is_accepted(tmp_path: Path, path: str) -> None:
    async with gateway(tmp_path, {}) as (url, app), signed_in(url, app.store, id="root") as admin:
        form = {"name": "root", "password": "correct horse battery", "code": "000000"}
        assert (await admin.send(path, form)).status_code == 404
        async with browser(url) as stranger:
            assert 'type="password"' not in (await stranger.get("/console/signin")).text


OLD_ACCOUNT = {
    "roles": ["approver"], "created_at": 1.0, "created_by": "root", "disabled": False,
    "password": "$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA", "totp": "GEZDGNBVGY3TQOJQ", "totp_last": 7,
}  # fmt: skip


async def test_an_account_of_an_earlier_version_is_led_to_a_passkey_and_keeps_its_roles(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, app), signed_in(url, app.store, id="root") as admin:
        await app.store.put_document(Document("console_account", "bob", json.dumps(OLD_ACCOUNT).encode(), "local"), 1.0)
        assert await accounts_without_passkey(app.ports) == ["bob"]
        async with browser(url) as person:
            assert "assent console --account NAME" in (await person.get("/console/signin")).text
            found = await find_account(app.ports, "bob")
            assert found is not None
            await enrol(person, f"/console/enrol?token={await make_enrolment(app.ports, found)}")
            assert "approver" in (await person.get("/console/account")).text
        kept = await app.store.document("console_account", "bob", time.time())
        assert kept is not None and b"argon2" not in kept.body and b"totp" not in kept.body
        assert "bob" in (await admin.get("/console/accounts")).text


async def test_an_address_that_tries_often_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passkeys, "MOST_ATTEMPTS", 2)
    async with gateway(tmp_path, {}) as (url, app), browser(url) as thief:
        tries = [thief.post("/console/signin/passkey", {"credential": "{}"}) for _ in range(5)]
        said = [answer.status_code for answer in await asyncio.gather(*tries)]
        assert sorted(said)[2:] == [429] * 3 and max(sorted(said)[:2]) < 429
        assert len(await app.store.documents(passkeys.ATTEMPTS, 0, limit=100)) == 1


async def test_a_person_ends_one_of_their_sessions(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, app):
        async with signed_in(url, app.store) as one, signed_in(url, app.store) as other:
            page = (await one.get("/console/account")).text
            place = page.partition('action="/console/account/sessions/')[2].partition('"')[0]
            assert (await one.send(f"/console/account/sessions/{place}")).status_code == 303
            assert (await other.get("/console/account")).status_code == 303
            async with signed_in(url, app.store, id="eve") as stranger:
                kept = await app.store.documents("console_session", 0, limit=10)
                mine = next(one.id for one in kept if b'"eve"' not in one.body)
                assert (await stranger.send(f"/console/account/sessions/{mine}/end")).status_code == 404


async def test_a_disabled_or_reset_account_is_out_at_once(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, app), signed_in(url, app.store, id="root") as admin:
        async with browser(url) as person:
            await enrol(person, await make_account(admin, "bob"))
            assert (await admin.send("/console/accounts/bob/disable")).status_code == 303
            assert (await person.get("/console/account")).status_code == 303
            assert (await admin.send("/console/accounts/bob/reset")).status_code == 303
            await enrol(person, await shown_link(admin))


@pytest.mark.parametrize("action", ["disable", "roles"])
async def test_a_sign_in_that_runs_while_the_account_changes_opens_no_session(
    tmp_path: Path, action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gateway(tmp_path, {}) as (url, app), signed_in(url, app.store, id="root") as admin:
        async with browser(url) as person:
            link = await make_account(admin, "bob")

            async def changed_meanwhile(sessions: Sessions, principal: Principal) -> None:
                monkeypatch.undo()
                assert (await admin.send(f"/console/accounts/bob/{action}", {"role": "viewer"})).status_code == 303

            monkeypatch.setattr(Sessions, "_end_oldest", changed_meanwhile)
            done = await person.post("/console/enrol/once", {"token": link.partition("token=")[2]})
            assert done.status_code == 403 and "changed meanwhile" in done.text
            assert (await person.get("/console/account")).status_code == 303


async def test_other_roles_end_the_sessions_that_had_the_old_ones(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, app), signed_in(url, app.store, id="root") as admin:
        async with browser(url) as person:
            await enrol(person, await make_account(admin, "bob"))
            assert (await admin.send("/console/accounts/bob/roles", {"role": "viewer"})).status_code == 303
            assert (await person.get("/console/account")).status_code == 303


async def test_an_administrator_of_one_tenant_reaches_no_other_and_makes_no_operator(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, app), signed_in(url, app.store, id="root") as operator:
        await make_account(operator, "bob", tenant="other")
        await make_account(operator, "chief", ("operator",))
        only = {"id": "adm", "roles": frozenset({"admin"})}
        async with signed_in(url, app.store, **only) as admin:
            token = await admin.token()
            for form in ({"name": "x", "tenant": "other", "role": "viewer"}, {"name": "x", "role": "operator"}):
                assert (await admin.post("/console/accounts", {"csrf": token, **form})).status_code == 403
            page = (await admin.get("/console/accounts")).text
            assert "bob" not in page and 'value="operator"' not in page
            for name, status in (("bob", 404), ("chief", 403), ("nobody", 404)):
                for action in ("reset", "disable"):
                    done = await admin.post(f"/console/accounts/{name}/{action}", {"csrf": token})
                    assert done.status_code == status


@pytest.mark.parametrize("role", ["viewer", "approver", "operator", "auditor"])
async def test_only_administrators_see_accounts(tmp_path: Path, role: str) -> None:
    async with gateway(tmp_path, {}) as (url, app):
        async with signed_in(url, app.store, roles=frozenset({role})) as person:
            assert (await person.get("/console/accounts")).status_code == 403
            assert (await person.send("/console/accounts", {"name": "x", "role": "admin"})).status_code == 403


async def test_bad_names_and_missing_roles_are_refused(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, app), signed_in(url, app.store, id="root") as admin:
        token = await admin.token()
        for name in ("", "http://x", "operator:root", "ann\u202e", "a" * 65, "a b", "../x"):
            form = {"csrf": token, "name": name, "role": "viewer"}
            assert (await admin.post("/console/accounts", form)).status_code == 422
        assert (await admin.post("/console/accounts", {"csrf": token, "name": "bob"})).status_code == 422
        await make_account(admin, "bob")
        twice = await admin.post("/console/accounts", {"csrf": token, "name": "bob", "role": "viewer"})
        assert twice.status_code == 409


async def test_accounts_can_be_switched_off(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}, console={"accounts": False}) as (url, app), browser(url) as person:
        assert "--account" not in (await person.get("/console/signin")).text
        assert (await person.post("/console/signin/passkey", {"credential": "{}"})).status_code == 404
        async with signed_in(url, app.store) as admin:
            assert (await admin.get("/console/accounts")).status_code == 404


KEYS = {"adm": ("human", ["admin"]), "root": ("human", ["admin", "operator"]), "bot": ("agent", ["admin", "operator"])}


def key(name: str) -> str:
    return f"assent_{name:0<8}_secret-of-{name}"


async def test_the_api_manages_accounts_as_the_page_does(tmp_path: Path) -> None:
    keys = [{"name": name, "key": key(name), "kind": kind, "roles": roles} for name, (kind, roles) in KEYS.items()]
    async with gateway(tmp_path, {}, auth={"api_keys": keys}) as (url, _), browser(url) as person:
        base = url.removesuffix("/mcp")

        async def ask(by: str, path: str, body: Any = None) -> tuple[int, Any]:
            answer = await post(f"{base}/api/accounts{path}", body or {}, authorization=f"Bearer {key(by)}")
            return answer.status_code, answer.json()

        status, made = await ask("root", "", {"name": "bob", "roles": ["approver"]})
        assert (status, made["name"], made["roles"], made["state"]) == (200, "bob", ["approver"], "active")
        await enrol(person, made["enrol"])
        other = {"name": "eve", "roles": ["viewer"], "tenant": "other"}
        assert (await ask("root", "", other))[0] == 200
        assert [(await ask("adm", path))[0] for path in ("/eve/reset", "/nobody/reset", "/%2e%2e/reset")] == [404] * 3
        assert (await ask("adm", "", {"name": "x", "roles": ["operator"]}))[0] == 403
        assert (await ask("adm", "", {**other, "name": "x"}))[0] == 403
        assert (await ask("bot", "", {"name": "x", "roles": ["viewer"]}))[0] == 403
        assert (await ask("root", "", {"name": "bob", "roles": ["viewer"]}))[0] == 409
        status, said = await ask("root", "", {"name": "x", "roles": []})
        assert (status, "roles: choose at least one." in str(said)) == (422, True)
        status, changed = await ask("adm", "/bob/roles", {"roles": ["viewer"]})
        assert (status, changed["roles"]) == (200, ["viewer"])
        assert (await person.get("/console/account")).status_code == 303, "the session with the old roles has ended"
        assert (await ask("adm", "/bob/disable"))[1]["state"] == "disabled"
        status, again = await ask("adm", "/bob/reset")
        assert (status, again["state"]) == (200, "active")
        await enrol(person, again["enrol"])
        listed = {by: await person.get("/api/accounts", authorization=f"Bearer {key(by)}") for by in KEYS}
        assert [one["name"] for one in listed["adm"].json()["accounts"]] == ["bob"]
        assert [one["name"] for one in listed["root"].json()["accounts"]] == ["bob", "eve"]
        assert listed["bot"].status_code == 403


async def test_changes_of_accounts_are_written_down(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, app), signed_in(url, app.store, id="root") as admin:
        async with browser(url) as person:
            await enrol(person, await make_account(admin, "bob"))
        await admin.send("/console/accounts/bob/disable")
        await app.store.flush()
        found = [one.entry for one in await app.store.entries() if one.entry.kind == "operator"]
        assert [(one.facts["action"], one.values["principal"]) for one in found] == [
            ("account.create", "root"),
            ("account.enrol_once", "bob"),
            ("account.disable", "root"),
        ]
