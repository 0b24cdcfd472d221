"""ID tokens that must not sign anybody in to the console."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from assent.web.asgi import Receive, Scope, Send
from assent.web.http import respond
from support.console.plain_browser import Browser, browser
from support.gateway.gateways import gateway
from support.identity.identity_provider import IdentityProvider
from support.identity.oidc_provider import begun, oidc_settings
from support.servers.loopback_server import serving


class ForgingProvider(IdentityProvider):
    """A provider whose token endpoint answers with whatever token the test made."""

    def __init__(self) -> None:
        super().__init__()
        self.audience, self.id_token = "console", ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        base = self.issuer
        answers: dict[str, dict[str, Any]] = {
            "/token": {"access_token": "a", "token_type": "Bearer", "id_token": self.id_token},
            "/.well-known/openid-configuration": {
                "issuer": base,
                "jwks_uri": f"{base}/jwks",
                "authorization_endpoint": f"{base}/auth",
                "token_endpoint": f"{base}/token",
            },
        }
        if scope["type"] == "http" and scope["path"] in answers:
            kind = [(b"content-type", b"application/json")]
            return await respond(send, 200, orjson.dumps(answers[scope["path"]]), kind)
        await super().__call__(scope, receive, send)


@asynccontextmanager
async def forging(folder: Path) -> AsyncIterator[tuple[ForgingProvider, Browser]]:
    provider = ForgingProvider()
    async with serving(provider) as address:
        provider.issuer = address.removesuffix("/mcp")
        async with gateway(folder, {}, console=oidc_settings(provider.issuer)) as (url, _), browser(url) as person:
            yield provider, person


async def answer_with(provider: ForgingProvider, person: Browser, **claims: Any) -> int:
    asked = parse_qs(urlsplit(await begun(person)).query)
    good = {"nonce": asked["nonce"][0], "iat": int(time.time()), "groups": ["approvers"]}
    provider.id_token = provider.token("ann", **{**good, **claims})
    return await bring(person, asked["state"][0])


async def bring(person: Browser, state: str) -> int:
    return (await person.get(f"/console/signin/oidc/callback?code=c&state={state}")).status_code


async def test_a_good_token_signs_in(tmp_path: Path) -> None:
    async with forging(tmp_path) as (provider, person):
        assert await answer_with(provider, person) == 303
        assert (await person.get("/console/approvals")).status_code == 200


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "of another sign-in"},
        {"nonce": None},
        {"aud": "another application"},
        {"aud": ["console", "other"]},
        {"aud": ["console", "other"], "azp": "other"},
        {"iss": "https://evil.example"},
        {"exp": int(time.time()) - 3600},
        {"exp": None},
        {"iat": int(time.time()) + 3600},
        {"iat": "now"},
        {"nbf": int(time.time()) + 3600},
        {"groups": ["nobody"]},
        {"groups": {"approvers": True}},
        {"groups": None},
        {"sub": None},
    ],
)
async def test_a_token_with_a_wrong_claim_signs_nobody_in(tmp_path: Path, claims: dict[str, Any]) -> None:
    async with forging(tmp_path) as (provider, person):
        assert await answer_with(provider, person, **claims) == 403
        assert (await person.get("/console/approvals")).status_code == 303


async def test_a_clock_that_is_a_little_off_still_signs_in(tmp_path: Path) -> None:
    async with forging(tmp_path) as (provider, person):
        soon = int(time.time()) + 20
        assert await answer_with(provider, person, iat=soon, nbf=soon, auth_time=soon) == 303


async def test_a_token_of_another_key_or_algorithm_signs_nobody_in(tmp_path: Path) -> None:
    async with forging(tmp_path) as (provider, person):
        for algorithm in ("ES256", "HS256", "none"):
            asked = parse_qs(urlsplit(await begun(person)).query)
            claims = jwt.decode(provider.token("ann", nonce=asked["nonce"][0]), options={"verify_signature": False})
            claims |= {"iat": int(time.time()), "groups": ["approvers"]}
            key: Any = {"ES256": ec.generate_private_key(ec.SECP256R1()), "HS256": "s" * 32, "none": None}[algorithm]
            provider.id_token = jwt.encode(claims, key, algorithm=algorithm, headers={"kid": "k1"})
            assert await bring(person, asked["state"][0]) == 403


async def test_a_token_that_was_seen_before_does_not_sign_in_again(tmp_path: Path) -> None:
    async with forging(tmp_path) as (provider, person):
        assert await answer_with(provider, person) == 303
        await person.send("/console/signout")
        asked = parse_qs(urlsplit(await begun(person)).query)
        assert await bring(person, asked["state"][0]) == 403


async def test_a_made_up_state_cookie_is_not_believed(tmp_path: Path) -> None:
    async with forging(tmp_path) as (_, person):
        state = parse_qs(urlsplit(await begun(person)).query)["state"][0]
        name, value = next((one.name, one.value or "") for one in person.client.cookies.jar if "signin" in one.name)
        person.client.cookies.clear()
        for wrong in (value[:-1] + "0" if value[-1] != "0" else value[:-1] + "1", "e30=." + "0" * 64, "x", "."):
            person.client.cookies.set(name, wrong, path="/console/signin")
            assert await bring(person, state) == 403
