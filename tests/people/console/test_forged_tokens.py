"""Answers of an identity provider that lies, is late, has a wrong clock, or is not there: nobody gets in."""

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

MINUTE = 60


class LyingProvider(IdentityProvider):
    """A provider that answers with whatever ID token it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.audience, self.answer = "console", ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path")
        if path == "/.well-known/openid-configuration" and not self.away:
            ends = {name: f"{self.issuer}/{name}" for name in ("authorization_endpoint", "token_endpoint")}
            said: dict[str, Any] = {"issuer": self.issuer, "jwks_uri": f"{self.issuer}/jwks", **ends}
            return await respond(send, 200, orjson.dumps(said))
        if path == "/token_endpoint" and not self.away:
            said = {"access_token": "a", "token_type": "Bearer", "id_token": self.answer}
            return await respond(send, 200, orjson.dumps(said), [(b"content-type", b"application/json")])
        await super().__call__(scope, receive, send)

    def id_token(self, asked: str, **claims: Any) -> str:
        return self.token(**{"nonce": asked, "iat": int(time.time()), "groups": ["approvers"], **claims})


@asynccontextmanager
async def console_with(folder: Path) -> AsyncIterator[tuple[LyingProvider, Browser]]:
    provider = LyingProvider()
    async with serving(provider) as address:
        provider.issuer = address.removesuffix("/mcp")
        settings = oidc_settings(provider.issuer, algorithms=["ES256"])
        async with gateway(folder, {}, console=settings) as (url, _), browser(url) as person:
            yield provider, person


async def answered(provider: LyingProvider, person: Browser, token: Any = None, **claims: Any) -> int:
    """The console's status for a sign-in that the provider answers so."""
    asked = {name: values[0] for name, values in parse_qs(urlsplit(await begun(person)).query).items()}
    provider.answer = token or provider.id_token(asked["nonce"], **claims)
    query = {"code": "c", "state": asked["state"], "iss": provider.issuer}
    return (await person.client.get("/console/signin/oidc/callback", params=query)).status_code


def now(seconds: int) -> int:
    return int(time.time()) + seconds


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({}, 303),
        ({"iat": 30}, 303),
        ({"exp": -20}, 303),
        ({"iat": 10 * MINUTE}, 403),
        ({"exp": -10 * MINUTE}, 403),
        ({"exp": None}, 403),
        ({"iat": None}, 403),
        ({"nbf": 10 * MINUTE}, 403),
        ({"nonce": "another"}, 403),
        ({"nonce": None}, 403),
        ({"aud": "another"}, 403),
        ({"aud": ["console", "another"], "azp": "another"}, 403),
        ({"aud": ["console", "another"]}, 403),
        ({"iss": "https://evil.example"}, 403),
        ({"sub": None}, 403),
        ({"groups": "approver"}, 403),
        ({"groups": {"approvers": 1}}, 403),
    ],
    ids=lambda value: str(sorted(value)) if isinstance(value, dict) else str(value),
)
async def test_a_token_counts_only_if_it_answers_this_sign_in_now(
    claims: dict[str, Any], status: int, tmp_path: Path
) -> None:
    """Times are seconds from now."""
    async with console_with(tmp_path) as (provider, person):
        times = {name: now(value) for name, value in claims.items() if isinstance(value, int)}
        assert await answered(provider, person, **{**claims, **times}) == status
        assert (await person.get("/console/account")).status_code == (200 if status == 303 else 303)


async def test_a_token_with_a_foreign_signature_or_none_is_not_believed(tmp_path: Path) -> None:
    async with console_with(tmp_path) as (provider, person):
        said = {"iss": provider.issuer, "aud": "console", "sub": "ann", "exp": now(600), "iat": now(0), "nonce": "n"}
        stranger = ec.generate_private_key(ec.SECP256R1())
        forged = [
            jwt.encode(said, stranger, algorithm="ES256", headers={"kid": "k1"}),
            jwt.encode(said, None, algorithm="none"),
            jwt.encode(said, "s" * 32, algorithm="HS256", headers={"kid": "k1"}),
            "x.y.z", "", "[]",
        ]  # fmt: skip
        assert [await answered(provider, person, token or " ") for token in forged] == [403] * len(forged)


async def test_a_provider_that_goes_away_during_a_sign_in_signs_nobody_in_and_it_works_again_later(
    tmp_path: Path,
) -> None:
    async with console_with(tmp_path) as (provider, person):
        asked = parse_qs(urlsplit(await begun(person)).query)
        provider.away = True
        query = {"code": "c", "state": asked["state"][0]}
        away = await person.client.get("/console/signin/oidc/callback", params=query)
        assert away.status_code in (403, 503) and (await person.get("/console/account")).status_code == 303
        provider.away = False
        assert await answered(provider, person) == 303
