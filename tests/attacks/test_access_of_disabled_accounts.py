"""What a person gave to applications ends with the person's account."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from assent.people.authorization_server.grant_store import _ACCESS, _FAMILY, Grant, GrantStore
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


class Interrupted(MemoryStore):
    """A store in which something else happens just before a document of a kind is put."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind = kind
        self.meanwhile: Callable[[], Awaitable[None]] | None = None

    async def put_document(self, draft: Any, *more: Any, **options: Any) -> Any:
        if draft.kind == self._kind and self.meanwhile is not None:
            happens, self.meanwhile = self.meanwhile, None
            await happens()
        return await super().put_document(draft, *more, **options)


@pytest.mark.parametrize("kind", [_ACCESS, _FAMILY])
@pytest.mark.parametrize("by_client", [False, True])
async def test_a_renewal_that_runs_while_the_access_ends_leaves_no_token(kind: str, by_client: bool) -> None:
    store = Interrupted(kind)
    grants = GrantStore(store, time.time)
    _, refresh = await grants.begin_family(grant_of("bob"))
    family = await grants.family_of(refresh)
    assert family is not None
    store.meanwhile = (lambda: grants.end(family)) if by_client else (lambda: grants.end_all("bob", "local"))
    with suppress(LookupError):
        await grants.renew(family, ("*",))
    assert await store.documents(_ACCESS, time.time(), limit=9) == []
    assert await store.documents(_FAMILY, time.time(), limit=9) == []


async def test_ending_what_was_renewed_meanwhile_ends_the_new_token_too() -> None:
    grants = GrantStore(MemoryStore(), time.time)
    _, refresh = await grants.begin_family(grant_of("bob"))
    family = await grants.family_of(refresh)
    assert family is not None
    renewed = await grants.renew(family, ("*",))
    await grants.end(family)
    assert renewed is not None and await grants.grant_of_access(renewed[0]) is None
