"""Opaque tokens (RFC 7662) and groups of the identity provider."""

from __future__ import annotations

import base64
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from assent.gateway.auth.jwt import Issuer, principal_of
from support.gateways import post, rpc, shop_gateway
from support.loopback_server import serving

AUDIENCE = "https://mcp.example.com/mcp"
ISSUER = "https://id.example.com"


class Endpoint:
    """An introspection endpoint that knows some tokens."""

    def __init__(self) -> None:
        self.tokens: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []
        self.broken = False

    async def answer(self, request: Request) -> Response:
        pair = base64.b64encode(b"gateway:s%3Acret").decode()
        if self.broken or request.headers["authorization"] != f"Basic {pair}":
            return Response(status_code=500)
        token = str((await request.form())["token"])
        self.asked.append(token)
        return JSONResponse(self.tokens.get(token, {"active": False}))


@asynccontextmanager
async def gateway_with(folder: Path, endpoint: Endpoint) -> AsyncIterator[str]:
    async with serving(Starlette(routes=[Route("/mcp", endpoint.answer, methods=["POST"])])) as address:
        own = {"url": address, "client_id": "gateway", "client_secret": "s:cret"}
        jwt = {
            "issuer": ISSUER, "audience": AUDIENCE, "introspection": own,
            "groups": {"Order Desk": {"scopes": ["orders:*"], "roles": ["viewer"]}},
        }  # fmt: skip
        async with shop_gateway(folder, auth={"jwt": jwt}) as (url, _, _):
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


async def test_an_endpoint_that_fails_is_no_verdict_about_the_token(tmp_path: Path) -> None:
    endpoint = Endpoint()
    endpoint.tokens["opaque"] = active()
    endpoint.broken = True
    async with gateway_with(tmp_path, endpoint) as url:
        assert await names(url, "opaque") == 503
        endpoint.broken = False
        assert isinstance(await names(url, "opaque"), set)


def test_a_group_may_be_one_text_and_gives_roles() -> None:
    issuer = Issuer(ISSUER, AUDIENCE, groups=(("Order Desk", frozenset({"a"}), frozenset({"viewer"})),))
    principal = principal_of({"sub": "ann", "scope": "b", "groups": "Order Desk"}, issuer)
    assert (principal.scopes, principal.roles) == ({"a", "b"}, {"viewer"})
