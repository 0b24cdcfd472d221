"""A request keeps the configuration that it began with, however often the configuration changes meanwhile."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx2

from assent.config.load import load_settings
from assent.core.problems import problem_in
from assent.gateway.served_tools import contracts_of
from gateway.test_reload import desk, write
from support.clients.transports import over_http
from support.gateway.gateways import HEADERS, Shop, rpc

GUARDED = {"place_order": {"side_effect": "write", "overwrites": False, "risk": "low"}}
GUARD = [{"rule": "block_values", "fields": ["item"], "values": ["pen"]}]
ASKED = {"place_order": {"side_effect": "write", "risk": "high", "confirmation": {"by": "approver"}}}
SWITCHES, CALLERS = 1000, 2


async def test_no_call_sees_two_configurations_while_a_thousand_are_switched(tmp_path: Path) -> None:
    """One configuration refuses the call by a guard, the other asks a person: only a mixture of both would run it."""
    shop = Shop()
    async with over_http(shop.server) as address, desk(tmp_path, {"shop": {"url": address}}, ASKED) as at:
        upstreams = {"shop": {"url": address}}
        prepared = []
        for contracts, more in ((GUARDED, {"guards": GUARD}), (ASKED, {})):
            write(tmp_path, upstreams, contracts, **more)
            settings = load_settings(tmp_path / "assent.yaml")
            prepared.append((settings, contracts_of(settings)))
        codes, over = set[str](), asyncio.Event()

        async def call() -> None:
            body = rpc("tools/call", name="place_order", arguments={"item": "pen"})
            async with httpx2.AsyncClient(timeout=60) as client:
                while not over.is_set():
                    answer = await client.post(at.url, json=body, headers=HEADERS)
                    codes.add(problem_in(answer.json()["result"])["code"])

        calling = [asyncio.create_task(call()) for _ in range(CALLERS)]
        for number in range(SWITCHES):
            await at.gateway_app.use(*prepared[number % 2])
        over.set()
        await asyncio.gather(*calling)
        assert codes == {"guard.denied", "confirm.approval_pending"}
        assert shop.effects == []


async def test_a_refused_configuration_is_named_and_the_repaired_file_is_used(tmp_path: Path) -> None:
    shop: Any = Shop()
    async with over_http(shop.server) as address, desk(tmp_path, {"shop": {"url": address}}, ASKED) as at:
        served = at.gateway_app.current
        at.write({"shop": {"url": address}}, "tools: [")
        assert not await at.reloading.reload()
        assert at.gateway_app.current is served
        assert "contracts.yaml" in at.gateway_app.state.refused_settings
        at.write({"shop": {"url": address}}, GUARDED)
        await at.reloading.look()
        assert at.gateway_app.state.refused_settings == ""
        assert at.gateway_app.current.catalogue.tools["place_order"].contract.risk.value == "low"
