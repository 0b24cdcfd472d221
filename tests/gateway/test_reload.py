"""The configuration changes under a running gateway."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from assent.config.load import load_settings
from assent.contract.yaml_document import write_yaml
from assent.core.problems import problem_in
from assent.gateway.app import GatewayApp, open_gateway
from assent.gateway.reload import VANISH_SETTLE, ConfigReloader, signature, watched_files
from assent.gateway.status_pages import StatusPages
from support.clients.transports import ERAS, ROOT, over_http
from support.gateway.gateways import ANYBODY, Shop, post, rpc
from support.processes.servers import commanded
from support.servers.loopback_server import serving


@dataclass
class Desk:
    """The files of a running gateway, the gateway, and what rereads them."""

    folder: Path
    url: str
    gateway_app: GatewayApp
    reloading: ConfigReloader

    def write(self, upstreams: dict[str, Any], tools: dict[str, Any] | str, **more: Any) -> None:
        write(self.folder, upstreams, tools, **more)


def write(folder: Path, upstreams: dict[str, Any], tools: dict[str, Any] | str, **more: Any) -> None:
    text = tools if isinstance(tools, str) else write_yaml({"tools": tools})
    (folder / "contracts.yaml").write_text(text)
    settings = {
        "store": "sqlite:///assent.db",
        "upstreams": upstreams,
        "contracts": ["contracts.yaml"],
        "auth": ANYBODY,
        "secrets": {"directory": "keys"},
        **more,
    }
    (folder / "assent.yaml").write_text(write_yaml(settings))


@asynccontextmanager
async def desk(folder: Path, upstreams: dict[str, Any], contracts: dict[str, Any], **more: Any) -> AsyncIterator[Desk]:
    write(folder, upstreams, contracts, **more)
    file = folder / "assent.yaml"
    gateway_app = await open_gateway(load_settings(file))
    await gateway_app.start()
    try:
        async with serving(gateway_app.app(StatusPages(gateway_app))) as url:
            seen = signature(watched_files(file, gateway_app.settings))
            yield Desk(folder, url, gateway_app, ConfigReloader(gateway_app, file, lambda: load_settings(file), seen))
            await gateway_app.close_streams()
    finally:
        await gateway_app.stop()


async def names(url: str) -> list[str]:
    listed = (await post(url, rpc("tools/list"))).json()["result"]["tools"]
    return sorted(tool["name"] for tool in listed)


async def call(url: str, name: str, **arguments: Any) -> Any:
    answer = await post(url, rpc("tools/call", name=name, arguments=arguments))
    result = answer.json()["result"]
    return problem_in(result) or result["structuredContent"]


READ = {"list_orders": {"side_effect": "read"}}
ASKED = {"list_orders": {"side_effect": "read", "confirmation": {"by": "approver"}, "risk": "high"}}


async def test_a_contract_that_changed_is_used_at_the_next_look(tmp_path: Path) -> None:
    async with over_http(Shop().server) as shop, desk(tmp_path, {"shop": {"url": shop}}, READ) as at:
        assert await call(at.url, "list_orders") == {"result": ["o-0", "o-1"]}
        at.write({"shop": {"url": shop}}, ASKED)
        await at.reloading.look()
        assert (await call(at.url, "list_orders"))["code"] == "confirm.approval_pending"


async def test_who_approved_under_other_guards_is_asked_again(tmp_path: Path) -> None:
    guards = [{"rule": "block_keywords", "keywords": ["harmless"]}]
    async with over_http(Shop().server) as shop, desk(tmp_path, {"shop": {"url": shop}}, ASKED) as at:
        first = (await call(at.url, "list_orders"))["approval"]
        assert (await call(at.url, "list_orders"))["approval"] == first
        at.write({"shop": {"url": shop}}, ASKED, guards=guards)
        await at.reloading.look()
        assert (await call(at.url, "list_orders"))["approval"] != first


@pytest.mark.parametrize(
    ("contracts", "more", "reason"),
    [
        ({"list_orders": {"side_effect": "nonsense"}}, {}, "list_orders.side_effect"),
        ("tools: [", {}, "contracts.yaml"),
        (READ, {"guards": [{"rule": "no_such_rule"}]}, "no_such_rule"),
        (READ, {"nonsense": 1}, "nonsense"),
        (READ, {"store": "sqlite:///other.db"}, "Restart the gateway"),
        (READ, {"contracts": ["missing.yaml"]}, "missing.yaml"),
        (READ, {"upstreams": {}}, "no upstream is configured"),
        (READ, {"upstreams": {"shop": {"url": "http://127.0.0.1:0/mcp"}}}, "port 0"),
    ],
    ids=lambda value: str(value)[:24],
)
async def test_a_configuration_that_does_not_hold_changes_nothing_and_says_why(
    contracts: Any, more: dict[str, Any], reason: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with over_http(Shop().server) as shop, desk(tmp_path, {"shop": {"url": shop}}, READ) as at:
        before = at.gateway_app.current.catalogue
        at.write(more.pop("upstreams", {"shop": {"url": shop}}), contracts, **more)
        assert not await at.reloading.reload()
        assert at.gateway_app.current.catalogue is before
        assert await call(at.url, "list_orders") == {"result": ["o-0", "o-1"]}
    assert reason in caplog.text


async def test_a_process_that_a_refused_configuration_started_is_ended(tmp_path: Path) -> None:
    script = (
        f"echo $$ > {tmp_path}/pid; exec {sys.executable} {ROOT / 'tests' / 'support' / 'servers' / 'odd_server.py'}"
    )
    odd = {"command": [sys.executable, str(ROOT / "tests" / "support" / "servers" / "odd_server.py")], "prefix": ""}
    async with desk(tmp_path, {"odd": odd}, {}) as at:
        at.write({"odd": odd, "same": {"command": ["sh", "-c", script], "prefix": ""}}, {})
        assert not await at.reloading.reload(), "two tools of one name"
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / "pid").read_text()), 0)
        assert at.gateway_app.tools.troubles == {}


async def test_a_call_under_way_ends_under_the_contract_it_began_with(tmp_path: Path) -> None:
    shop, entered, go_on = Shop(), asyncio.Event(), asyncio.Event()

    @shop.server.tool()
    async def get_slowly() -> dict[str, str]:
        """Gets something, slowly."""
        entered.set()
        await go_on.wait()
        return {"token": "t"}

    loose = {"get_slowly": {"side_effect": "read"}}
    closed = {"get_slowly": {"side_effect": "read", "risk": "forbidden"}}
    async with over_http(shop.server) as url, desk(tmp_path, {"shop": {"url": url}}, loose) as at:
        under_way = asyncio.create_task(call(at.url, "get_slowly"))
        await entered.wait()
        at.write({"shop": {"url": url}}, closed)
        assert await at.reloading.reload()
        refused = await post(at.url, rpc("tools/call", name="get_slowly", arguments={}))
        assert refused.json()["error"]["message"] == "Unknown tool: get_slowly"
        go_on.set()
        assert await under_way == {"token": "t"}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("upstreams", ["one", "several"])
async def test_clients_are_told_that_the_list_of_tools_changed(era: str, upstreams: str, tmp_path: Path) -> None:
    heard = asyncio.Event()

    async def on_message(message: Any) -> None:
        if type(message).__name__ == "ToolListChangedNotification":
            heard.set()

    async with over_http(Shop().server) as shop:
        served = {"shop": {"url": shop, "prefix": ""}}
        if upstreams == "several":
            served["dead"] = {"url": "http://127.0.0.1:9/mcp"}
        async with desk(tmp_path, served, READ) as at:
            async with Client(at.url, mode=era, message_handler=on_message) as client:  # type: ignore[arg-type]
                at.write(served, ASKED)
                if era == "legacy":
                    await client.list_tools()
                    assert await at.reloading.reload()
                    async with asyncio.timeout(10):
                        await heard.wait()
                else:
                    async with client.listen(tools_list_changed=True) as stream:
                        assert await at.reloading.reload()
                        async with asyncio.timeout(10):
                            await anext(stream)


async def test_upstreams_come_go_and_change_while_the_others_serve_on(tmp_path: Path) -> None:
    one, two, three = Shop(), Shop(), Shop()
    async with over_http(one.server) as a, over_http(two.server) as b, over_http(three.server) as c:
        async with desk(tmp_path, {"a": {"url": a}}, {}) as at:
            assert "list_orders" in await names(at.url)
            at.write({"a": {"url": a}, "b": {"url": b}}, {})
            assert await at.reloading.reload()
            assert {"a_list_orders", "b_list_orders"} <= set(await names(at.url))
            kept = at.gateway_app.current.links["a"]
            at.write({"a": {"url": a}, "b": {"url": c}, "dead": {"url": "http://127.0.0.1:9/mcp"}}, {})
            assert await at.reloading.reload()
            assert at.gateway_app.current.links["a"] is kept
            assert set(at.gateway_app.tools.troubles) == {"dead"}
            assert await call(at.url, "b_list_orders", limit=1) == {"result": ["o-0"]}
            at.write({"b": {"url": c}}, {})
            assert await at.reloading.reload()
            assert await call(at.url, "list_orders", limit=1) == {"result": ["o-0"]}
            gone = await post(at.url, rpc("tools/call", name="a_list_orders", arguments={}))
            assert gone.json()["error"]["message"] == "Unknown tool: a_list_orders"
            async with Client(at.url, mode="legacy") as client:
                assert (await client.list_prompts()).prompts == []


async def test_a_call_to_a_removed_upstream_ends_before_its_connections_do(tmp_path: Path) -> None:
    shop, entered, go_on = Shop(), asyncio.Event(), asyncio.Event()

    @shop.server.tool()
    async def get_slowly() -> dict[str, str]:
        """Gets something, slowly."""
        entered.set()
        await go_on.wait()
        return {"it": "came"}

    async with over_http(shop.server) as a, over_http(Shop().server) as b:
        reads = {"a_get_slowly": {"side_effect": "read"}}
        async with desk(tmp_path, {"a": {"url": a}, "b": {"url": b}}, reads) as at:
            under_way = asyncio.create_task(call(at.url, "a_get_slowly"))
            await entered.wait()
            at.write({"b": {"url": b}}, {})
            assert await at.reloading.reload()
            assert at.gateway_app.runtime.upstream_factory.retiring
            go_on.set()
            assert await under_way == {"it": "came"}
            await asyncio.gather(*at.gateway_app.runtime.upstream_factory.retiring)


async def test_the_command_reloads_by_itself_and_on_a_signal(tmp_path: Path) -> None:
    async with over_http(Shop().server) as shop:
        write(tmp_path, {"shop": {"url": shop}}, READ)
        async with commanded("serve", "-c", str(tmp_path / "assent.yaml"), "--port", "0") as command:
            url = (await command.said(r"at (http\S+/mcp)"))[1]
            write(tmp_path, {"shop": {"url": shop}}, ASKED)
            await command.said("the new configuration is used")
            assert (await call(url, "list_orders"))["code"] == "confirm.approval_pending"
            command.process.send_signal(signal.SIGHUP)
            await command.said("the new configuration is used")
            command.process.send_signal(signal.SIGTERM)
            await command.said("Stopped")
            assert await command.process.wait() == 0


async def test_a_contract_that_vanishes_is_missed_first_and_then_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    both = {**ASKED, "delete_order": {"side_effect": "destructive"}}
    async with over_http(Shop().server) as shop, desk(tmp_path, {"shop": {"url": shop}}, both) as at:
        file = tmp_path / "assent.yaml"
        pauses: list[float] = []

        async def write_the_rest(seconds: float) -> None:
            pauses.append(seconds)
            if seconds == VANISH_SETTLE and len(pauses) < 4:
                at.write({"shop": {"url": shop}}, {**both, "place_order": {"side_effect": "write"}})

        at.reloading = ConfigReloader(at.gateway_app, file, lambda: load_settings(file), (), pause=write_the_rest)
        at.write({"shop": {"url": shop}}, {"delete_order": both["delete_order"]})
        await at.reloading.look()
        assert "contracts are gone from the files: list_orders" in caplog.text
        assert (await call(at.url, "list_orders"))["code"] == "confirm.approval_pending", "half a file is not used"
        await at.reloading.look()
        assert "no longer used" not in caplog.text
        at.write({"shop": {"url": shop}}, {"delete_order": both["delete_order"]})
        await at.reloading.look()
        assert "contracts are no longer used, because they are gone from the files: list_orders" in caplog.text
        assert await call(at.url, "list_orders") == {"result": ["o-0", "o-1"]}
