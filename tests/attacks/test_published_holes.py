"""One regression for every class of hole that was published of a gateway like this one.

| hole | test |
|---|---|
| DNS rebinding | test_a_page_that_rebinds_its_name_reaches_nothing |
| `Host` confusion | test_no_spelling_of_host_is_taken_for_ours |
| session id as credential | test_a_session_id_opens_nothing_for_another_caller |
| unbounded session tables | test_bad_clients.test_thousands_of_sessions_are_bounded_and_calls_go_on |
| SSRF from OpenAPI | test_the_document_never_decides_where_calls_go; upstreams/openapi/test_http |
| traversal from OpenAPI | test_a_path_value_never_reaches_another_operation (upstreams/openapi) |
| `$ref` fetches | test_no_schema_is_fetched_from_anywhere; upstreams/openapi/test_references |
| default bind 0.0.0.0 | test_the_default_is_this_machine_and_others_need_to_be_known |
| token passthrough | test_the_callers_token_never_goes_upstream |
| list filtering without call checks | test_what_is_not_listed_cannot_be_called |
| approval bound to a name | test_an_approval_is_for_one_call_and_not_for_a_name |
| dialog without arguments | test_the_question_shows_every_argument |
| test endpoints that spawn commands | test_no_path_starts_anything |
| confused deputy: the upstream's challenge | test_a_challenge_of_an_upstream_is_not_passed_to_the_caller |
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner

from assent.cli import cli
from assent.cli.serve_process import check_bind
from assent.config.load import parse_settings
from assent.core.problems import problem_in
from assent.errors import SettingsError
from assent.pipeline.approve import approve
from assent.testing import ANN
from support.clients.transports import Person, connect
from support.gateway.gateways import ANN_KEY, ANYBODY, CI, HEADERS, configuration, gateway, post, rpc, shop_gateway
from support.servers.scripted_server import Conversation, ScriptedServer

CLIENT = {"capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}


@pytest.mark.parametrize("headers", [{"host": "evil.example"}, {"origin": "http://evil.example"}, {"origin": "null"}])
async def test_a_page_that_rebinds_its_name_reaches_nothing(headers: dict[str, str], tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, _, _shop):
        assert (await post(url, rpc("tools/list"), **headers)).status_code in (403, 421)
        async with httpx2.AsyncClient(trust_env=False, timeout=60) as client:
            assert (await client.get(url, headers=headers)).status_code in (403, 421)
            assert (await client.get(url.replace("/mcp", "/metrics"), headers=headers)).status_code == 403


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "evil.example:80@127.0.0.1",
        "127.0.0.1@evil.example",
        "127.0.0.1#evil.example",
        "127.0.0.1, evil.example",
        "[::1].evil.example",
        "0.0.0.0",
        "2130706433",
        "127.1",
        "",
    ],
)
async def test_no_spelling_of_host_is_taken_for_ours(host: str, tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, _, _shop):
        assert (await post(url, rpc("tools/list"), host=host)).status_code in (400, 421)
        forwarded = await post(url, rpc("tools/list"), host="evil.example", **{"x-forwarded-host": "127.0.0.1"})
        assert forwarded.status_code == 421


KEYS = [
    {"name": "ci", "key": CI, "kind": "agent", "scopes": ["orders:write"]},
    {"name": "ann", "key": ANN_KEY, "kind": "human", "scopes": ["*"], "roles": ["approver"]},
]


async def test_a_session_id_opens_nothing_for_another_caller(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, auth={"api_keys": KEYS}) as (url, _, _shop):
        hello = rpc(
            "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "x", "version": "1"}
        )
        session = (await post(url, hello, authorization=f"Bearer {ANN_KEY}")).headers["mcp-session-id"]
        named = {"mcp-session-id": session}
        assert (await post(url, rpc("tools/list"), **named)).status_code == 401
        stolen = await post(url, rpc("tools/list"), **named, authorization=f"Bearer {CI}")
        unknown = await post(url, rpc("tools/list"), **{"mcp-session-id": "x"}, authorization=f"Bearer {CI}")
        assert (stolen.status_code, stolen.content) == (unknown.status_code, unknown.content)
        assert stolen.status_code == 404
        async with httpx2.AsyncClient(trust_env=False, timeout=60) as client:
            headers = {**named, "accept": "text/event-stream", "authorization": f"Bearer {CI}"}
            assert (await client.get(url, headers=headers)).status_code == 404
            assert (await client.delete(url, headers=headers)).status_code == 404


def test_the_document_never_decides_where_calls_go() -> None:
    with pytest.raises(SettingsError, match="base_url"):
        parse_settings(json.dumps({"upstreams": {"api": {"openapi": "api.json"}}}))


async def test_no_schema_is_fetched_from_anywhere(tmp_path: Path) -> None:
    fetched: list[bytes] = []

    async def trap(conversation: Conversation) -> None:
        fetched.append((await conversation.read_request())[0])

    async with ScriptedServer(trap) as server:
        outside = {"type": "object", "properties": {"a": {"$ref": f"http://127.0.0.1:{server.port}/schema.json"}}}

        async def listing(conversation: Conversation) -> None:
            while True:
                _, body = await conversation.read_request()
                tools = [{"name": "get_it", "description": "Gets it.", "inputSchema": outside}]
                result = {"supportedVersions": ["2026-07-28"], "capabilities": {}, "tools": tools}
                await conversation.answer(
                    json.dumps({"jsonrpc": "2.0", "id": json.loads(body)["id"], "result": result}).encode()
                )

        async with (
            ScriptedServer(listing) as upstream,
            gateway(tmp_path, {"odd": {"url": upstream.url}}) as (url, gateway_app),
        ):
            await post(url, rpc("tools/call", name="get_it", arguments={"a": 1}))
            assert "get_it" not in gateway_app.current.catalogue.tools
            assert "get_it" in gateway_app.current.catalogue.withheld
    assert fetched == []


def test_the_default_is_this_machine_and_others_need_to_be_known(tmp_path: Path) -> None:
    help_text = CliRunner().invoke(cli, ["serve", "--help"]).output
    assert "127.0.0.1" in help_text and "0.0.0.0" not in help_text
    with pytest.raises(SettingsError):
        check_bind(parse_settings(configuration(tmp_path, {}, auth={})), "0.0.0.0")


async def test_the_callers_token_never_goes_upstream(tmp_path: Path) -> None:
    seen: list[bytes] = []

    async def listening(conversation: Conversation) -> None:
        while True:
            head, body = await conversation.read_request()
            seen.append(head + body)
            await conversation.answer(b"{}", status=b"500 Internal Server Error")

    async with ScriptedServer(listening) as upstream:
        auth = {"api_keys": KEYS}
        async with gateway(tmp_path, {"odd": {"url": upstream.url}}, auth=auth) as (url, _):
            for method in ("tools/list", "tools/call", "resources/list", "initialize"):
                secret = {"authorization": f"Bearer {CI}", "cookie": "a=b", "proxy-authorization": "Basic x"}
                await post(url, rpc(method, name="x", arguments={}), **secret)
    assert seen
    assert not any(word in request.lower() for request in seen for word in (CI.encode(), b"cookie", b"proxy-auth"))


async def test_what_is_not_listed_cannot_be_called(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, auth={"api_keys": KEYS}) as (url, _, shop):
        known = {"authorization": f"Bearer {CI}"}
        listed = (await post(url, rpc("tools/list"), **known)).json()["result"]["tools"]
        assert {tool["name"] for tool in listed} == {"list_orders", "place_order"}
        for name in ("delete_order", "read_private_key"):
            answer = (await post(url, rpc("tools/call", name=name, arguments={"order_id": "1"}), **known)).json()
            assert "error" in answer or answer["result"]["isError"] is True
    assert shop.effects == []


async def test_an_approval_is_for_one_call_and_not_for_a_name(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, shop):

        async def delete(order: str) -> Any:
            answer = await post(url, rpc("tools/call", name="delete_order", arguments={"order_id": order}))
            result = answer.json()["result"]
            return problem_in(result) or result["structuredContent"]

        await approve(ANN, (await delete("1"))["approval"], "approve", gateway_app.ports)
        assert (await delete("2"))["code"] == "confirm.approval_pending"
        assert await delete("1") == {"deleted": "1"}
        assert (await delete("1"))["code"] == "confirm.approval_pending", "and it is used up"
    assert shop.effects == ["delete 1"]


async def test_the_question_shows_every_argument(tmp_path: Path) -> None:
    person = Person(["decline"])
    async with shop_gateway(tmp_path) as (url, _, shop), connect(url, "legacy", person) as client:
        await client.call_tool("place_order", {"item": "a\u202eevil"}, meta={"dev.assent/idempotencyKey": "k"})
    assert "place_order" in person.asked[0] or "Place" in person.asked[0]
    assert "item" in person.asked[0] and "evil" in person.asked[0]
    assert "\u202e" not in person.asked[0], "and nothing in it can reorder the rest"
    assert shop.effects == []


@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
@pytest.mark.parametrize("path", ["/test", "/api/test", "/mcp/test", "/mcp-rest/test/connection", "/sse", "/run"])
async def test_no_path_starts_anything(method: str, path: str, tmp_path: Path) -> None:
    marker = tmp_path / "started"
    body = json.dumps({"command": "touch", "args": [str(marker)], "transport": "stdio"}).encode()
    async with shop_gateway(tmp_path, auth={"api_keys": KEYS, **ANYBODY}) as (url, _, _shop):
        async with httpx2.AsyncClient(trust_env=False, timeout=60) as client:
            address = url.replace("/mcp", path)
            answer = await client.request(method, address, content=body, headers=HEADERS)
    assert answer.status_code in (401, 403, 404, 405)
    assert not marker.exists()


async def test_a_challenge_of_an_upstream_is_not_passed_to_the_caller(tmp_path: Path) -> None:
    async def refusing(conversation: Conversation) -> None:
        while True:
            await conversation.read_request()
            challenge = b'www-authenticate: Bearer resource_metadata="http://evil.example"\r\n'
            await conversation.answer(b"{}", status=b"401 Unauthorized", fields=challenge)

    async with ScriptedServer(refusing) as upstream, gateway(tmp_path, {"odd": {"url": upstream.url}}) as (url, _):
        for method in ("tools/list", "resources/list", "initialize"):
            answer = await post(url, rpc(method))
            assert answer.status_code != 401
            assert "www-authenticate" not in answer.headers
