"""OAuth towards upstreams: sign-in, renewal and separation of owners, with a real authorization server."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest

from assent.core.principal import Principal
from assent.stores.memory import MemoryStore
from assent.upstreams.credentials import SHARED
from assent.upstreams.errors import NotConnected, OAuthProblem
from assent.upstreams.oauth.discovery import discover, new_http, register
from assent.upstreams.oauth.grants import Token, _expiry, begin, revoke
from assent.upstreams.oauth.tokens import TokenSource
from assent.upstreams.vault import KIND, CredentialVault
from support.identity.oauth_server import OAuthServer, oauth_server

BACK = "http://127.0.0.1:9999/callback"
ANN, BEN = Principal("ann", "human"), Principal("ben", "human")


def vault_of(store: MemoryStore, key: bytes = b"k" * 32) -> CredentialVault:
    return CredentialVault(store, lambda: key, time.time)


async def sign_in(server: OAuthServer, person: str) -> Token:
    async with new_http() as http:
        found = await discover(http, server.url)
        client = await register(http, found, BACK, None)
        started = begin(found, client, BACK)
        return await started.finish(http, await server.consent(started.url, person), time.time())


async def test_a_person_signs_in_by_discovery_registration_and_pkce() -> None:
    async with oauth_server() as server:
        token = await sign_in(server, "ann")
        assert server.accounts.accesses[token.access_token].subject == "ann"
        assert server.accounts.accesses[token.access_token].resource == server.url
        assert token.scope == "notes"


async def test_an_answer_of_another_sign_in_or_issuer_is_refused() -> None:
    async with oauth_server() as server, new_http() as http:
        found = await discover(http, server.url)
        started = begin(found, await register(http, found, BACK, None), BACK)
        answer = await server.consent(started.url, "ann")
        with pytest.raises(OAuthProblem, match="another sign-in"):
            await started.finish(http, {**answer, "state": "forged"}, 0)
        with pytest.raises(OAuthProblem, match="another authorization server"):
            await started.finish(http, {**answer, "iss": "https://evil.example"}, 0)
        with pytest.raises(OAuthProblem, match="invalid_grant"):
            await replace(started, verifier="x" * 64).finish(http, answer, 0)
        with pytest.raises(OAuthProblem, match="access_denied"):
            await started.finish(http, {"state": started.state, "error": "access_denied"}, 0)


async def test_a_stale_token_is_renewed_once_for_many_concurrent_calls() -> None:
    async with oauth_server() as server:
        vault = vault_of(MemoryStore())
        token = await sign_in(server, "ann")
        await vault.put("notes", ANN, replace(token, expires_at=0.0).as_json())
        source = TokenSource("notes", vault, time.time)
        given = await asyncio.gather(*(source.token(ANN) for _ in range(100)))
        assert len(set(given)) == 1
        assert given[0] != token.access_token
        assert server.accounts.renewals == 1


async def test_two_replicas_renew_once_and_both_go_on() -> None:
    async with oauth_server() as server:
        store = MemoryStore()
        vault = vault_of(store)
        token = await sign_in(server, "ann")
        await vault.put("notes", ANN, token.as_json())
        replicas = [TokenSource("notes", vault_of(store), time.time) for _ in range(2)]
        given = await asyncio.gather(*(one.renew(ANN, token.access_token) for one in replicas for _ in range(20)))
        assert len(set(given)) == 1
        assert server.accounts.renewals == 1


async def test_a_revoked_connection_asks_for_a_new_sign_in_and_is_removed() -> None:
    async with oauth_server() as server:
        vault = vault_of(MemoryStore())
        token = await sign_in(server, "ann")
        await vault.put("notes", ANN, token.as_json())
        source = TokenSource("notes", vault, time.time)
        assert await source.token(ANN) == token.access_token
        async with new_http() as http:
            assert await revoke(http, token)
        with pytest.raises(NotConnected):
            await source.renew(ANN, token.access_token)
        assert await vault.get("notes", ANN) is None


async def test_a_connection_that_ends_while_it_is_renewed_stays_ended() -> None:
    async with oauth_server() as server:
        vault = vault_of(MemoryStore())
        token = await sign_in(server, "ann")
        await vault.put("notes", ANN, token.as_json())
        source, renew = TokenSource("notes", vault, time.time), server.accounts.exchange_refresh_token

        async def renew_and_disconnect(*given: Any) -> Any:
            renewed = await renew(*given)
            await vault.remove("notes", ANN)
            return renewed

        server.accounts.exchange_refresh_token = renew_and_disconnect  # type: ignore[method-assign]
        with pytest.raises(NotConnected):
            await source.renew(ANN, token.access_token)
        with pytest.raises(NotConnected):
            await source.token(ANN)
        assert await vault.get("notes", ANN) is None
        assert server.accounts.accesses == {}, "the renewed token is ended, too"


async def test_a_credential_that_was_replaced_while_the_old_one_was_read_is_used_at_the_next_call() -> None:
    read, go_on = asyncio.Event(), asyncio.Event()
    async with oauth_server() as server:
        signed_in = await sign_in(server, "ann")

    class SlowVault(CredentialVault):
        async def get(self, upstream: str, owner: Any) -> Any:
            found = await super().get(upstream, owner)
            if not read.is_set():
                read.set()
                await go_on.wait()
            return found

    def token_of(account: str) -> dict[str, Any]:
        return replace(signed_in, access_token=account).as_json()

    vault = SlowVault(MemoryStore(), lambda: b"k" * 32, time.time)
    await vault.put("notes", ANN, token_of("old account"))
    source = TokenSource("notes", vault, time.time)
    under_way = asyncio.ensure_future(source.token(ANN))
    await read.wait()
    await vault.put("notes", ANN, token_of("new account"))
    source.forget(ANN)
    next_call = asyncio.ensure_future(source.token(ANN))
    await asyncio.sleep(0)
    go_on.set()
    assert await under_way == "old account"
    assert await next_call == "new account"
    assert await source.token(ANN) == "new account"


async def test_an_authorization_server_that_is_down_removes_nothing() -> None:
    async with oauth_server() as server:
        token = await sign_in(server, "ann")
    vault = vault_of(MemoryStore())
    await vault.put("notes", ANN, replace(token, expires_at=0.0).as_json())
    with pytest.raises(OAuthProblem) as caught:
        await TokenSource("notes", vault, time.time).token(ANN)
    assert caught.value.temporary
    assert await vault.get("notes", ANN) is not None


async def test_a_credential_serves_only_its_owner() -> None:
    async with oauth_server() as server:
        vault = vault_of(MemoryStore())
        await vault.put("notes", ANN, (await sign_in(server, "ann")).as_json())
        source = TokenSource("notes", vault, time.time)
        await source.token(ANN)
        others = [BEN, replace(ANN, tenant="acme"), SHARED]
        for other in others:
            with pytest.raises(NotConnected):
                await source.token(other)
        with pytest.raises(NotConnected):
            await TokenSource("mail", vault, time.time).token(ANN)


async def test_a_row_moved_to_another_owner_or_read_with_another_key_is_not_a_credential() -> None:
    store = MemoryStore()
    vault = vault_of(store)
    await vault.put("notes", ANN, {"secret": "of ann"})
    await vault.put("notes", BEN, {"secret": "of ben"})
    rows = await store.documents(KIND, time.time())
    assert not any(b"secret" in row.body for row in rows)
    assert await vault_of(store, b"x" * 32).get("notes", ANN) is None
    first, second = rows
    await store.put_document(first._replace(id=second.id), time.time())
    read = [await vault.get("notes", one) for one in (ANN, BEN)]
    assert [one is None for one in read].count(True) == 1, "the moved row is nobody's"


@pytest.mark.parametrize(
    ("address", "upstream", "allowed"),
    [
        ("https://id.example.com/token", "https://mcp.example.com/mcp", True),
        ("http://id.example.com/token", "https://mcp.example.com/mcp", False),
        ("http://127.0.0.1:80/token", "https://mcp.example.com/mcp", False),
        ("https://localhost/token", "https://mcp.example.com/mcp", False),
        ("http://127.0.0.1:1/token", "http://localhost:2/mcp", True),
        ("https://user@id.example.com/", "https://mcp.example.com/mcp", False),
        ("file:///etc/passwd", "http://127.0.0.1/mcp", False),
    ],
)
def test_addresses_from_metadata_are_https_or_on_the_same_machine(address: str, upstream: str, allowed: bool) -> None:
    from assent.upstreams.oauth.discovery import check_address

    if allowed:
        check_address(address, upstream)
    else:
        with pytest.raises(OAuthProblem):
            check_address(address, upstream)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("60", 60), (60.5, 60.5), ("²", None), ("9" * 5000, 365 * 86400), (10**400, 365 * 86400), (-1, None), ([], None)],
)
def test_a_lifetime_that_makes_no_sense_does_not_end_the_sign_in(said: Any, seconds: float | None) -> None:
    assert _expiry({"expires_in": said}, 0) == seconds
