"""Opaque tokens (RFC 7662) and groups of the identity provider."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from assent.config.callers import GroupRights, JwtSettings
from assent.gateway.auth.jwt import principal_of
from support.gateway.gateways import post, rpc, shop_gateway
from support.servers.loopback_server import serving

AUDIENCE = "https://mcp.example.com/mcp"
ISSUER = "https://id.example.com"


class Endpoint:
    """An introspection endpoint that knows some tokens."""

    def __init__(self) -> None:
        self.tokens: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []
        self.broken = False
        self.keys: dict[str, Any] = {"keys": []}

    async def show_keys(self, request: Request) -> Response:
        return JSONResponse(self.keys)

    async def answer(self, request: Request) -> Response:
        pair = base64.b64encode(b"gateway:s%3Acret").decode()
        if self.broken or request.headers["authorization"] != f"Basic {pair}":
            return Response(status_code=500)
        token = str((await request.form())["token"])
        self.asked.append(token)
        return JSONResponse(self.tokens.get(token, {"active": False}))


@asynccontextmanager
async def gateway_with(folder: Path, endpoint: Endpoint) -> AsyncIterator[str]:
    routes = [Route("/mcp", endpoint.answer, methods=["POST"]), Route("/keys", endpoint.show_keys)]
    async with serving(Starlette(routes=routes)) as address:
        own = {"url": address, "client_id": "gateway", "client_secret": "s:cret"}
        settings = {
            "issuer": ISSUER, "audience": AUDIENCE, "introspection": own,
            "jwks_url": address.removesuffix("/mcp") + "/keys",
            "groups": {"Order Desk": {"scopes": ["orders:*"], "roles": ["viewer"]}},
        }  # fmt: skip
        async with shop_gateway(folder, auth={"jwt": settings}) as (url, _, _):
            yield url


def active(**more: Any) -> dict[str, Any]:
    return {"active": True, "sub": "ann", "aud": AUDIENCE, "iss": ISSUER, "exp": time.time() + 600, **more}


async def names(url: str, token: str) -> set[str] | int:
    answer = await post(url, rpc("tools/list"), authorization=f"Bearer {token}")
    if answer.status_code != 200:
        return answer.status_code
    return {tool["name"] for tool in answer.json()["result"]["tools"]}


async def test_an_active_token_is_accepted_and_asked_about_once(tmp_path: Path) -> None:
    endpoint = Endpoint()
    endpoint.tokens["opaque"] = active(scope="orders:write")
    async with gateway_with(tmp_path, endpoint) as url:
        for _ in range(3):
            found = await names(url, "opaque")
            assert isinstance(found, set) and "place_order" in found
        assert endpoint.asked == ["opaque"]


async def test_groups_give_scopes(tmp_path: Path) -> None:
    endpoint = Endpoint()
    endpoint.tokens |= {"member": active(groups=["Order Desk"]), "other": active(groups=["Order", "Desk"])}
    async with gateway_with(tmp_path, endpoint) as url:
        member, other = await names(url, "member"), await names(url, "other")
        assert isinstance(member, set) and "place_order" in member
        assert isinstance(other, set) and "place_order" not in other


async def test_tokens_that_are_inactive_expired_or_for_others_are_refused(tmp_path: Path) -> None:
    endpoint = Endpoint()
    endpoint.tokens |= {
        "ended": {**active(), "active": False},
        "truthy": {**active(), "active": "yes"},
        "expired": active(exp=time.time() - 600),
        "elsewhere": active(aud="https://other.example/mcp"),
        "forged": active(iss="https://evil.example"),
        "nobody": {**active(), "sub": None},
    }
    async with gateway_with(tmp_path, endpoint) as url:
        for token in (*endpoint.tokens, "unknown"):
            assert await names(url, token) == 401, token


async def test_an_endpoint_that_fails_is_no_verdict_about_the_token(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint = Endpoint()
    endpoint.tokens["opaque"] = active()
    endpoint.broken = True
    async with gateway_with(tmp_path, endpoint) as url:
        answer = await post(url, rpc("tools/list"), authorization="Bearer opaque")
        assert (answer.status_code, answer.json()["code"]) == (503, "authenticate.provider_down")
        assert "identity provider 127.0.0.1" in answer.json()["detail"] and "store" not in answer.text
        logged = [line for line in caplog.messages if "identity provider" in line]
        assert len(logged) == 1 and "introspection: it answered 500" in logged[0]
        endpoint.broken = False
        assert isinstance(await names(url, "opaque"), set)


async def test_a_jwt_is_checked_as_one_and_never_sent_to_the_endpoint(tmp_path: Path) -> None:
    """Also while the endpoint is broken; what only looks like one is asked about."""
    endpoint, key = Endpoint(), ec.generate_private_key(ec.SECP256R1())
    jwk = {**json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key())), "kid": "k1", "alg": "ES256"}
    endpoint.keys, endpoint.broken = {"keys": [jwk]}, True
    claims = {"sub": "ann", "aud": AUDIENCE, "iss": ISSUER, "exp": time.time() + 600, "scope": "orders:write"}
    good = jwt.encode(claims, key, algorithm="ES256", headers={"kid": "k1"})
    forged = jwt.encode(claims, ec.generate_private_key(ec.SECP256R1()), algorithm="ES256", headers={"kid": "k1"})
    async with gateway_with(tmp_path, endpoint) as url:
        found = await names(url, good)
        assert isinstance(found, set) and "place_order" in found
        assert [await names(url, token) for token in (forged, jwt.encode(claims, "k" * 32))] == [401, 401]
        endpoint.broken, endpoint.tokens["not.a.jwt"] = False, active()
        assert isinstance(await names(url, "not.a.jwt"), set)
        assert endpoint.asked == ["not.a.jwt"]


def test_a_group_may_be_one_text_and_gives_roles() -> None:
    issuer = JwtSettings(
        issuer=ISSUER, audience=AUDIENCE, groups={"Order Desk": GroupRights(scopes=("a",), roles=("viewer",))}
    )
    principal = principal_of({"sub": "ann", "scope": "b", "groups": "Order Desk"}, issuer)
    assert (principal.scopes, principal.roles) == ({"a", "b"}, {"viewer"})


@pytest.mark.parametrize(
    ("name", "claims"),
    [
        ("realm_access.roles", {"realm_access": {"roles": ["Order Desk"]}}),
        ("https://id.example.com/groups", {"https://id.example.com/groups": ["Order Desk"]}),
    ],
)
def test_a_claim_of_groups_may_be_inside_another_or_have_dots_in_its_name(name: str, claims: dict[str, Any]) -> None:
    issuer = JwtSettings(issuer=ISSUER, audience=AUDIENCE, groups_claim=name)
    assert principal_of({"sub": "ann", **claims}, issuer).groups == {"Order Desk"}
    assert principal_of({"sub": "ann", "realm_access": "Order Desk"}, issuer).groups == frozenset()
