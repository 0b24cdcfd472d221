"""Servers nobody here wrote, behind the gateway: governed, and otherwise untouched."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.shared.exceptions import MCPError

from assent.cli.serve_process import check_bind
from assent.config.load import parse_settings
from assent.core.pins import pins_of, pins_text
from assent.errors import SettingsError
from assent.pipeline.approve import approve
from assent.testing import ANN
from support.clients.transports import ERAS, Person, connect, over_http
from support.decisions.problems import problem
from support.gateway.gateways import ANN_KEY, ANYBODY, CI, KEY, Shop, configuration, gateway, post, rpc, shop_gateway
from support.servers.loopback_server import serving


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_foreign_tools_are_listed_under_their_contracts_and_the_forbidden_one_is_not(
    era: str, tmp_path: Path
) -> None:
    async with shop_gateway(tmp_path) as (url, _, _shop), connect(url, era, None) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert sorted(listed) == ["delete_order", "list_orders", "place_order"]
    assert listed["list_orders"].annotations.read_only_hint is None  # type: ignore[union-attr]
    assert (listed["delete_order"].meta or {})["dev.assent/contract"]["tier"] == "destructive"


async def test_a_confirmation_in_band_runs_once_and_replays(era: str, tmp_path: Path) -> None:
    person = Person(["accept"])
    async with shop_gateway(tmp_path) as (url, _, shop), connect(url, era, person) as client:
        first = await client.call_tool("place_order", {"item": "x"}, meta={KEY: "k"})
        again = await client.call_tool("place_order", {"item": "x"}, meta={KEY: "k"})
    assert first.structured_content == again.structured_content == {"order": 1}
    assert (again.meta or {})["dev.assent/replayed"] is True
    assert shop.effects == ["x"]
    assert len(person.asked) == 1


async def test_an_approver_decides_out_of_band_whatever_the_client_can(era: str, tmp_path: Path) -> None:
    person = Person()
    async with shop_gateway(tmp_path) as (url, gateway_app, shop), connect(url, era, person) as client:
        waiting = await client.call_tool("delete_order", {"order_id": "o-1"})
        assert problem(waiting)["code"] == "confirm.approval_pending"
        await approve(ANN, problem(waiting)["approval"], "approve", gateway_app.ports)
        done = await client.call_tool("delete_order", {"order_id": "o-1"})
    assert done.structured_content == {"deleted": "o-1"}
    assert shop.effects == ["delete o-1"]
    assert person.asked == []


async def test_a_plain_post_without_a_session_is_served(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, _, _shop):
        listed = (await post(url, rpc("tools/list"))).json()
        called = (await post(url, rpc("tools/call", name="list_orders", arguments={"limit": 1}))).json()
        ping = (await post(url, rpc("ping"))).json()
    assert len(listed["result"]["tools"]) == 3
    assert called["result"]["structuredContent"] == {"result": ["o-0"]}
    assert ping["result"] == {}


@pytest.mark.parametrize("extra", [{}, {"mcp-param-x": "1"}, {"idempotency-key": "k"}, {"x-forwarded-host": "a"}])
async def test_forbidden_and_unknown_answer_byte_for_byte_alike(extra: dict[str, str], tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, _, _shop):
        answers = []
        for name in ("read_private_key", "read_private_kex"):
            for arguments in ({}, {"anything": [1]}):
                answer = await post(url, rpc("tools/call", name=name, arguments=arguments), **extra)
                answers.append((answer.status_code, answer.content.replace(name.encode(), b"NAME")))
                modern = {
                    "mcp-protocol-version": "2026-07-28",
                    "mcp-method": "tools/call",
                    "mcp-name": name,
                    **extra,
                }
                body = rpc("tools/call", name=name, arguments=arguments)
                body["params"]["_meta"] = {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {},
                }
                answer = await post(url, body, **modern)
                answers.append((answer.status_code, answer.content.replace(name.encode(), b"NAME")))
    assert len(set(answers[0::2])) == 1
    assert len(set(answers[1::2])) == 1


async def test_keys_decide_who_calls_and_a_bad_one_never_falls_through(tmp_path: Path) -> None:
    keys = [
        {"name": "ci", "key": CI, "kind": "agent", "scopes": ["orders:write"]},
        {"name": "ann", "key": ANN_KEY, "kind": "human", "scopes": ["*"], "roles": ["approver"]},
    ]
    auth = {"api_keys": keys, **ANYBODY}
    async with shop_gateway(tmp_path, auth=auth) as (url, _, _shop):

        async def names(**headers: str) -> list[str]:
            listed = await post(url, rpc("tools/list"), **headers)
            return sorted(tool["name"] for tool in listed.json()["result"]["tools"])

        assert await names(authorization=f"Bearer {CI}") == ["list_orders", "place_order"]
        assert await names(**{"x-api-key": ANN_KEY}) == [
            "delete_order",
            "list_orders",
            "place_order",
            "read_private_key",
        ], "forbidden for AI means: for AI"
        for headers in ({"authorization": "Bearer wrong"}, {"authorization": "Basic x"}, {"x-api-key": ""}):
            refused = await post(url, rpc("tools/list"), **headers)
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"] == 'Bearer error="invalid_token"'
            assert refused.json()["code"] == "authenticate.invalid"
        refused = await post(
            url, rpc("tools/call", name="delete_order", arguments={"order_id": "1"}), authorization=f"Bearer {CI}"
        )
        assert refused.status_code == 200
        said = problem(refused.json()["result"])
        assert said["code"] == "authorize.missing_permissions"
        assert said["missing_permissions"] == ["orders:admin"]


async def test_without_anonymous_nobody_is_let_in_without_credentials(tmp_path: Path) -> None:
    auth = {"api_keys": [{"name": "ci", "key": CI, "kind": "agent", "scopes": ["*"]}]}
    async with shop_gateway(tmp_path, auth=auth) as (url, _, _shop):
        refused = await post(url, rpc("tools/list"))
    assert refused.status_code == 401
    assert refused.json()["code"] == "authenticate.missing"


PROXY_FIELDS = """
    forwarded x-forwarded-for x-real-ip x-forwarded-host x-forwarded-proto x-original-forwarded-for via cdn-loop
    cf-connecting-ip true-client-ip x-client-ip x-cluster-client-ip fastly-client-ip x-envoy-external-address
    x-azure-clientip tailscale-user-login fly-client-ip x-remote-addr
