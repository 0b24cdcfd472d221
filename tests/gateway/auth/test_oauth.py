"""OAuth callers at the gateway, from the identity provider's keys to the tool's own log."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from assent.config.callers import JwtSettings
from assent.contract.yaml_document import write_yaml
from assent.gateway.app import GatewayApp
from assent.gateway.auth.jwt import REFRESH_AT_MOST_EVERY, JwtVerifier
from assent.testing import Clock
from assent.upstreams.http.fetch import fetch_json
from support.gateway.gateways import KEY, Shop, post, rpc, shop_gateway
from support.identity.identity_provider import IdentityProvider, identity_provider

METADATA = 'resource_metadata="http://127.0.0.1:8420/.well-known/oauth-protected-resource"'
SCOPE = 'scope="cards:charge orders:read orders:write"'
CONTRACTS = {
    "list_orders": {"side_effect": "read", "permissions": ["orders:read"]},
    "place_order": {"side_effect": "write", "risk": "low", "permissions": ["orders:write", "cards:charge"]},
    "delete_order": {
        "side_effect": "destructive",
        "permissions": ["orders:write"],
        "confirmation": {"by": "host"},
        "step_up": {"max_age": "5m", "acr": ["mfa"]},
    },
}


@dataclass
class Scene:
    url: str
    gateway_app: GatewayApp
    shop: Shop
    provider: IdentityProvider

    async def call(self, token: str, tool: str, key: str | None = None, **arguments: Any) -> httpx2.Response:
        meta = {"_meta": {KEY: key}} if key else {}
        body = rpc("tools/call", name=tool, arguments=arguments, **meta)
        return await post(self.url, body, authorization=f"Bearer {token}")

    async def names(self, token: str) -> list[str]:
        listed = await post(self.url, rpc("tools/list"), authorization=f"Bearer {token}")
        return sorted(tool["name"] for tool in listed.json()["result"]["tools"])


@asynccontextmanager
async def oauth(folder: Path, **more: Any) -> AsyncIterator[Scene]:
    (folder / "scoped.yaml").write_text(write_yaml({"tools": CONTRACTS}))
    async with identity_provider() as provider:
        believed = {"issuer": provider.issuer, "audience": provider.audience, **more}
        settings = {"auth": {"jwt": believed}, "contracts": [str(folder / "scoped.yaml")]}
        async with shop_gateway(folder, **settings) as (url, gateway_app, shop):
            yield Scene(url, gateway_app, shop, provider)


async def test_scopes_decide_what_is_listed_and_what_is_called(tmp_path: Path) -> None:
    async with oauth(tmp_path) as there:
        reader = there.provider.token(scope="orders:read")
        assert await there.names(reader) == ["list_orders"]
        assert await there.names(there.provider.token(scope="orders:* cards:charge")) == [
            "delete_order",
            "list_orders",
            "place_order",
        ]
        answered = await there.call(reader, "list_orders", limit=1)
        assert answered.json()["result"]["structuredContent"] == {"result": ["o-0"]}
        assert there.provider.fetched == ["/.well-known/openid-configuration", "/jwks"], "once for all of them"


async def test_other_settings_do_not_lose_the_keys_of_an_issuer_who_is_away(tmp_path: Path) -> None:
    async with oauth(tmp_path) as there:
        await there.names(there.provider.token(scope="orders:read"))
        there.provider.away, before = True, len(there.provider.fetched)
        await there.gateway_app.use(there.gateway_app.settings.model_copy(update={"mode": "observe"}))
        assert await there.names(there.provider.token("bob", scope="orders:read"))
        assert len(there.provider.fetched) == before + 1, "it was asked again"


async def test_a_missing_scope_is_challenged_with_all_that_the_tool_needs(tmp_path: Path) -> None:
    async with oauth(tmp_path) as there:
        refused = await there.call(there.provider.token(scope="orders:write"), "place_order", item="x")
        assert refused.status_code == 403
        challenge = refused.headers["www-authenticate"]
        assert 'error="insufficient_scope"' in challenge
        assert 'scope="orders:write cards:charge"' in challenge
        assert METADATA in challenge
        assert refused.json()["code"] == "authorize.missing_permissions"
        assert refused.json()["missing_permissions"] == ["cards:charge"]
        assert there.shop.effects == []


@pytest.mark.parametrize("login", [{}, {"acr": "pwd"}, {"acr": "mfa", "auth_time": 1000}])
async def test_a_weak_or_old_login_is_challenged_to_step_up(login: dict[str, Any], tmp_path: Path) -> None:
    async with oauth(tmp_path) as there:
        token = there.provider.token(scope="orders:write", **login)
        refused = await there.call(token, "delete_order", order_id="1")
        assert refused.status_code == 401
        challenge = refused.headers["www-authenticate"]
        assert 'error="insufficient_user_authentication"' in challenge
        assert 'acr_values="mfa"' in challenge
        assert 'max_age="300"' in challenge
        assert METADATA in challenge
        strong = there.provider.token(scope="orders:write", acr="mfa", auth_time=int(time.time()))
        assert (await there.call(strong, "delete_order", order_id="1")).status_code == 200
        assert there.shop.effects == ["delete 1"]


async def test_the_metadata_says_where_tokens_come_from(tmp_path: Path) -> None:
    async with oauth(tmp_path) as there, httpx2.AsyncClient(timeout=60) as client:
        base = there.url.removesuffix("/mcp")
        for path in ("", "/mcp"):
            said = (await client.get(f"{base}/.well-known/oauth-protected-resource{path}")).json()
            assert said["resource"] == "http://127.0.0.1:8420/mcp"
            assert said["authorization_servers"] == [there.provider.issuer]
            assert said["scopes_supported"] == ["cards:charge", "orders:read", "orders:write"]
        nobody = await post(there.url, rpc("tools/list"))
        assert nobody.status_code == 401
        assert nobody.headers["www-authenticate"] == f"Bearer {SCOPE}, {METADATA}"


def forged(provider: IdentityProvider, how: str) -> str:
    claims = {"iss": provider.issuer, "aud": provider.audience, "sub": "ann", "exp": int(time.time()) + 600}
    match how:
        case "expired":
            return provider.token(exp=int(time.time()) - 60)
        case "not yet valid":
            return provider.token(nbf=int(time.time()) + 600)
        case "another audience":
            return provider.token(aud="https://other.example.com/mcp")
        case "another issuer":
            return provider.token(iss="https://evil.example.com")
        case "no subject":
            return provider.token(sub=None)
        case "alg none":
            return jwt.encode(claims, "", algorithm="none", headers={"kid": "k1"})
        case "the public key as a secret":
            return jwt.encode(claims, str(provider.jwk()), algorithm="HS256", headers={"kid": "k1"})
        case "another key":
            other = ec.generate_private_key(ec.SECP256R1())
            return jwt.encode(claims, other, algorithm="ES256", headers={"kid": "k1"})
        case "a changed body":
            head, _, signature = provider.token().split(".")
            return f"{head}.{provider.token(scope='*').split('.')[1]}.{signature}"
    return how


@pytest.mark.parametrize(
    "how",
    [
        "expired",
        "not yet valid",
        "another audience",
        "another issuer",
        "no subject",
        "alg none",
        "the public key as a secret",
        "another key",
        "a changed body",
        "a.b.c",
        "..",
    ],
)
async def test_a_token_that_is_not_to_be_believed_is_refused_everywhere(how: str, tmp_path: Path) -> None:
    async with oauth(tmp_path) as there, httpx2.AsyncClient(timeout=60) as client:
        assert (await there.call(there.provider.token(scope="*"), "list_orders")).status_code == 200
        token = forged(there.provider, how)
        bearer = {"authorization": f"Bearer {token}"}
        api = there.url.removesuffix("mcp") + "api/tools"
        for refused in (await there.call(token, "list_orders"), await client.get(api, headers=bearer)):
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"] == f'Bearer error="invalid_token", {SCOPE}, {METADATA}'
            assert refused.json()["code"] == "authenticate.invalid"


async def test_keys_are_rotated_without_a_restart_and_the_old_one_is_forgotten(tmp_path: Path) -> None:
    async with oauth(tmp_path) as there:
        clock = Clock(time.time())
        issuer = JwtSettings(issuer=there.provider.issuer, audience=there.provider.audience)
        there.gateway_app.current.rulebook.authenticator.tokens = JwtVerifier(issuer, fetch_json, clock)
        old = there.provider.token(scope="orders:read", jti="1")
        assert await there.names(old) == ["list_orders"]
        unseen = there.provider.token(scope="orders:read", jti="2")
        there.provider.rotate()
        new = there.provider.token(scope="orders:read")
        assert (await there.call(new, "list_orders")).status_code == 401, "never refetched in a hurry"
        clock.advance(REFRESH_AT_MOST_EVERY + 1)
        assert await there.names(new) == ["list_orders"]
        assert (await there.call(unseen, "list_orders")).status_code == 401
        clock.advance(61)
        assert (await there.call(old, "list_orders")).status_code == 401, "no longer remembered either"


async def test_two_users_of_one_client_are_two_principals(tmp_path: Path) -> None:
    async with oauth(tmp_path) as there:
        grants = {"scope": "orders:* cards:charge", "client_id": "desktop", "azp": "desktop"}
        ann, bob = there.provider.token("ann", **grants), there.provider.token("bob", **grants)
        first = await there.call(ann, "place_order", key="k", item="x")
        second = await there.call(bob, "place_order", key="k", item="y")
        again = await there.call(ann, "place_order", key="k", item="x")
        results = [answer.json()["result"]["structuredContent"] for answer in (first, second, again)]
        assert results == [{"order": 1}, {"order": 2}, {"order": 1}]
        assert there.shop.effects == ["x", "y"]
        opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
        opened = await post(there.url, rpc("initialize", **opening), authorization=f"Bearer {ann}")
        session = {"mcp-session-id": opened.headers["mcp-session-id"]}
        mine = await post(there.url, rpc("ping"), authorization=f"Bearer {ann}", **session)
        theirs = await post(there.url, rpc("ping"), authorization=f"Bearer {bob}", **session)
        assert (mine.status_code, theirs.status_code) == (200, 404)


async def test_a_person_with_a_token_decides_and_an_agent_for_that_person_does_not(tmp_path: Path) -> None:
    async with oauth(tmp_path) as there, httpx2.AsyncClient(timeout=60) as client:
        claims = {"kind": "human", "roles": ["operator"], "scope": "*"}
        api = there.url.removesuffix("mcp") + "api/audit"
        person = {"authorization": f"Bearer {there.provider.token(**claims)}"}
        agent = {"authorization": f"Bearer {there.provider.token(**claims, act={'sub': 'assistant'})}"}
        assert (await client.get(api, headers=person)).status_code == 200
        assert (await client.get(api, headers=agent)).status_code == 403


async def test_a_hundred_strangers_are_one_entry(tmp_path: Path) -> None:
    async with oauth(tmp_path) as there:
        for number in range(100):
            bad = "Bearer wrong" if number % 2 else "Basic x"
            assert (await post(there.url, rpc("tools/list"), authorization=bad)).status_code == 401

        async def denials() -> list[Any]:
            await there.gateway_app.store.flush()
            return [one for one in await there.gateway_app.store.entries() if one.entry.kind == "authentication"]

        assert await denials() == []
        there.gateway_app.auth.failed_auth.write()
        (logged,) = await denials()
        assert logged.entry.values["codes"] == {"authenticate.invalid": 100}
        assert logged.entry.values["addresses"] == {"127.0.0.1": 100}


async def test_a_session_outlives_a_renewed_token_and_is_nobody_elses(tmp_path: Path) -> None:
    async with oauth(tmp_path) as there:
        hello = rpc(
            "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "x", "version": "1"}
        )
        weak = there.provider.token(scope="orders:read", auth_time=1)
        opened = await post(there.url, hello, authorization=f"Bearer {weak}")
        session = {"mcp-session-id": opened.headers["mcp-session-id"]}

        async def status(token: str) -> int:
            return (await post(there.url, rpc("tools/list"), authorization=f"Bearer {token}", **session)).status_code

        assert await status(there.provider.token(scope="orders:*", auth_time=int(time.time()), acr="mfa")) == 200
        assert await status(there.provider.token("bob", scope="orders:read", auth_time=1)) == 404
        assert await status(there.provider.token(scope="orders:read", auth_time=1, act={"sub": "bot"})) == 404
        assert await status(there.provider.token(scope="orders:read", auth_time=1, tenant="other")) == 404
