"""Accounts of the gateway's own: enrolment, password with a one-time code, and who may manage them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assent.console import attempts
from assent.gateway.people.totp import code_at, matching_counter
from support.console_browser import browser, signed_in
from support.console_people import PASSWORD, code, enrol, make_account, shown_link, sign_in
from support.gateways import gateway, post


async def test_a_person_enrols_by_a_link_and_signs_in_with_password_and_code(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, app), signed_in(url, app.store, id="root") as admin:
        link = await make_account(admin, "bob", ("approver", "viewer"))
        async with browser(url) as person, browser(url) as other:
            secret = await enrol(person, link)
            assert "bob" in (await person.get("/console/account")).text
            signed = await sign_in(other, "Bob ", PASSWORD, code(secret, 1))
            assert (signed.status_code, signed.headers["location"]) == (303, "/console/approvals")
            page = (await other.get("/console/account")).text
            assert "approver, viewer" in page and "password" in page
            assert (await person.get(link)).status_code == 403


async def test_a_code_signs_in_once(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, app), signed_in(url, app.store, id="root") as admin:
        async with browser(url) as person, browser(url) as second, browser(url) as thief:
            secret = await enrol(person, await make_account(admin, "bob"))
            later = code(secret, 1)
            assert (await sign_in(second, "bob", PASSWORD, later)).status_code == 303
            assert (await sign_in(thief, "bob", PASSWORD, later)).status_code == 403


async def test_five_wrong_sign_ins_lock_one_account_for_one_address(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, app), signed_in(url, app.store, id="root") as admin:
        async with browser(url) as person, browser(url) as thief:
            secret = await enrol(person, await make_account(admin, "bob"))
            said = [(await sign_in(thief, "bob", "wrong", "000000")).status_code for _ in range(6)]
            assert said == [403] * 5 + [429]
            assert (await sign_in(thief, "bob", PASSWORD, code(secret, 1))).status_code == 429
            assert (await sign_in(thief, "eve", "wrong", "000000")).status_code == 403


async def test_an_address_that_tries_many_names_is_stopped_and_leaves_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(attempts.MOST, "address", 2)
    async with gateway(tmp_path, {}) as (url, app), browser(url) as thief:
        said = [(await sign_in(thief, f"name{number}", "wrong", "000000")).status_code for number in range(5)]
        assert said == [403, 403, 429, 429, 429]
        assert len(await app.store.documents(attempts.KIND, 0, limit=100)) == 1 + 2 * 2


async def test_looking_at_a_link_uses_nothing_up_and_a_bad_form_neither(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, app), signed_in(url, app.store, id="root") as admin:
        link = await make_account(admin, "bob")
        async with browser(url) as person:
            token = link.partition("token=")[2]
            for form in (
                {"password": "short", "again": "short", "code": "000000"},
                {"password": PASSWORD, "again": PASSWORD + "x", "code": "000000"},
                {"password": "bob" * 5, "again": "bob" * 5, "code": "000000"},
                {"password": PASSWORD, "again": PASSWORD, "code": "none"},
            ):
                refused = await person.post("/console/enrol/password", {"token": token, **form})
                assert refused.status_code == 422 and 'role="alert"' in refused.text
            assert await enrol(person, link)


async def test_a_person_changes_the_password_and_other_sessions_end(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, app), signed_in(url, app.store, id="root") as admin:
        async with browser(url) as person, browser(url) as second:
            secret = await enrol(person, await make_account(admin, "bob"))
            form = {"current": "wrong", "code": code(secret, 1), "password": "x" + PASSWORD, "again": "x" + PASSWORD}
            assert (await person.send("/console/account/password", form)).status_code == 403
            changed = await person.send("/console/account/password", {**form, "current": PASSWORD})
            assert changed.status_code == 303
            assert (await sign_in(second, "bob", PASSWORD, code(secret, 1))).status_code == 403
            assert (await person.get("/console/account")).status_code == 200


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
            secret = await enrol(person, await make_account(admin, "bob"))
            assert (await admin.send("/console/accounts/bob/disable")).status_code == 303
            assert (await person.get("/console/account")).status_code == 303
            assert (await sign_in(person, "bob", PASSWORD, code(secret, 1))).status_code == 403
            assert (await admin.send("/console/accounts/bob/reset")).status_code == 303
            assert (await sign_in(person, "bob", PASSWORD, code(secret, 1))).status_code == 403
            assert await enrol(person, await shown_link(admin))


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
        assert 'name="password"' not in (await person.get("/console/signin")).text
        assert (await sign_in(person, "bob", PASSWORD, "000000")).status_code == 404
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
        assert (await ask("root", "", {"name": "x", "roles": []}))[0] == 422
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
            ("account.enrol_password", "bob"),
            ("account.disable", "root"),
        ]
        assert PASSWORD not in repr(found)


def test_codes_are_those_of_the_standard() -> None:
    """RFC 6238, appendix B, with six digits."""
    secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    for at, expected in ((59, "287082"), (1111111109, "081804"), (2000000000, "279037")):
        assert code_at(secret, at // 30) == expected


def test_a_phone_may_be_one_step_off_and_no_more() -> None:
    secret, now = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", 3000.0
    for off in (-2, -1, 0, 1, 2):
        found = matching_counter(secret, code_at(secret, 100 + off), now)
        assert found == (100 + off if abs(off) <= 1 else None)
    assert matching_counter(secret, code_at(secret, 100), now, last=100) is None
    assert matching_counter(secret, "", now) is None and matching_counter(secret, "１２３４５６", now) is None
