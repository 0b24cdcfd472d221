"""Many upstreams that answer at once share one new catalogue."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from assent.config.load import parse_settings
from assent.gateway import catalogue_refresh as catalogues
from assent.gateway import served_tools
from assent.gateway.app import open_gateway
from support.clients.transports import over_http
from support.gateway.gateways import Shop, configuration

UPSTREAMS = 12


async def test_upstreams_that_answer_at_once_are_published_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    make = served_tools.catalogue_that_holds

    def counted(tools: Any, withheld: Any) -> Any:
        catalogue = make(tools, withheld)
        made.append(len(catalogue.tools))
        return catalogue

    monkeypatch.setattr(served_tools, "catalogue_that_holds", counted)
    monkeypatch.setattr(catalogues, "PUBLISH_WITHIN", 600.0)
    async with over_http(Shop().server) as shop:
        upstreams = {f"shop{number}": {"url": shop} for number in range(UPSTREAMS)}
        gateway_app = await open_gateway(parse_settings(configuration(tmp_path, upstreams, contracts=[])))
        together = asyncio.Barrier(UPSTREAMS)
        for link in gateway_app.current.links.values():
            load = link.load

            async def load_together(load: Any = load) -> Any:
                found = await load()
                await together.wait()
                return found

            monkeypatch.setattr(link, "load", load_together, raising=False)
        await gateway_app.start()
        listed = len(gateway_app.current.catalogue.tools) + len(gateway_app.current.catalogue.withheld)
        await gateway_app.stop()
    assert listed == UPSTREAMS * 4
    assert len(made) <= 2, made