"""


async def test_who_comes_through_a_proxy_on_this_machine_is_not_anonymous(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, _, _shop):
        answers = {name: await post(url, rpc("tools/list"), **{name: "192.0.2.1"}) for name in PROXY_FIELDS.split()}
        direct = await post(url, rpc("tools/list"), **{"user-agent": "x", "x-request-id": "1", "traceparent": "00"})
    assert {name for name, answer in answers.items() if answer.status_code != 401} == set()
    assert direct.status_code == 200


async def test_the_callers_credentials_never_reach_the_upstream(tmp_path: Path) -> None:
    seen: list[dict[str, str]] = []
    shop = Shop()
    inner = shop.server.streamable_http_app()

    async def spying(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            seen.append({name.decode(): value.decode() for name, value in scope["headers"]})
        await inner(scope, receive, send)

    auth = {"api_keys": [{"name": "ci", "key": CI, "kind": "agent", "scopes": ["*"]}]}
    async with serving(spying) as upstream:
        upstreams = {"shop": {"url": upstream, "headers": {"Authorization": "Bearer of-the-gateway"}}}
        async with gateway(tmp_path, upstreams, auth=auth) as (url, _):
            for body in (rpc("tools/call", name="list_orders"), rpc("resources/list")):
                await post(url, body, authorization=f"Bearer {CI}", cookie="a=b", **{"x-api-key": CI})
    assert {headers["authorization"] for headers in seen} == {"Bearer of-the-gateway"}
    assert not any("cookie" in headers or "x-api-key" in headers for headers in seen)


async def test_one_dead_upstream_does_not_take_the_others_down(era: str, tmp_path: Path) -> None:
    shop = Shop()
    async with over_http(shop.server) as upstream:
        upstreams = {"shop": {"url": upstream}, "dead": {"url": "http://127.0.0.1:9/mcp"}}
        async with gateway(tmp_path, upstreams) as (url, gateway_app), connect(url, era, None) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            answered = await client.call_tool("shop_list_orders", {"limit": 1})
            assert "dead" in gateway_app.tools.troubles
    assert all(name.startswith("shop_") for name in names)
    assert answered.structured_content == {"result": ["o-0"]}


async def test_observing_asks_and_refuses_nothing_but_what_is_forbidden(era: str, tmp_path: Path) -> None:
    person = Person()
    async with shop_gateway(tmp_path, mode="observe") as (url, gateway_app, shop), connect(url, era, person) as client:
        done = await client.call_tool("delete_order", {"order_id": "o-1"})
        with pytest.raises(MCPError):
            await client.call_tool("read_private_key", {})
        await gateway_app.store.flush()
        entries = [logged.entry for logged in await gateway_app.store.entries()]
    assert done.structured_content == {"deleted": "o-1"}
    assert shop.effects == ["delete o-1"]
    assert [entry.facts["would"] for entry in entries if entry.kind == "intent"] == [["confirm.confirmation_required"]]


async def test_observing_lists_what_it_would_run(tmp_path: Path) -> None:
    auth = {"api_keys": [{"name": "ci", "key": CI, "kind": "agent", "scopes": ["orders:write"]}]}
    async with shop_gateway(tmp_path, mode="observe", auth=auth) as (url, _, shop):
        known = {"authorization": f"Bearer {CI}"}
        listed = (await post(url, rpc("tools/list"), **known)).json()["result"]["tools"]
        done = await post(url, rpc("tools/call", name="delete_order", arguments={"order_id": "o-1"}), **known)
    assert sorted(tool["name"] for tool in listed) == ["delete_order", "list_orders", "place_order"]
    assert done.json()["result"]["structuredContent"] == {"deleted": "o-1"}
    assert shop.effects == ["delete o-1"]


async def test_a_changed_definition_is_withheld_until_it_is_accepted_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shop, lock = Shop(), tmp_path / "assent.lock"
    async with over_http(shop.server) as upstream:
        async with gateway(tmp_path, {"shop": {"url": upstream}}, pins=str(lock)) as (_, gateway_app):
            definitions = await gateway_app.current.links["shop"].load()  # type: ignore[attr-defined]
            assert "place_order" in gateway_app.current.catalogue.tools
        said = [record.getMessage() for record in caplog.records if str(lock) in record.getMessage()]
        until = "until you run `assent pin --write`, definitions are pinned as first seen"
        assert said == [f"the lock file {lock} does not exist: {until}"]
        lock.write_text(pins_text({"shop": pins_of(definitions)}))
        shop.server._tool_manager.get_tool("place_order").description = "Lists nothing, harmlessly."  # type: ignore[union-attr]
        async with gateway(tmp_path, {"shop": {"url": upstream}}, pins=str(lock)) as (url, gateway_app):
            assert "place_order" not in gateway_app.current.catalogue.tools
            assert "changed since it was accepted" in gateway_app.current.catalogue.withheld["place_order"]
            refused = (await post(url, rpc("tools/call", name="place_order", arguments={"item": "x"}))).json()
            assert refused["error"] == {"code": -32602, "message": "Unknown tool: place_order"}
            assert "list_orders" in gateway_app.current.catalogue.tools
    assert shop.effects == []


@pytest.mark.parametrize("broken", [b"{broken", b"\xff\xfe{}"])
async def test_what_was_accepted_holds_while_the_lock_file_cannot_be_read(tmp_path: Path, broken: bytes) -> None:
    shop, lock = Shop(), tmp_path / "assent.lock"
    async with (
        over_http(shop.server) as upstream,
        gateway(tmp_path, {"shop": {"url": upstream}}, pins=str(lock)) as (url, gateway_app),
    ):
        accepted = pins_text({"shop": pins_of(await gateway_app.current.links["shop"].load())})  # type: ignore[attr-defined]
        lock.write_text(accepted)
        await gateway_app.reload("shop")
        lock.write_bytes(broken)
        shop.server._tool_manager.get_tool("place_order").description = "Lists nothing, harmlessly."  # type: ignore[union-attr]
        await gateway_app.reload("shop")
        assert "changed since it was accepted" in gateway_app.current.catalogue.withheld["place_order"]
        assert "list_orders" in gateway_app.current.catalogue.tools
        assert gateway_app.tools.troubles["shop"].startswith(f"{lock}: not a lock file: it is not ")
        refused = (await post(url, rpc("tools/call", name="place_order", arguments={"item": "x"}))).json()
        assert refused["error"]["message"] == "Unknown tool: place_order"
        lock.write_text(accepted)
        await gateway_app.reload("shop")
        assert gateway_app.tools.troubles == {}
    assert shop.effects == []


async def test_health_readiness_and_unknown_pages_are_json(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, _, _shop), httpx2.AsyncClient(timeout=60) as client:
        base = url.removesuffix("/mcp")
        assert (await client.get(f"{base}/healthz")).json() == {"status": "ok"}
        assert (await client.get(f"{base}/readyz")).json() == {"status": "ready"}
        missing = await client.get(f"{base}/nowhere")
        assert missing.status_code == 404
        assert missing.json()["status"] == 404


async def test_a_foreign_host_or_origin_is_turned_away(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, _, _shop):
        assert (await post(url, rpc("tools/list"), host="evil.example")).status_code == 421
        assert (await post(url, rpc("tools/list"), origin="http://evil.example")).status_code == 403


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "example.com"])
def test_a_socket_others_can_reach_needs_callers_to_be_known(host: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="anonymous"):
        check_bind(parse_settings(configuration(tmp_path, {})), host)
    with pytest.raises(SettingsError, match="other machines can reach"):
        check_bind(parse_settings(configuration(tmp_path, {}, auth={})), host)
    keyed = {"api_keys": [{"name": "ci", "key": CI, "kind": "agent"}]}
    check_bind(parse_settings(configuration(tmp_path, {}, auth=keyed)), host)
    check_bind(parse_settings(configuration(tmp_path, {}, auth={})), host, lambda: True)
    check_bind(parse_settings(configuration(tmp_path, {})), "127.0.0.1")
    offered = {"anonymous": {"kind": "agent", "tools": ["list_orders"]}}
    check_bind(parse_settings(configuration(tmp_path, {}, auth=offered)), host)


async def test_two_upstreams_with_one_name_for_two_tools_are_kept_apart_by_their_prefix(tmp_path: Path) -> None:
    one, two = Shop(), Shop()
    async with over_http(one.server) as first, over_http(two.server) as second:
        async with gateway(tmp_path, {"a": {"url": first}, "b": {"url": second}}, contracts=[]) as (url, gateway_app):
            await post(url, rpc("tools/call", name="b_list_orders", arguments={}))
            assert "a_place_order" in gateway_app.current.catalogue.tools
            assert "b_place_order" in gateway_app.current.catalogue.tools


@pytest.mark.parametrize("has_test", [True, False])
async def test_a_test_caller_reaches_nothing_live_with_any_method(era: str, has_test: bool, tmp_path: Path) -> None:
    live, test = Shop(), Shop()
    live.server.resource("shop://motto", name="motto")(lambda: "live")
    test.server.resource("shop://motto", name="motto")(lambda: "test")
    auth = {"anonymous": {"kind": "agent", "scopes": ["*"], "mode": "test"}}
    async with over_http(live.server) as one, over_http(test.server) as other:
        upstream = {"url": one, **({"test": {"url": other}} if has_test else {})}
        async with gateway(tmp_path, {"shop": upstream}, auth=auth) as (url, _):
            if not has_test:
                async with connect(url, era, None) as client:
                    with pytest.raises(MCPError, match="Unknown resource"):
                        await client.read_resource("shop://motto")
                    called = await client.call_tool("list_orders", {"limit": 1})
                assert called.is_error and "test endpoint" in str(called.content)
                return
            async with connect(url, era, None) as client:
                (content,) = (await client.read_resource("shop://motto")).contents
                called = await client.call_tool("list_orders", {"limit": 1})
    assert content.text == "test"  # type: ignore[union-attr]
    assert called.structured_content == {"result": ["o-0"]}


async def test_an_effect_runs_on_when_its_caller_hangs_up_and_the_retry_replays_it(tmp_path: Path) -> None:
    begun, go = asyncio.Event(), asyncio.Event()
    shop = Shop()

    @shop.server.tool()
    async def send_note(text: str) -> dict[str, int]:
        """Sends a note."""
        begun.set()
        await go.wait()
        shop.effects.append(text)
        return {"sent": len(shop.effects)}

    contracts = tmp_path / "notes.yaml"
    contracts.write_text("tools: {send_note: {side_effect: write, idempotency: {recovery: none}}}")
    files = [str(tmp_path / "contracts.yaml"), str(contracts)]
    async with (
        over_http(shop.server) as upstream,
        gateway(tmp_path, {"shop": {"url": upstream}}, contracts=files) as (url, _gateway_app),
    ):
        async with connect(url, ERAS[0], None) as client:
            calling = asyncio.ensure_future(client.call_tool("send_note", {"text": "x"}, meta={KEY: "k"}))
            await begun.wait()
            calling.cancel()
            await asyncio.gather(calling, return_exceptions=True)
        async with connect(url, ERAS[0], None) as client:
            retry = asyncio.ensure_future(client.call_tool("send_note", {"text": "x"}, meta={KEY: "k"}))
            go.set()
            again = await retry
    assert again.structured_content == {"sent": 1}
    assert shop.effects == ["x"]


@pytest.mark.parametrize(("whole", "one", "named"), [(True, None, True), (False, True, True), (True, False, False)])
async def test_hints_go_out_under_historic_names_where_the_configuration_or_the_upstream_says_so(
    whole: bool, one: bool | None, named: bool, tmp_path: Path
) -> None:
    async with over_http(Shop().server) as shop:
        upstream = {"url": shop} | ({"historic_names": one} if one is not None else {})
        more = {"profile": "mcpgate", "historic_names": whole}
        async with gateway(tmp_path, {"shop": upstream}, **more) as (url, _):
            listed = (await post(url, rpc("tools/list"))).json()["result"]["tools"]
    assert {("readOnly" in tool["annotations"], "readOnlyHint" in tool["annotations"]) for tool in listed} == {
        (named, not named)
    }
