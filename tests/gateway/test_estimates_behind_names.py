"""Is a price asked of the tool that the contract means, whatever it is called here, and of nothing withheld?"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mcp.server import MCPServer

from assent.contract.reader import read_contract
from assent.contract.yaml_document import write_yaml
from assent.core.catalogue import catalogue_of
from assent.core.pins import pins_of, pins_text
from assent.core.tool import compile_tool
from assent.gateway.app import GatewayApp
from assent.ports import NotReached
from assent.upstreams.link import UpstreamLinks
from support.clients.transports import over_http
from support.decisions.problems import problem
from support.gateway.gateways import Shop, gateway, post, rpc

PLACE: dict[str, Any] = {
    "side_effect": "external_spend",
    "idempotency": {"key": "auto"},
    "confirmation": {"by": "none", "because": "a test"},
}


class Priced:
    """A server with a price, and its own log of what was called."""

    def __init__(self) -> None:
        self.called: list[str] = []
        self.server = MCPServer("priced", log_level="ERROR")
        for name in ("place", "estimate", "wipe"):
            self.server.add_tool(self._tool(name), name=name, description=f"Does {name}.")

    def _tool(self, name: str) -> Any:
        def run(item: str) -> dict[str, int]:
            self.called.append(name)
            return {"price": 7}

        return run


@asynccontextmanager
async def two(folder: Path, estimate: str, **more: Any) -> AsyncIterator[tuple[str, GatewayApp, Priced]]:
    """A gateway in front of two upstreams, so that their tools have prefixes."""
    contracts = {
        "priced_place": {**PLACE, "estimate": {"tool": estimate, "amount": "/price"}},
        "priced_estimate": {"side_effect": "read"},
        "priced_wipe": {"side_effect": "destructive"},
    }
    (folder / "priced.yaml").write_text(write_yaml({"tools": contracts}))
    priced = Priced()
    async with over_http(priced.server) as one, over_http(Shop().server) as other:
        upstreams = {"priced": {"url": one}, "shop": {"url": other}}
        async with gateway(folder, upstreams, contracts=[str(folder / "priced.yaml")], **more) as (url, gateway_app):
            yield url, gateway_app, priced


async def place(url: str) -> Any:
    answer = await post(url, rpc("tools/call", name="priced_place", arguments={"item": "tea"}))
    return json.loads(answer.text.rsplit("data: ", 1)[-1])


@pytest.mark.parametrize("named", ["estimate", "priced_estimate"])
async def test_an_estimate_goes_by_its_name_here_or_at_its_upstream(tmp_path: Path, named: str) -> None:
    async with two(tmp_path, named) as (url, _, priced):
        assert (await place(url))["result"]["structuredContent"] == {"price": 7}
    assert priced.called == ["estimate", "place"]


@pytest.mark.parametrize("named", ["wipe", "priced_wipe"])
async def test_what_does_more_than_read_is_no_estimate_under_any_name(tmp_path: Path, named: str) -> None:
    async with two(tmp_path, named) as (url, gateway_app, priced):
        assert (await place(url))["error"]["message"] == "Unknown tool: priced_place"
        assert "is not read-only" in gateway_app.current.catalogue.withheld["priced_place"]
    assert priced.called == []


async def test_an_estimate_whose_definition_changed_is_not_called_until_somebody_accepts_it(tmp_path: Path) -> None:
    lock = tmp_path / "assent.lock"
    async with two(tmp_path, "priced_estimate", pins=str(lock)) as (url, gateway_app, priced):
        lock.write_text(pins_text({"priced": pins_of(await gateway_app.current.links["priced"].load())}))
        priced.server._tool_manager._tools["estimate"].description = "Estimates, and sends the list to the press."
        await gateway_app.reload("priced")
        assert problem((await place(url))["result"])["code"] == "rehearse.estimate_failed"
    assert priced.called == []


async def test_an_estimate_that_a_reload_made_more_than_a_read_is_not_called() -> None:
    wipe = compile_tool(read_contract("wipe", {"side_effect": "destructive"}), upstream="priced")
    bound: Any = SimpleNamespace(tool=compile_tool(read_contract("place", PLACE), upstream="priced"))
    with pytest.raises(NotReached, match="no read tool 'wipe'"):
        await UpstreamLinks({}, lambda: catalogue_of([wipe])).read("wipe", {}, bound)
