"""Attacks on the catalogue: files caught half-written, and upstreams that fill the memory with old definitions."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

from assent.config.load import load_settings
from assent.contract.yaml_document import write_yaml
from assent.core.tool import Tool
from assent.gateway.reload import ConfigReloader, signature, watched_files
from gateway.test_reload import desk
from support.clients.transports import over_http
from support.gateway.gateways import Shop, post, rpc

FORBIDDEN = {"side_effect": "read", "risk": "forbidden"}
WHOLE = {"list_orders": FORBIDDEN, "place_order": FORBIDDEN}


def risks(gateway_app: Any) -> dict[str, str]:
    return {name: tool.contract.risk.value for name, tool in gateway_app.current.catalogue.tools.items()}


async def test_a_contracts_file_that_is_still_being_written_is_not_used(tmp_path: Path) -> None:
    async with over_http(Shop().server) as shop, desk(tmp_path, {"shop": {"url": shop}}, WHOLE) as at:
        text = write_yaml({"tools": WHOLE})
        half = text[: text.index("  place_order")]  # a valid file that has lost a contract
        contracts, file, seen_while_writing = tmp_path / "contracts.yaml", tmp_path / "assent.yaml", []

        async def write_on(_: float) -> None:
            seen_while_writing.append(risks(at.gateway_app))
            if len(seen_while_writing) == 1:
                contracts.write_text(text + "# whole\n")

        before = signature(watched_files(file, at.gateway_app.settings))
        contracts.write_text(half)
        reloading = ConfigReloader(at.gateway_app, file, lambda: load_settings(file), before, pause=write_on)
        await reloading.look()
        assert [one["place_order"] for one in seen_while_writing] == ["forbidden", "forbidden"]
        assert risks(at.gateway_app)["place_order"] == "forbidden"


async def test_files_that_change_while_they_are_read_are_not_used(tmp_path: Path) -> None:
    async with over_http(Shop().server) as shop, desk(tmp_path, {"shop": {"url": shop}}, WHOLE) as at:
        file = tmp_path / "assent.yaml"

        def load_and_disturb() -> Any:
            settings = load_settings(file)
            (tmp_path / "contracts.yaml").write_text(write_yaml({"tools": {"list_orders": FORBIDDEN}}))
            return settings

        before = signature(watched_files(file, at.gateway_app.settings))
        reloading = ConfigReloader(at.gateway_app, file, load_and_disturb, before)
        assert not await reloading.reload()
        assert risks(at.gateway_app)["place_order"] == "forbidden"


def compiled() -> int:
    gc.collect()
    return sum(isinstance(one, Tool) and one.name == "list_orders" for one in gc.get_objects())


async def test_definitions_that_an_upstream_replaced_do_not_stay_in_memory(tmp_path: Path) -> None:
    shop = Shop()
    async with over_http(shop.server) as url, desk(tmp_path, {"shop": {"url": url}}, {}) as at:
        already = compiled()
        for number in range(5):
            shop.server.remove_tool("list_orders")
            shop.server.add_tool(lambda: ["o"], name="list_orders", description=f"Lists orders, as of {number}.")
            await at.gateway_app.reload("shop")
            await post(at.url, rpc("tools/list"))
            answer = await post(at.url, rpc("tools/call", name="list_orders", arguments={}))
            assert not answer.json()["result"].get("isError")
        assert compiled() <= already
