"""What an OAuth client, also one in a browser, needs to get in: metadata, challenges, locked tools and CORS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from assent.config.load import parse_settings
from assent.contract.yaml_document import write_yaml
from assent.errors import FaultsError
from support.gateway.gateways import HEADERS, post, rpc, shop_gateway
from support.identity.identity_provider import identity_provider

PAGE = "https://app.example.com"
SCOPED = {"list_orders": {"side_effect": "read", "permissions": ["orders:read"]}}
METADATA = "/.well-known/oauth-protected-resource"


def settings(folder: Path, provider: Any, contracts: dict[str, Any] | None = None, **jwt: Any) -> dict[str, Any]:
    (folder / "scoped.yaml").write_text(write_yaml({"tools": contracts or {}}))
    believed = {"issuer": provider.issuer, "audience": provider.audience, **jwt}
    return {"auth": {"jwt": believed}, "contracts": [str(folder / "scoped.yaml")]}


async def test_an_empty_list_of_scopes_is_left_out(tmp_path: Path) -> None:
    async with identity_provider() as provider, httpx2.AsyncClient(timeout=60) as client:
        async with shop_gateway(tmp_path, **settings(tmp_path, provider)) as (url, _, _):
            said = (await client.get(url.replace("/mcp", METADATA))).json()
            refused = await post(url, rpc("tools/list"))
    assert "scopes_supported" not in said
    assert "scope=" not in refused.headers["www-authenticate"]


@pytest.mark.parametrize(
    ("jwt", "scope"), [({}, "orders:read"), ({"scopes": ["openid", "orders:read"]}, "openid orders:read")]
)
async def test_a_stranger_is_told_which_scopes_to_ask_for(jwt: dict[str, Any], scope: str, tmp_path: Path) -> None:
    async with identity_provider() as provider:
        async with shop_gateway(tmp_path, **settings(tmp_path, provider, SCOPED, **jwt)) as (url, _, _):
            refused = await post(url, rpc("tools/list"))
    assert refused.status_code == 401
    assert f'scope="{scope}"' in refused.headers["www-authenticate"]
    assert "resource_metadata=" in refused.headers["www-authenticate"]


@pytest.mark.parametrize(("visibility", "listed"), [({}, False), ({"visibility": "locked"}, True)])
async def test_locked_tools_are_listed_so_that_their_challenge_is_reached(
    visibility: dict[str, str], listed: bool, tmp_path: Path
) -> None:
    async with identity_provider() as provider:
        configured = {**settings(tmp_path, provider, SCOPED), **visibility}
        async with shop_gateway(tmp_path, **configured) as (url, _, _):
            bearer = f"Bearer {provider.token(scope='other')}"
            found = (await post(url, rpc("tools/list"), authorization=bearer)).json()["result"]["tools"]
            called = await post(url, rpc("tools/call", name="list_orders", arguments={}), authorization=bearer)
    assert ("list_orders" in {tool["name"] for tool in found}) is listed
    assert "read_private_key" not in {tool["name"] for tool in found}, "what is forbidden for AI stays absent"
    assert called.status_code == 403
    assert 'scope="orders:read"' in called.headers["www-authenticate"]


async def test_a_page_of_a_configured_origin_may_ask_and_read_the_answer(tmp_path: Path) -> None:
    wanted = "authorization, content-type, mcp-protocol-version, mcp-param-x, x-strange"
    asks = {"access-control-request-method": "POST", "access-control-request-headers": wanted}
    async with shop_gateway(tmp_path, origins=[PAGE]) as (url, _, _), httpx2.AsyncClient(timeout=60) as client:
        preflight = await client.options(url, headers={"origin": PAGE, **asks})
        answered = await client.post(url, json=rpc("tools/list"), headers={**HEADERS, "origin": PAGE})
    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-origin"] == PAGE
    assert preflight.headers["access-control-allow-methods"] == "GET, POST, DELETE"
    allowed = preflight.headers["access-control-allow-headers"]
    assert allowed == "authorization, content-type, mcp-protocol-version, mcp-param-x"
    assert answered.status_code == 200
    assert answered.headers["access-control-allow-origin"] == PAGE
    assert "mcp-session-id" in answered.headers["access-control-expose-headers"]
    assert answered.headers["vary"] == "origin"


async def test_a_page_can_read_the_challenge_and_the_metadata(tmp_path: Path) -> None:
    async with identity_provider() as provider, httpx2.AsyncClient(timeout=60) as client:
        configured = {**settings(tmp_path, provider), "origins": [PAGE]}
        async with shop_gateway(tmp_path, **configured) as (url, _, _):
            refused = await client.post(url, json=rpc("tools/list"), headers={**HEADERS, "origin": PAGE})
            said = await client.get(url.replace("/mcp", METADATA), headers={"origin": PAGE})
    assert refused.status_code == 401
    assert refused.headers["access-control-allow-origin"] == PAGE
    assert "www-authenticate" in refused.headers["access-control-expose-headers"]
    assert said.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize("origin", ["https://evil.example.com", "https://app.example.com.evil.test", "null"])
async def test_other_pages_are_refused_as_before(origin: str, tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, origins=[PAGE]) as (url, _, _), httpx2.AsyncClient(timeout=60) as client:
        refused = await client.post(url, json=rpc("tools/list"), headers={**HEADERS, "origin": origin})
        preflight = await client.options(url, headers={"origin": origin, "access-control-request-method": "POST"})
    assert (refused.status_code, preflight.status_code) == (403, 403)
    assert "access-control-allow-origin" not in refused.headers


async def test_without_origins_a_page_of_this_machine_gets_no_cors_headers(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, _, _), httpx2.AsyncClient(timeout=60) as client:
        answered = await client.post(
            url, json=rpc("tools/list"), headers={**HEADERS, "origin": "http://localhost:3000"}
        )
    assert "access-control-allow-origin" not in answered.headers


@pytest.mark.parametrize("origin", ["*", "app.example.com", "https://app.example.com/page", "ftp://app.example.com"])
def test_an_origin_is_a_scheme_and_a_host(origin: str) -> None:
    with pytest.raises(FaultsError, match="is not a web origin"):
        parse_settings(write_yaml({"origins": [origin]}))
