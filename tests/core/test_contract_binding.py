"""Contracts belong to the tools of an upstream, under the names that the upstream gives them."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from mcp.server import MCPServer

from assent.cli import cli
from assent.config.load import load_settings
from assent.contract.binding import Offered, bind
from assent.contract.files import load_written
from assent.contract.yaml_document import write_yaml
from assent.errors import ContractError
from assent.gateway.app import GatewayApp, open_gateway
from assent.gateway.catalogue_refresh import CatalogueLog
from support.clients.transports import over_http
from support.gateway.gateways import ANYBODY

FORBIDDEN = {"side_effect": "read", "risk": "forbidden"}
DEAD = {"url": "http://127.0.0.1:9/mcp"}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "books", "version": "1"},
    "paths": {
        "/invoices": {
            "get": {
                "operationId": "list_invoices",
                "responses": {
                    "200": {
                        "description": "all",
                        "content": {"application/json": {"schema": {"type": "object"}}},
                    }
                },
            }
        }
    },
}


def server(*names: str) -> MCPServer[Any]:
    made = MCPServer("books", log_level="ERROR")
    for name in names:
        made.add_tool(lambda: "", name=name, description="Lists invoices.")
    return made


def configure(folder: Path, upstreams: dict[str, Any], *files: dict[str, Any], **more: Any) -> Path:
    for number, contracts in enumerate(files):
        (folder / f"{number}.yaml").write_text(write_yaml(contracts))
    settings = {
        "store": f"sqlite:///{folder}/assent.db",
        "upstreams": upstreams,
        "contracts": [f"{number}.yaml" for number in range(len(files))],
        "auth": ANYBODY,
        "secrets": {"directory": "keys"},
        **more,
    }
    (folder / "assent.yaml").write_text(write_yaml(settings))
    return folder / "assent.yaml"


async def started(file: Path) -> GatewayApp:
    gateway_app = await open_gateway(load_settings(file))
    await gateway_app.start()
    return gateway_app


def check(file: Path) -> Result:
    return CliRunner().invoke(cli, ["serve", "-c", str(file), "--check"])


async def risks(file: Path) -> dict[str, str]:
    gateway_app = await started(file)
    try:
        return {name: tool.contract.risk.value for name, tool in gateway_app.current.catalogue.tools.items()}
    finally:
        await gateway_app.stop()


@pytest.mark.parametrize("bound", [{}, {"upstream": "billing"}], ids=["unbound", "bound"])
async def test_a_second_upstream_leaves_a_contract_where_it_was(tmp_path: Path, bound: dict[str, str]) -> None:
    contracts = {**bound, "tools": {"list_invoices": FORBIDDEN}}
    async with over_http(server("list_invoices")) as billing, over_http(server("list_people")) as crm:
        one = await risks(configure(tmp_path, {"billing": {"url": billing}}, contracts))
        both = {"billing": {"url": billing}, "crm": {"url": crm}}
        two = await risks(configure(tmp_path, both, contracts))
    assert one["list_invoices"] == "forbidden"
    assert (two["billing_list_invoices"], two["crm_list_people"]) == ("forbidden", "low")


async def test_a_contract_may_name_a_tool_as_our_wire_does(tmp_path: Path) -> None:
    async with over_http(server("list_invoices")) as billing, over_http(server("list_invoices")) as crm:
        upstreams = {"billing": {"url": billing}, "crm": {"url": crm}}
        found = await risks(configure(tmp_path, upstreams, {"tools": {"crm_list_invoices": FORBIDDEN}}))
    assert found == {"billing_list_invoices": "low", "crm_list_invoices": "forbidden"}


async def test_sections_of_one_file_are_bound_to_several_upstreams(tmp_path: Path) -> None:
    sections = [
        {"upstream": "billing", "tools": {"list_invoices": FORBIDDEN}},
        {"upstream": "crm", "tools": {"list_invoices": {"side_effect": "read", "risk": "high"}}},
    ]
    async with over_http(server("list_invoices")) as billing, over_http(server("list_invoices")) as crm:
        upstreams = {"billing": {"url": billing}, "crm": {"url": crm}}
        found = await risks(configure(tmp_path, upstreams, {"sections": sections}))
    assert found == {"billing_list_invoices": "forbidden", "crm_list_invoices": "high"}


async def test_a_contract_over_an_api_keeps_its_operation_when_an_upstream_is_added(tmp_path: Path) -> None:
    (tmp_path / "books.json").write_text(json.dumps(DOCUMENT))
    books = {"openapi": "books.json", "base_url": "http://127.0.0.1:9"}
    contracts = {"upstream": "books", "tools": {"list_invoices": {"side_effect": "read", "risk": "high"}}}
    async with over_http(server("list_people")) as crm:
        found = await risks(configure(tmp_path, {"books": books, "crm": {"url": crm}}, contracts))
    assert found["books_list_invoices"] == "high"


async def test_a_name_that_several_upstreams_have_withholds_those_tools_and_serves_the_others(tmp_path: Path) -> None:
    contracts = {"tools": {"list_invoices": FORBIDDEN}}
    async with (
        over_http(server("list_invoices", "list_people")) as billing,
        over_http(server("list_invoices")) as crm,
    ):
        gateway_app = await started(configure(tmp_path, {"billing": {"url": billing}, "crm": {"url": crm}}, contracts))
        try:
            assert set(gateway_app.current.catalogue.tools) == {"billing_list_people"}
            reasons = gateway_app.current.catalogue.withheld
            assert set(reasons) == {"billing_list_invoices", "crm_list_invoices"}
            assert "write `upstream: billing`" in reasons["crm_list_invoices"]
        finally:
            await gateway_app.stop()


async def test_an_upstream_that_comes_up_late_makes_a_name_ambiguous_then(tmp_path: Path) -> None:
    contracts = {"tools": {"list_invoices": FORBIDDEN}}
    async with over_http(server("list_invoices")) as billing, over_http(server("list_invoices")) as crm:
        gateway_app = await open_gateway(
            load_settings(configure(tmp_path, {"billing": {"url": billing}, "crm": {"url": crm}}, contracts))
        )
        try:
            await gateway_app.reload("billing")
            assert set(gateway_app.current.catalogue.tools) == {"billing_list_invoices"}
            await gateway_app.reload("crm")
            assert not gateway_app.current.catalogue.tools
        finally:
            await gateway_app.stop()


async def test_a_contract_without_a_tool_is_an_error_with_a_suggestion_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    contracts = {"upstream": "billing", "tools": {"list_invoice": FORBIDDEN}}
    async with over_http(server("list_invoices")) as billing:
        await (await started(configure(tmp_path, {"billing": {"url": billing}}, contracts))).stop()
    (said,) = [one for one in caplog.records if one.levelno == logging.ERROR]
    assert "list_invoice: it matches no tool of billing. Did you mean list_invoices?" in said.getMessage()


async def test_while_an_upstream_is_down_a_contract_is_a_warning_and_checked_when_it_comes_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    contracts = {"tools": {"list_invoice": FORBIDDEN}}
    async with over_http(server("list_invoices")) as billing, over_http(server("list_people")) as crm:
        upstreams = {"billing": {"url": billing}, "crm": {"url": crm}}
        gateway_app = await open_gateway(load_settings(configure(tmp_path, upstreams, contracts)))
        try:
            await gateway_app.reload("billing")
            CatalogueLog().unchecked_contracts(gateway_app.current.served, gateway_app.current.catalogue)
            assert [one.levelname for one in caplog.records if "list_invoice" in one.getMessage()] == ["WARNING"]
            await gateway_app.reload("crm")
            assert "Did you mean list_invoices?" in caplog.text
        finally:
            await gateway_app.stop()


async def test_check_asks_the_upstreams_that_answer(tmp_path: Path) -> None:
    from asyncio import to_thread

    wrong = {"upstream": "billing", "tools": {"list_invoice": FORBIDDEN}}
    async with over_http(server("list_invoices")) as billing:
        bad = await to_thread(check, configure(tmp_path, {"billing": {"url": billing}, "crm": DEAD}, wrong))
        right = {"upstream": "billing", "tools": {"list_invoices": FORBIDDEN}}
        late = {"upstream": "crm", "tools": {"list_people": FORBIDDEN}}
        good = await to_thread(check, configure(tmp_path, {"billing": {"url": billing}, "crm": DEAD}, right, late))
    assert isinstance(bad.exception, ContractError)
    assert "Did you mean list_invoices?" in str(bad.exception)
    assert good.exit_code == 0
    assert "upstream crm did not answer" in good.stderr and "list_people" in good.stderr
    assert "The configuration is valid." in good.stderr


async def test_check_refuses_an_upstream_that_is_not_configured(tmp_path: Path) -> None:
    from asyncio import to_thread

    contracts = {"upstream": "biling", "tools": {"list_invoices": FORBIDDEN}}
    async with over_http(server("list_invoices")) as billing:
        bad = await to_thread(check, configure(tmp_path, {"billing": {"url": billing}}, contracts))
    assert "there is no upstream 'biling'. Did you mean billing?" in str(bad.exception)


def offered(**upstreams: list[str]) -> dict[str, Offered]:
    return {name: Offered({tool: f"{name}_{tool}" for tool in tools}) for name, tools in upstreams.items()}


def written(folder: Path, *files: dict[str, Any]) -> list[Any]:
    paths = [folder / f"{number}.yaml" for number in range(len(files))]
    for path, content in zip(paths, files, strict=True):
        path.write_text(write_yaml(content))
    return load_written(paths)


def test_a_bound_contract_does_not_hand_an_unbound_one_to_another_upstream(tmp_path: Path) -> None:
    files = ({"tools": {"list": FORBIDDEN}}, {"upstream": "billing", "tools": {"list": FORBIDDEN}})
    found = bind(written(tmp_path, *files), offered(billing=["list"], crm=["list"]))
    assert set(found.governs) == {("billing", "list")}
    assert set(found.ambiguous) == {("crm", "list")}


def test_two_contracts_for_one_tool_withhold_it(tmp_path: Path) -> None:
    tools = {"tools": {"list": FORBIDDEN, "billing_list": {"side_effect": "read"}}}
    found = bind(written(tmp_path, tools), offered(billing=["list"]))
    assert not found.governs
    assert "two contracts are written for it" in found.ambiguous["billing", "list"]


def test_a_name_of_our_wire_in_a_bound_file_is_answered_with_the_own_name(tmp_path: Path) -> None:
    tools = {"upstream": "billing", "tools": {"billing_list": FORBIDDEN}}
    (fault,) = bind(written(tmp_path, tools), offered(billing=["list"])).faults
    assert "Did you mean list?" in fault.remedy


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("upstream: 5\ntools: {}\n", "it must be the name of an upstream"),
        ("sections: {}\n", "it must be a list of parts"),
        ("sections: [{tools: {}}]\n", "a section must name its upstream"),
        ("sections: [{upstream: a, tool: {}}]\n", "Did you mean tools?"),
        ("upstream: a\ntols: {}\n", "Did you mean tools?"),
    ],
)
def test_a_part_of_a_contract_file_that_is_wrong_is_told_why(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(ContractError, match=reason.replace("?", r"\?")):
        load_written([tmp_path / "a.yaml"])
