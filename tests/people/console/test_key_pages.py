"""API keys in the console: shown once, scoped, expiring, revoked."""

from __future__ import annotations

import re
import time
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from assent.core.api_keys import KeyRecord
from assent.core.principal import Principal
from assent.gateway.auth.authenticator import StoredApiKeys, make_key, record_key
from assent.stores.memory import MemoryStore
from support.console.plain_browser import signed_in
from support.gateway.api import scene
from support.gateway.gateways import post, rpc, shop_gateway

FORM = {"name": "nightly", "kind": "agent", "mode": "live", "scopes": "orders:read orders:write", "expires": "7d"}
LIST = rpc("tools/list")


def key_in(page: str) -> str:
    found = re.search(r"assent_[0-9a-f]{8}_[\w-]{43}", page)
    assert found is not None
    return found[0]


async def kept(gateway_app: Any) -> list[KeyRecord]:
    return list(await gateway_app.store.keys())


async def test_a_key_is_made_shown_once_used_and_revoked(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, auth={}) as (url, gateway_app, _):
        async with signed_in(url, gateway_app.store) as person:
            made = await person.send("/console/keys", FORM)
            assert (made.status_code, made.headers["cache-control"]) == (200, "no-store")
            key = key_in(made.text)
            (record,) = await kept(gateway_app)
            assert record.principal.scopes == {"orders:read", "orders:write"}
            assert record.expires_at is not None and 6 * 86400 < record.expires_at - time.time() <= 7 * 86400
            listed = unescape((await person.get("/console/keys")).text)
            assert key not in listed and record.start in listed and "in 6 d" in listed
            assert (await post(url, LIST, authorization=f"Bearer {key}")).status_code == 200
            assert (await person.send(f"/console/keys/{record.start}/revoke")).status_code == 303
            assert (await post(url, LIST, authorization=f"Bearer {key}")).status_code == 401
            assert record.start in (await person.get("/console/keys?state=revoked")).text
            assert (await person.send(f"/console/keys/{record.start}/revoke")).status_code == 404
            await gateway_app.store.flush()
            events = [one.entry for one in await gateway_app.store.entries() if one.entry.kind == "operator"]
            assert [one.facts["event"] for one in events] == ["key.created", "key.revoked"]
            assert all(one.values["principal"] == "ann" and key not in str(one) for one in events)


async def test_an_expired_key_lets_nobody_in() -> None:
    now = [1000.0]
    store = MemoryStore()
    key = make_key()
    from assent.core.audit import Entry

    record = record_key(key, Principal("ci", "agent"), 900.0, expires_at=1100.0)
    await store.add_key(record, Entry("operator", 900.0, {"event": "key.created"}))
    keys = StoredApiKeys(store, lambda: now[0], lambda: now[0])
    assert await keys.find(key) is not None
    now[0] = 1100.0
    assert await keys.find(key) is None
    assert (record.state(1099.0), record.state(1100.0)) == ("good", "expired")


async def test_an_administrator_makes_keys_of_their_tenant_and_no_operator(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _):
        async with signed_in(url, gateway_app.store, tenant="acme", roles=frozenset({"admin"})) as admin:
            assert (await admin.send("/console/keys", {**FORM, "tenant": "other"})).status_code == 403
            assert (await admin.send("/console/keys", {**FORM, "role": "operator"})).status_code == 403
            assert (await admin.send("/console/keys", FORM)).status_code == 200
        (record,) = await kept(gateway_app)
        assert record.principal.tenant == "acme"
        async with signed_in(url, gateway_app.store, tenant="evil", roles=frozenset({"admin"})) as other:
            assert record.start not in (await other.get("/console/keys?state=all")).text
            assert (await other.send(f"/console/keys/{record.start}/revoke")).status_code == 404
        assert not (await kept(gateway_app))[0].revoked


@pytest.mark.parametrize("role", ["viewer", "approver", "auditor"])
async def test_others_neither_see_nor_make_keys(role: str, tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _):
        async with signed_in(url, gateway_app.store, roles=frozenset({role})) as other:
            assert (await other.get("/console/keys")).status_code == 403
            assert (await other.send("/console/keys", FORM)).status_code == 403
            assert (await other.send("/console/keys/assent_00000000/revoke")).status_code == 403
            assert ">Keys<" not in (await other.get("/console/approvals")).text


async def test_a_bad_form_makes_no_key(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        for wrong in (
            {"name": ""},
            {"name": "a\u200bb"},
            {"kind": "robot"},
            {"expires": "soon"},
            {"role": "king"},
            {"mode": "both"},
            {"scopes": "x" * 200},
        ):
            assert (await person.send("/console/keys", {**FORM, **wrong})).status_code == 422, wrong
        assert await kept(gateway_app) == []


async def test_the_api_makes_keys_for_people_alone(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        body = {"name": "ci2", "kind": "agent", "expires": "1d"}
        for who in ("ci", "bot", "ann", "cron", "eve"):
            assert (await there.post("/api/keys", who, body)).code == "api.not_entitled"
        made = await there.post("/api/keys", "root", body)
        assert made.status == 200 and made.json["tenant"] == "ops"
        listed = (await there.get("/api/keys", "root")).json["keys"]
        assert [one["start"] for one in listed] == [made.json["start"]] and "key" not in listed[0]
        assert (await there.post(f"/api/keys/{made.json['start']}/revoke", "root", {})).json["state"] == "revoked"
