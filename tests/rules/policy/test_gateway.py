"""Policies at the gateway: what is listed is what can be called, in every way to reach it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from assent.config.load import load_settings
from assent.core.problems import problem_in
from assent.errors import SettingsError
from assent.gateway.app import GatewayApp, open_gateway
from assent.gateway.reload import ConfigReloader, signature, watched_files
from support.clients.transports import over_http
from support.gateway.gateways import ANN_KEY, CI, Shop, gateway, post, rpc
from support.servers.library_server import Library
from support.servers.loopback_server import serving

NO_DELETES = """
@id("no-deletes") @reason("Agents never delete.")
forbid (principal is Assent::Agent, action in Assent::Action::"destructive", resource);
"""
PEOPLE = {
    "api_keys": [
        {"name": "ci", "key": CI, "kind": "agent", "tenant": "acme", "scopes": ["*"]},
        {"name": "ann", "key": ANN_KEY, "kind": "human", "tenant": "acme", "scopes": ["*"], "roles": ["approver"]},
    ]
}


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


async def names(url: str, **headers: str) -> list[str]:
    listed = (await post(url, rpc("tools/list"), **headers)).json()["result"]["tools"]
    return sorted(tool["name"] for tool in listed)


async def call(url: str, name: str, arguments: dict[str, Any], **headers: str) -> Any:
    result = (await post(url, rpc("tools/call", name=name, arguments=arguments), **headers)).json()["result"]
    return problem_in(result) or result["structuredContent"]


@asynccontextmanager
async def shop(folder: Path, policies: str, **more: Any) -> AsyncIterator[tuple[str, GatewayApp, Shop]]:
    (folder / "rules.cedar").write_text(policies)
    one = Shop()
    settings = {"auth": PEOPLE, "policies": [str(folder / "rules.cedar")], **more}
    async with (
        over_http(one.server) as upstream,
        gateway(folder, {"shop": {"url": upstream}}, **settings) as (url, app),
    ):
        yield url, app, one


async def test_a_tool_that_policy_forbids_a_principal_is_not_listed_and_a_call_names_the_policy(tmp_path: Path) -> None:
    async with shop(tmp_path, NO_DELETES) as (url, _, one):
        assert "delete_order" not in await names(url, **bearer(CI))
        assert "delete_order" in await names(url, **bearer(ANN_KEY))
        refused = await call(url, "delete_order", {"order_id": "1"}, **bearer(CI))
        assert (refused["code"], refused["policy"]) == ("guard.policy_denied", "no-deletes")
        assert "Agents never delete." in refused["detail"]
        nonsense = await call(url, "delete_order", {"no_such": 1}, **bearer(CI))
        assert nonsense == refused, "arguments are not looked at"
        assert one.effects == []


async def test_a_list_made_for_one_principal_is_not_shown_to_another_with_equal_scopes(tmp_path: Path) -> None:
    rule = (
        '@id("x") forbid (principal, action == Assent::Action::"list_orders", resource) when { principal.id == "ann" };'
    )
    async with shop(tmp_path, rule) as (url, _, _shop):
        assert "list_orders" in await names(url, **bearer(CI))
        assert "list_orders" not in await names(url, **bearer(ANN_KEY))


async def test_observing_lists_everything_and_lets_a_forbidden_call_run(tmp_path: Path) -> None:
    async with shop(tmp_path, NO_DELETES, mode="observe") as (url, app, _shop):
        assert "delete_order" in await names(url, **bearer(CI))
        assert (await call(url, "delete_order", {"order_id": "1"}, **bearer(CI)))["deleted"] == "1"
        await app.store.flush()
        noted = [set(entry.entry.facts.get("would", ())) for entry in await app.store.entries()]
        assert any("guard.policy_denied" in would for would in noted)


async def test_the_log_says_which_policy_refused(tmp_path: Path) -> None:
    async with shop(tmp_path, NO_DELETES) as (url, app, _shop):
        await call(url, "delete_order", {"order_id": "1"}, **bearer(CI))
        await app.store.flush()
        denials = [one.entry for one in await app.store.entries() if one.entry.kind == "denial"]
        assert [(one.facts["code"], one.values["policies"]) for one in denials] == [
            ("guard.policy_denied", ["no-deletes"])
        ]


async def test_an_approver_reads_the_policy_and_its_reason(tmp_path: Path) -> None:
    rule = """
    @id("second-person") @effect("approve") @reason("Two people decide about more than ten orders.")
    forbid (principal, action == Assent::Action::"list_orders", resource) when {
      context.input has limit && context.input.limit > 10
    };"""
    async with shop(tmp_path, rule) as (url, app, _shop):
        assert (await call(url, "list_orders", {"limit": 10}, **bearer(CI)))["result"]
        pending = await call(url, "list_orders", {"limit": 11}, **bearer(CI))
        assert pending["code"] == "confirm.approval_pending"
        approval = await app.store.approval(pending["approval"])
        assert approval is not None
        assert (approval.by, approval.details["why"]) == (
            "approver",
            approval.text.split("Asked because ")[1].split(".\n")[0],
        )
        assert "second-person" in approval.text
        assert "Two people decide" in approval.text


@pytest.mark.parametrize(
    ("broken", "line", "reason"),
    [
        ("\n\nforbid (principal, action, resource) when { 1 + };", 3, "unexpected token"),
        (
            'forbid (principal, action == Assent::Action::"list_orders", resource)\nwhen { context.input.limitt > 1 };',
            2,
            "input.limitt",
        ),
        ('forbid (principal, action == Assent::Action::"list_order", resource);', 1, "Did you mean list_orders?"),
        ("permit (principal is Assent::Person, action, resource);", 1, "permit has no effect"),
    ],
)
async def test_a_broken_policy_is_refused_at_reload_and_the_old_set_stays(
    broken: str, line: int, reason: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "assent.yaml"
    rules = tmp_path / "rules.cedar"
    rules.write_text(NO_DELETES)
    async with over_http(Shop().server) as upstream:
        text = {"upstreams": {"shop": {"url": upstream}}, "auth": PEOPLE, "policies": ["*.cedar"], "store": "memory://"}
        file.write_text(json.dumps(text))
        app = await open_gateway(load_settings(file))
        await app.start()
        reloading = ConfigReloader(
            app, file, lambda: load_settings(file), signature(watched_files(file, app.settings)), pause=_at_once
        )
        try:
            async with serving(app.app(_nowhere)) as url:
                rules.write_text(broken)
                await reloading.look()
                assert f"rules.cedar:{line}:" in caplog.text
                assert reason in caplog.text
                assert "delete_order" not in await names(url, **bearer(CI)), "the old policy is still enforced"
                rules.write_text('@id("other") forbid (principal, action in Assent::Action::"read", resource);')
                await reloading.look()
                assert "delete_order" in await names(url, **bearer(CI)), "a correct file is used at its next change"
        finally:
            await app.stop()


async def _at_once(_seconds: float) -> None:
    await asyncio.sleep(0)


async def _nowhere(_scope: Any, _receive: Any, _send: Any) -> None:
    raise AssertionError("only the endpoint is used")


async def test_a_gateway_does_not_start_with_a_policy_that_does_not_fit_its_tools(tmp_path: Path) -> None:
    rule = (
        'forbid (principal, action == Assent::Action::"list_orders", resource) when { context.input.limit like "x" };'
    )
    with pytest.raises(SettingsError, match=r"rules\.cedar:1"):
        async with shop(tmp_path, rule):
            raise AssertionError("it must not start")


async def test_a_tool_whose_arguments_change_under_a_policy_is_denied(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rule = """@id("few") forbid (principal, action == Assent::Action::"list_orders", resource)
    when { context.input has limit && context.input.limit > 10 };"""
    async with shop(tmp_path, rule, pins="off") as (url, app, one):
        assert (await call(url, "list_orders", {"limit": 1}, **bearer(CI)))["result"]
        one.server._tool_manager._tools.pop("list_orders")

        @one.server.tool()
        def list_orders(limit: str = "2") -> list[str]:
            """Lists orders."""
            return [limit]

        await app.reload("shop")
        assert "list_orders" not in await names(url, **bearer(CI))
        refused = await call(url, "list_orders", {"limit": "999"}, **bearer(CI))
        assert (refused["code"], refused["policy"]) == ("guard.policy_denied", "few")
    assert "a policy does not fit" in caplog.text


BESIDE = """
@id("no-books") forbid (principal, action == Assent::Action::"resources/read", resource)
when { resource.uri like "alpha://books/*" };
@id("no-greetings") forbid (principal, action in [Assent::Action::"prompts/get", Assent::Action::"completion/complete"],
  resource is Assent::Prompt) when { resource.name like "*greet" };
