"""What a person gave to applications ends with the person's account."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from assent.people.authorization_server.grant_store import Grant, GrantStore
from assent.stores.memory import MemoryStore
from support.console.people import make_account
from support.console.plain_browser import signed_in
from support.gateway.gateways import gateway


def grant_of(person: str, tenant: str = "local") -> Grant:
    return Grant(person, tenant, "client", "Clerk", ("*",), None, None, "https://a.example/", True, "challenge", "here")


@pytest.mark.parametrize("action", ["disable", "reset"])
async def test_tokens_and_codes_end_when_the_account_is_disabled_or_reset(tmp_path: Path, action: str) -> None:
    async with gateway(tmp_path, {}) as (url, app), signed_in(url, app.store, id="root") as admin:
        await make_account(admin, "bob")
        grants = GrantStore(app.store, time.time)
        access, refresh = await grants.begin_family(grant_of("bob"))
        code = await grants.add_code(grant_of("bob"))
        answer = await admin.send(f"/console/accounts/bob/{action}", {})
        assert answer.status_code < 400, answer.text
        assert await grants.grant_of_access(access) is None
        assert await grants.family_of(refresh) is None
        assert await grants.use_code(code) is None


async def test_the_access_of_others_stays() -> None:
    grants = GrantStore(MemoryStore(), time.time)
    kept = [await grants.begin_family(one) for one in (grant_of("bobby"), grant_of("bob", "other"), grant_of("Bob"))]
    await grants.end_all("bob", "local")
    assert all([await grants.grant_of_access(access) for access, _ in kept])