"""


@asynccontextmanager
async def libraries(folder: Path, upstreams: tuple[str, ...]) -> AsyncIterator[str]:
    (folder / "rules.cedar").write_text(BESIDE)
    more = {"policies": [str(folder / "rules.cedar")], "contracts": [], "auth": PEOPLE}
    async with over_http(Library("alpha").server) as alpha, over_http(Library("beta").server) as beta:
        found = {"alpha": {"url": alpha}, "beta": {"url": beta}}
        async with gateway(folder, {name: found[name] for name in upstreams}, **more) as (url, _):
            yield url


@pytest.mark.parametrize("upstreams", [("alpha",), ("alpha", "beta")], ids=["one", "two"])
async def test_what_is_beside_tools_is_neither_listed_nor_reachable(upstreams: tuple[str, ...], tmp_path: Path) -> None:
    prompt = "greet" if len(upstreams) == 1 else "alpha_greet"
    async with libraries(tmp_path, upstreams) as url:

        async def ask(method: str, **params: Any) -> Any:
            meta = {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "0"},
            }
            named = params.get("uri") or params.get("name") or ""
            headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": method, **bearer(CI)}
            headers |= {"mcp-name": named} if named and isinstance(named, str) else {}
            answer = (await post(url, rpc(method, **params, _meta=meta), **headers)).text
            return json.loads(answer.rpartition("data: ")[2] if "data: " in answer else answer)

        listed = (await ask("resources/list"))["result"]["resources"]
        assert "alpha://books/1" not in [one["uri"] for one in listed]
        assert "shared://motto" in [one["uri"] for one in listed]
        assert prompt not in [one["name"] for one in (await ask("prompts/list"))["result"]["prompts"]]
        assert (await ask("resources/read", uri="shared://motto"))["result"]["contents"]
        for refused in (
            await ask("resources/read", uri="alpha://books/1"),
            await ask("prompts/get", name=prompt, arguments={"who": "x"}),
            await ask(
                "completion/complete",
                ref={"type": "ref/prompt", "name": prompt},
                argument={"name": "who", "value": "a"},
            ),
        ):
            assert refused["error"]["data"]["code"] == "guard.policy_denied", refused
        page = {"type": "ref/resource", "uri": "alpha://pages/{number}"}
        done = await ask("completion/complete", ref=page, argument={"name": "number", "value": "1"})
        assert done["result"]["completion"]["values"] == ["alpha-1"]


@pytest.mark.parametrize(
    "spelling", ["ALPHA://books/1", "alpha://books/./1", "alpha://books/x/../1", "alpha://books/%31"]
)
async def test_another_spelling_of_a_uri_does_not_evade_a_policy(spelling: str, tmp_path: Path) -> None:
    async with libraries(tmp_path, ("alpha",)) as url:
        body = rpc(
            "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t", "version": "0"}
        )
        opened = await post(url, body, **bearer(CI))
        session = {"mcp-session-id": opened.headers["mcp-session-id"], **bearer(CI)}
        answer = (await post(url, rpc("resources/read", uri=spelling), **session)).json()
        assert answer["error"]["data"]["code"] == "guard.policy_denied"
        twice = (await post(url, rpc("resources/read", uri="shared://motto", URI=spelling), **session)).json()
        assert twice["error"]["data"]["code"] == "validate.malformed"
